//===- ElementwiseKernels.cpp - scalar functions of elements ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "KernelThreads.h"
#include "Kernels.h"

#include <atomic>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

/// Elements are converted and computed in chunks that stay in the cache.
static constexpr int64_t pieceSize = 1024;

//===----------------------------------------------------------------------===//
// Promotion
//===----------------------------------------------------------------------===//

/// Returns the category: 0 for booleans, 1 for integers, 2 for floats.
static unsigned getCategory(ElementKind kind) {
  return kind == ElementKind::Bool ? 0 : isFloat(kind) ? 2 : 1;
}

/// Returns the common float type by PyTorch's rule: the wider one, or f32 for
/// two different types of the same width.
static ElementKind promoteFloats(ElementKind a, ElementKind b) {
  if (a == b)
    return a;
  for (ElementKind wide : {ElementKind::F64, ElementKind::F32})
    if (a == wide || b == wide)
      return wide;
  if (runtime::getNumBytes(a) != runtime::getNumBytes(b))
    return runtime::getNumBytes(a) > runtime::getNumBytes(b) ? a : b;
  return ElementKind::F32;
}

/// Returns the type to which operands are promoted, by PyTorch's rule: tensors
/// of rank 0 do not promote others of their category. Integers are computed in
/// int64 and wrapped at the end, so the width does not matter, except that
/// PyTorch does not promote U64 with others: U64 takes precedence.
static ElementKind promote(ArrayRef<const Tensor *> operands) {
  std::optional<ElementKind> withDims, scalars;
  for (const Tensor *operand : operands) {
    std::optional<ElementKind> &result =
        operand->getRank() > 0 ? withDims : scalars;
    ElementKind kind = operand->getKind();
    if (!result || getCategory(kind) > getCategory(*result))
      result = kind;
    else if (isFloat(kind) && isFloat(*result))
      result = promoteFloats(kind, *result);
    else if (kind == ElementKind::U64 && !isFloat(*result))
      result = kind;
  }
  if (!withDims)
    return *scalars;
  if (scalars && getCategory(*scalars) > getCategory(*withDims))
    return *scalars;
  return *withDims;
}

static bool isPredicate(tp::MapFunction function) {
  return tp::MapOp::isPredicate(function);
}

//===----------------------------------------------------------------------===//
// Elementwise kernels
//===----------------------------------------------------------------------===//

namespace {
/// Reads an operand as numbers of type Compute, in chunks.
template <typename Compute>
class OperandReader {
public:
  OperandReader(const Tensor &tensor, ElementKind promoted, int64_t stride)
      : tensor(tensor), stride(stride),
        isDirect(isStoredAs<Compute>(tensor.getKind())),
        // When combined with narrow floats, an integer tensor is rounded to
        // their type. A scalar keeps its precision, as in PyTorch's kernels.
        roundsTo(tensor.getRank() > 0 && !isFloat(tensor.getKind()) &&
                         isFloat(promoted) && getNumBytes(promoted) < 4
                     ? std::optional(promoted)
                     : std::nullopt) {}

  /// Returns `count` numbers, starting at index `start` of the row that begins
  /// at element `row`.
  const Compute *read(int64_t row, int64_t start, int64_t count) {
    int64_t offset = row + start * stride;
    const std::byte *source =
        tensor.getData() + offset * runtime::getNumBytes(tensor.getKind());
    if (stride != 0 && isDirect)
      return reinterpret_cast<const Compute *>(source);
    if (stride == 0) {
      if (offset != repeatedOffset || count > repeatedCount) {
        load(source, 1);
        std::fill(buffer.begin() + 1, buffer.begin() + count, buffer[0]);
        repeatedOffset = offset;
        repeatedCount = count;
      }
      return buffer.data();
    }
    load(source, count);
    return buffer.data();
  }

private:
  void load(const std::byte *source, int64_t count) {
    loadElements(tensor.getKind(), source, count, buffer.data());
    if (!roundsTo)
      return;
    std::array<uint16_t, pieceSize> narrow;
    storeElements(*roundsTo, buffer.data(), count, narrow.data());
    loadElements(*roundsTo, narrow.data(), count, buffer.data());
  }

  const Tensor &tensor;
  int64_t stride;
  bool isDirect;
  std::optional<ElementKind> roundsTo;
  int64_t repeatedOffset = -1;
  int64_t repeatedCount = 0;
  std::array<Compute, pieceSize> buffer;
};
} // namespace

namespace {
/// A map's operands and result, with strides in elements.
struct MapWalk {
  tp::MapFunction function;
  ArrayRef<const Tensor *> operands;
  ElementKind promoted;
  SmallVector<int64_t> sizes;
  /// Strides of the operands; the result is dense.
  SmallVector<SmallVector<int64_t>> strides;
};
} // namespace

/// Computes the part [begin, end) of the first dim, row by row. Within a row,
/// an operand is dense or a repeated element.
template <typename Compute>
static bool mapRows(const MapWalk &walk, int64_t begin, int64_t end,
                    Tensor &result) {
  SmallVector<int64_t> sizes(walk.sizes);
  SmallVector<SmallVector<int64_t>> strides(walk.strides);
  SmallVector<int64_t> starts;
  for (ArrayRef<int64_t> operandStrides : strides)
    starts.push_back(begin * operandStrides.front());
  sizes.front() = end - begin;
  int64_t rowSize = sizes.pop_back_val();
  std::vector<OperandReader<Compute>> readers;
  for (auto [operand, operandStrides] : llvm::zip_equal(walk.operands, strides))
    readers.emplace_back(*operand, walk.promoted,
                         operandStrides.pop_back_val());

  bool isDirect = isStoredAs<Compute>(result.getKind());
  unsigned numBytes = runtime::getNumBytes(result.getKind());
  std::byte *output = result.getMutableData() +
                      begin * getRowMajorStrides(walk.sizes).front() * numBytes;
  std::array<Compute, pieceSize> buffer;
  bool succeeds = true;
  forEachOffset(sizes, strides, [&](ArrayRef<int64_t> offsets) {
    for (int64_t start = 0; start < rowSize; start += pieceSize) {
      int64_t count = std::min(pieceSize, rowSize - start);
      std::array<const Compute *, 3> data{};
      for (auto [index, reader] : llvm::enumerate(readers))
        data[index] = reader.read(starts[index] + offsets[index], start, count);
      auto *target =
          isDirect ? reinterpret_cast<Compute *>(output) : buffer.data();
      succeeds &= computeFunction(walk.function, data[0], data[1], data[2],
                                  target, count);
      if (!isDirect)
        storeElements(result.getKind(), buffer.data(), count, output);
      output += count * numBytes;
    }
  });
  return succeeds;
}

template <typename Compute>
static bool mapOnThreads(tp::MapFunction function,
                         ArrayRef<const Tensor *> operands,
                         ElementKind promoted, Tensor &result) {
  MapWalk walk{function,
               operands,
               promoted,
               SmallVector<int64_t>(result.getSizes()),
               {}};
  for (const Tensor *operand : operands)
    walk.strides.push_back(
        getBroadcastStrides(operand->getSizes(), walk.sizes));
  coalesceDims(walk.sizes, walk.strides);
  int64_t count = walk.sizes.front();
  int64_t elementsEach = getRowMajorStrides(walk.sizes).front();
  std::atomic<bool> succeeds = true;
  forEachPart(count,
              llvm::divideCeil(leastElementsOfThread,
                               std::max<int64_t>(elementsEach, 1)),
              [&](int64_t begin, int64_t end) {
                if (!mapRows<Compute>(walk, begin, end, result))
                  succeeds = false;
              });
  return succeeds;
}

TensorValue runtime::mapElements(tp::MapFunction function,
                                 ArrayRef<const Tensor *> operands, Type type,
                                 std::string &failure) {
  SmallVector<int64_t> sizes;
  for (const Tensor *operand : operands)
    if (!broadcastSizes(operand->getSizes(), sizes)) {
      failure = "operands of sizes " + formatSizes(sizes) + " and " +
                formatSizes(operand->getSizes()) + " do not match";
      return nullptr;
    }
  // The condition of a select does not take part in promotion.
  ArrayRef<const Tensor *> promoting =
      function == tp::MapFunction::Select ? operands.drop_front() : operands;
  ElementKind promoted = promote(promoting);
  std::shared_ptr<Tensor> result = Tensor::allocate(sizes, type);
  // The complement of a boolean has one bit.
  if (function == tp::MapFunction::BitwiseNot && promoted == ElementKind::Bool)
    function = tp::MapFunction::LogicalNot;
  ComputeKind compute = getComputeKind(promoted);
  // Division and functions such as exp return floats for integer operands.
  if (!isFloat(promoted) && !isPredicate(function))
    compute = std::max(compute, getComputeKind(result->getKind()));
  bool succeeds = dispatch(compute, [&](auto zero) {
    return mapOnThreads<decltype(zero)>(function, operands, promoted, *result);
  });
  if (!succeeds) {
    bool divides = function == tp::MapFunction::Div ||
                   function == tp::MapFunction::FloorDiv ||
                   function == tp::MapFunction::Remainder;
    failure = divides ? "integer division by zero"
                      : (tp::stringifyMapFunction(function) +
                         " is not defined for these element types")
                            .str();
    return nullptr;
  }
  return result;
}

void runtime::castElementsInto(const Tensor &input, Tensor &result) {
  unsigned fromBytes = runtime::getNumBytes(input.getKind());
  unsigned toBytes = runtime::getNumBytes(result.getKind());
  dispatch(getComputeKind(input.getKind()), [&](auto zero) {
    forEachPart(input.getNumElements(), leastElementsOfThread,
                [&](int64_t begin, int64_t end) {
                  std::array<decltype(zero), pieceSize> buffer;
                  for (int64_t start = begin; start < end; start += pieceSize) {
                    int64_t count = std::min(pieceSize, end - start);
                    loadElements(input.getKind(),
                                 input.getData() + start * fromBytes, count,
                                 buffer.data());
                    storeElements(result.getKind(), buffer.data(), count,
                                  result.getMutableData() + start * toBytes);
                  }
                });
  });
}

TensorValue runtime::castElements(const Tensor &input, Type type) {
  std::shared_ptr<Tensor> result = Tensor::allocate(input.getSizes(), type);
  castElementsInto(input, *result);
  return result;
}

template <typename Compute>
static TensorValue fillWith(Compute value, ArrayRef<int64_t> sizes, Type type) {
  std::shared_ptr<Tensor> result = Tensor::allocate(sizes, type);
  unsigned numBytes = runtime::getNumBytes(result->getKind());
  std::array<Compute, pieceSize> buffer;
  buffer.fill(value);
  int64_t total = result->getNumElements();
  for (int64_t start = 0; start < total; start += pieceSize)
    storeElements(result->getKind(), buffer.data(),
                  std::min(pieceSize, total - start),
                  result->getMutableData() + start * numBytes);
  return result;
}

TensorValue runtime::fill(const llvm::APFloat &value, ArrayRef<int64_t> sizes,
                          Type type) {
  llvm::APFloat number = value;
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return fillWith(number.convertToDouble(), sizes, type);
}

TensorValue runtime::fill(int64_t value, ArrayRef<int64_t> sizes, Type type) {
  return fillWith(value, sizes, type);
}
