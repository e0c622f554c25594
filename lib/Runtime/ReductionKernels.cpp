//===- ReductionKernels.cpp - reductions along dims -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "KernelThreads.h"
#include "Kernels.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;
using tp::ReductionKind;

/// Up to this many terms are summed sequentially. Longer sums are split in
/// halves, so that the rounding error grows with the logarithm of the length.
static constexpr int64_t longestSequence = 16;
/// Number of columns that are combined at a time.
static constexpr int64_t pieceSize = 1024;

//===----------------------------------------------------------------------===//
// Combination of two numbers
//===----------------------------------------------------------------------===//

template <typename Compute>
static Compute getNeutral(ReductionKind kind, ElementKind element) {
  using Limits = std::numeric_limits<Compute>;
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return 0;
  case ReductionKind::Product:
    return 1;
  case ReductionKind::Max:
    // No truth value is true.
    if (element == ElementKind::Bool)
      return 0;
    return Limits::has_infinity ? -Limits::infinity() : Limits::min();
  case ReductionKind::Min:
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  llvm_unreachable("unknown reduction kind");
}

/// Calls `visit` with the scalar function of a reduction. NaN takes precedence
/// over numbers; integers wrap.
template <typename Compute, typename Visitor>
static void withCombination(ReductionKind kind, Visitor visit) {
  using Wrapping =
      std::conditional_t<std::is_integral_v<Compute>, uint64_t, Compute>;
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return visit([](Compute x, Compute y) {
      return static_cast<Compute>(static_cast<Wrapping>(x) +
                                  static_cast<Wrapping>(y));
    });
  case ReductionKind::Product:
    return visit([](Compute x, Compute y) {
      return static_cast<Compute>(static_cast<Wrapping>(x) *
                                  static_cast<Wrapping>(y));
    });
  case ReductionKind::Max:
    return visit([](Compute x, Compute y) { return x > y || x != x ? x : y; });
  case ReductionKind::Min:
    return visit([](Compute x, Compute y) { return x < y || x != x ? x : y; });
  }
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

namespace {
/// A tensor viewed as [outer, reduced, inner].
struct ReducedShape {
  int64_t outer = 1;
  int64_t reduced = 1;
  int64_t inner = 1;
};

template <typename Compute>
class ColumnReducer {
public:
  ColumnReducer(const Tensor &input, const ReducedShape &shape)
      : input(input), shape(shape) {}

  /// Combines rows [begin, end) of block `block` into `result`, for `width`
  /// columns starting at `column`.
  template <typename Combine>
  void reduce(int64_t block, int64_t begin, int64_t end, int64_t column,
              int64_t width, Combine combine, Compute *result) {
    if (end - begin <= longestSequence) {
      load(block, begin, column, width, result);
      std::array<Compute, pieceSize> row;
      for (int64_t index = begin + 1; index < end; ++index) {
        load(block, index, column, width, row.data());
        for (int64_t which = 0; which < width; ++which)
          result[which] = combine(result[which], row[which]);
      }
      return;
    }
    int64_t middle = begin + (end - begin) / 2;
    std::array<Compute, pieceSize> upper;
    reduce(block, begin, middle, column, width, combine, result);
    reduce(block, middle, end, column, width, combine, upper.data());
    for (int64_t which = 0; which < width; ++which)
      result[which] = combine(result[which], upper[which]);
  }

private:
  void load(int64_t block, int64_t row, int64_t column, int64_t width,
            Compute *target) {
    int64_t offset = (block * shape.reduced + row) * shape.inner + column;
    loadElements(input.getKind(),
                 input.getData() +
                     offset * runtime::getNumBytes(input.getKind()),
                 width, target);
  }

  const Tensor &input;
  const ReducedShape &shape;
};
} // namespace

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Combines the numbers of a row: 16 partial results per chunk, which are then
/// combined pairwise.
template <typename Compute, typename Combine>
static Compute reducePiece(const Compute *numbers, int64_t count,
                           Compute neutral, Combine combine) {
  constexpr int64_t lanes = 16;
  std::array<Compute, lanes> partial;
  partial.fill(neutral);
  int64_t index = 0;
  for (; index + lanes <= count; index += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      partial[lane] = combine(partial[lane], numbers[index + lane]);
  for (; index < count; ++index)
    partial[index % lanes] = combine(partial[index % lanes], numbers[index]);
  for (int64_t half = lanes / 2; half > 0; half /= 2)
    for (int64_t lane = 0; lane < half; ++lane)
      partial[lane] = combine(partial[lane], partial[lane + half]);
  return partial[0];
}

template <typename Compute, typename Combine>
static Compute reduceRow(const Tensor &input, int64_t begin, int64_t end,
                         Compute neutral, Combine combine) {
  if (end - begin <= pieceSize) {
    std::array<Compute, pieceSize> numbers;
    loadElements(input.getKind(),
                 input.getData() +
                     begin * runtime::getNumBytes(input.getKind()),
                 end - begin, numbers.data());
    return reducePiece(numbers.data(), end - begin, neutral, combine);
  }
  int64_t middle = begin + (end - begin) / 2;
  return combine(reduceRow(input, begin, middle, neutral, combine),
                 reduceRow(input, middle, end, neutral, combine));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

template <typename Compute>
static void reduceAll(ReductionKind kind, const Tensor &input,
                      const ReducedShape &shape, Tensor &result) {
  unsigned numBytes = runtime::getNumBytes(result.getKind());
  Compute neutral = getNeutral<Compute>(kind, input.getKind());
  auto store = [&](Compute *numbers, int64_t position, int64_t count) {
    if (kind == ReductionKind::Avg)
      for (int64_t index = 0; index < count; ++index)
        // The mean of no elements is NaN. Integers have no mean; just do not
        // divide by zero.
        numbers[index] =
            std::is_integral_v<Compute>
                ? numbers[index] /
                      static_cast<Compute>(std::max<int64_t>(shape.reduced, 1))
                : numbers[index] / static_cast<Compute>(shape.reduced);
    storeElements(result.getKind(), numbers, count,
                  result.getMutableData() + position * numBytes);
  };
  if (shape.inner == 0)
    return;
  // A block is a single number, or is split into chunks of columns.
  int64_t numPieces = llvm::divideCeil(shape.inner, pieceSize);
  int64_t elementsEach =
      std::max<int64_t>(shape.reduced, 1) * std::min(shape.inner, pieceSize);
  withCombination<Compute>(kind, [&](auto combine) {
    forEachPart(shape.outer * numPieces,
                llvm::divideCeil(leastElementsOfThread, elementsEach),
                [&](int64_t begin, int64_t end) {
                  std::array<Compute, pieceSize> numbers;
                  for (int64_t index = begin; index < end; ++index) {
                    int64_t block = index / numPieces;
                    if (shape.inner == 1) {
                      numbers[0] = reduceRow(input, block * shape.reduced,
                                             (block + 1) * shape.reduced,
                                             neutral, combine);
                      store(numbers.data(), block, 1);
                      continue;
                    }
                    int64_t column = index % numPieces * pieceSize;
                    int64_t width = std::min(pieceSize, shape.inner - column);
                    if (shape.reduced == 0)
                      numbers.fill(neutral);
                    else
                      ColumnReducer<Compute>(input, shape)
                          .reduce(block, 0, shape.reduced, column, width,
                                  combine, numbers.data());
                    store(numbers.data(), block * shape.inner + column, width);
                  }
                });
  });
}

/// Returns the type of a reduction: the wider of operand and result.
static ComputeKind getComputeKind(ElementKind from, ElementKind to) {
  return std::max(runtime::getComputeKind(from), runtime::getComputeKind(to));
}

TensorValue runtime::reduceElements(ReductionKind kind, const Tensor &input,
                                    ArrayRef<int64_t> dims, bool keepDims,
                                    Type type) {
  SmallVector<bool> isReduced(input.getRank(), false);
  for (int64_t dim : dims)
    isReduced[dim] = true;
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> kept, reduced;
  for (auto [dim, size] : llvm::enumerate(input.getSizes())) {
    (isReduced[dim] ? reduced : kept).push_back(dim);
    if (!isReduced[dim])
      sizes.push_back(size);
    else if (keepDims)
      sizes.push_back(1);
  }
  // Adjacent reduced dims are read in place. Otherwise, permute the reduced
  // dims to the end.
  ReducedShape shape;
  bool isOneRun = reduced.empty() || reduced.back() - reduced.front() + 1 ==
                                         int64_t(reduced.size());
  const Tensor *source = &input;
  TensorValue moved;
  if (!isOneRun) {
    SmallVector<int64_t> order(kept);
    llvm::append_range(order, reduced);
    moved = gatherStrided(input, tp::getPermutedView(input.getSizes(), order));
    source = moved.get();
  }
  for (int64_t dim : reduced)
    shape.reduced *= input.getSizes()[dim];
  for (int64_t dim : kept)
    (isOneRun && !reduced.empty() && dim > reduced.back() ? shape.inner
                                                          : shape.outer) *=
        input.getSizes()[dim];

  std::shared_ptr<Tensor> result = Tensor::allocate(sizes, type);
  dispatch(::getComputeKind(input.getKind(), result->getKind()),
           [&](auto zero) {
             reduceAll<decltype(zero)>(kind, *source, shape, *result);
           });
  return result;
}

void runtime::combineTensorsInto(ReductionKind kind,
                                 ArrayRef<const Tensor *> inputs,
                                 Tensor &result) {
  const Tensor &first = *inputs.front();
  unsigned fromBytes = runtime::getNumBytes(first.getKind());
  unsigned toBytes = runtime::getNumBytes(result.getKind());
  auto combineAll = [&](auto zero) {
    using Compute = decltype(zero);
    withCombination<Compute>(kind, [&](auto combine) {
      forEachPart(
          first.getNumElements(), leastElementsOfThread,
          [&](int64_t begin, int64_t end) {
            std::array<Compute, pieceSize> sums, next;
            for (int64_t start = begin; start < end; start += pieceSize) {
              int64_t count = std::min(pieceSize, end - start);
              loadElements(first.getKind(), first.getData() + start * fromBytes,
                           count, sums.data());
              for (const Tensor *input : inputs.drop_front()) {
                loadElements(input->getKind(),
                             input->getData() + start * fromBytes, count,
                             next.data());
                for (int64_t index = 0; index < count; ++index)
                  sums[index] = combine(sums[index], next[index]);
              }
              if (kind == ReductionKind::Avg)
                for (int64_t index = 0; index < count; ++index)
                  sums[index] /= static_cast<Compute>(inputs.size());
              storeElements(result.getKind(), sums.data(), count,
                            result.getMutableData() + start * toBytes);
            }
          });
    });
  };
  dispatch(::getComputeKind(first.getKind(), result.getKind()), combineAll);
}

TensorValue runtime::combineTensors(ReductionKind kind,
                                    ArrayRef<const Tensor *> inputs, Type type,
                                    std::string &failure) {
  const Tensor &first = *inputs.front();
  for (const Tensor *input : inputs)
    if (input->getSizes() != first.getSizes() ||
        input->getKind() != first.getKind()) {
      failure = "tensors of sizes " + formatSizes(first.getSizes()) + " and " +
                formatSizes(input->getSizes()) + " cannot be combined";
      return nullptr;
    }
  std::shared_ptr<Tensor> result = Tensor::allocate(first.getSizes(), type);
  combineTensorsInto(kind, inputs, *result);
  return result;
}

TensorValue runtime::sumCumulatively(const Tensor &input, unsigned dim,
                                     Type type) {
  std::shared_ptr<Tensor> result = Tensor::allocate(input.getSizes(), type);
  int64_t size = input.getSizes()[dim];
  int64_t inner = getRowMajorStrides(input.getSizes())[dim];
  int64_t total = input.getNumElements();
  unsigned fromBytes = runtime::getNumBytes(input.getKind());
  unsigned toBytes = runtime::getNumBytes(result->getKind());
  auto sum = [&](auto zero) {
    using Compute = decltype(zero);
    std::vector<Compute> row(inner), sums(inner);
    for (int64_t start = 0; start < total; start += inner) {
      if (start / inner % size == 0)
        std::fill(sums.begin(), sums.end(), Compute(0));
      loadElements(input.getKind(), input.getData() + start * fromBytes, inner,
                   row.data());
      withCombination<Compute>(ReductionKind::Sum, [&](auto add) {
        for (int64_t index = 0; index < inner; ++index)
          sums[index] = add(sums[index], row[index]);
      });
      storeElements(result->getKind(), sums.data(), inner,
                    result->getMutableData() + start * toBytes);
    }
  };
  // All partial sums are results, so pairwise summation does not apply. Sum
  // floats in double, as PyTorch does.
  if (total > 0)
    isFloat(result->getKind()) ? sum(double()) : sum(int64_t());
  return result;
}
