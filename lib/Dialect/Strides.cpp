//===- Strides.cpp - strides as PyTorch's kernels make them -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/SymbolicSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace commute::tp;

/// Either all strides are known, or none.
static Strides takeKnown(SmallVector<Size, 4> strides) {
  if (!llvm::all_of(strides, [](const Size &stride) { return bool(stride); }))
    return std::nullopt;
  return strides;
}

Strides commute::tp::getContiguousStrides(ArrayRef<Size> sizes) {
  SmallVector<Size, 4> strides(sizes.size());
  Size stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    // PyTorch treats the size of an empty dim as 1 here.
    if (!isConstant(sizes[dim], 0))
      stride = multiply(stride, sizes[dim]);
  }
  return takeKnown(std::move(strides));
}

bool commute::tp::areContiguousStrides(ArrayRef<Size> strides,
                                       ArrayRef<Size> sizes) {
  if (strides.size() != sizes.size())
    return false;
  Size expected = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    if (strides[dim] != expected)
      return false;
    if (!isConstant(sizes[dim], 0))
      expected = multiply(expected, sizes[dim]);
  }
  return true;
}

Density commute::tp::getDensity(const StridedShape &shape) {
  if (llvm::any_of(shape.sizes,
                   [](const Size &size) { return isConstant(size, 0); }))
    return Density::Dense;
  if (!shape.strides)
    return shape.sizes.empty() ? Density::Dense : Density::Unknown;
  Density density = Density::Dense;
  Size expected = 1;
  for (size_t dim = shape.sizes.size(); dim-- > 0;) {
    const Size &size = shape.sizes[dim];
    const Size &stride = (*shape.strides)[dim];
    // The size of the outermost dim does not matter if its stride is right.
    if (!size && (dim > 0 || stride != expected))
      return Density::Unknown;
    if (!isConstant(size, 1)) {
      if (stride != expected) {
        // A symbolic size may be 1 or 0 at run time, which makes any stride
        // legal. Only a static tensor is certainly strided.
        bool isCertain = getConstant(size) && areDifferent(stride, expected) &&
                         llvm::all_of(shape.sizes, [](const Size &s) {
                           return getConstant(s).has_value();
                         });
        if (isCertain)
          return Density::Strided;
        density = Density::Unknown;
      }
      expected = multiply(expected, size);
    }
  }
  return density;
}

/// PyTorch's is_non_overlapping_and_dense: dense in some order of the dims.
/// Returns nullopt if that is unknown.
static std::optional<bool> isDenseInSomeOrder(const StridedShape &shape) {
  if (!shape.strides)
    return std::nullopt;
  if (getDensity(shape) == Density::Dense)
    return true;
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip_equal(shape.sizes, *shape.strides)) {
    std::optional<int64_t> constantSize = getConstant(size);
    std::optional<int64_t> constantStride = getConstant(stride);
    if (!constantSize || !constantStride)
      return std::nullopt;
    if (*constantSize != 1)
      dims.emplace_back(*constantStride, *constantSize);
  }
  llvm::sort(dims);
  int64_t expected = 1;
  for (auto [stride, size] : dims) {
    if (stride != expected)
      return false;
    if (llvm::MulOverflow(expected, size, expected))
      return std::nullopt;
  }
  return true;
}

/// Compares two strides: -1, 0, 1, or nullopt if the order depends on symbols.
/// A product is at least as large as each of its positive factors.
static std::optional<int> compareStrides(const Size &lhs, const Size &rhs) {
  if (lhs == rhs)
    return 0;
  std::optional<Monomial> a = getMonomial(lhs);
  std::optional<Monomial> b = getMonomial(rhs);
  if (!a || !b || a->coefficient <= 0 || b->coefficient <= 0)
    return std::nullopt;
  auto includes = [](ArrayRef<unsigned> big, ArrayRef<unsigned> small) {
    return std::includes(big.begin(), big.end(), small.begin(), small.end());
  };
  if (a->symbols == b->symbols)
    return a->coefficient < b->coefficient ? -1 : 1;
  if (a->coefficient >= b->coefficient && includes(a->symbols, b->symbols))
    return 1;
  if (b->coefficient >= a->coefficient && includes(b->symbols, a->symbols))
    return -1;
  return std::nullopt;
}

Strides commute::tp::getElementwiseStrides(ArrayRef<StridedShape> operands,
                                           ArrayRef<Size> resultSizes) {
  if (resultSizes.empty())
    return SmallVector<Size, 4>();
  if (llvm::any_of(resultSizes, [](const Size &size) { return !size; }))
    return std::nullopt;
  size_t rank = resultSizes.size();

  // Returns the operands with their strides after broadcasting: 0 along
  // repeated dims. Scalars are omitted, because they do not affect the layout.
  SmallVector<SmallVector<Size, 4>> strides;
  bool sameShape = true;
  bool allContiguous = true;
  for (const StridedShape &operand : operands) {
    if (operand.sizes.empty())
      continue;
    if (!operand.strides)
      return std::nullopt;
    SmallVector<Size, 4> expanded(rank, 0);
    size_t offset = rank - operand.sizes.size();
    for (size_t dim = 0; dim < operand.sizes.size(); ++dim) {
      const Size &size = operand.sizes[dim];
      if (!size)
        return std::nullopt;
      bool isRepeated =
          isConstant(size, 1) && !isConstant(resultSizes[offset + dim], 1);
      if (!isRepeated)
        expanded[offset + dim] = (*operand.strides)[dim];
    }
    sameShape &= ArrayRef(operand.sizes) == resultSizes;
    allContiguous &= getDensity(operand) == Density::Dense;
    strides.push_back(std::move(expanded));
  }
  if (strides.empty())
    return getContiguousStrides(resultSizes);
  // TensorIterator's fast paths: all operands have one shape and are dense, or
  // they have one shape and equal strides without gaps.
  if (sameShape && allContiguous)
    return getContiguousStrides(resultSizes);
  if (sameShape && llvm::all_equal(strides)) {
    StridedShape shape{Sizes(resultSizes), strides.front()};
    if (isDenseInSomeOrder(shape) == true)
      return strides.front();
  }

  // Otherwise, dims are sorted by the operands' strides (by insertion sort from
  // the last dim, in which a comparison may be ambiguous), and the result is
  // dense in that order.
  bool isUnknown = false;
  auto shouldSwap = [&](unsigned dim0, unsigned dim1) -> int {
    for (const auto &operand : strides) {
      const Size &stride0 = operand[dim0];
      const Size &stride1 = operand[dim1];
      if (isConstant(stride0, 0) || isConstant(stride1, 0))
        continue;
      std::optional<int> order = compareStrides(stride0, stride1);
      if (!order) {
        isUnknown = true;
        return 0;
      }
      if (*order != 0)
        return *order;
      // If strides are equal, the larger dim is the outer one.
      std::optional<int> sizes =
          compareStrides(resultSizes[dim0], resultSizes[dim1]);
      if (!sizes) {
        isUnknown = true;
        return 0;
      }
      if (*sizes > 0)
        return 1;
    }
    return 0;
  };
  SmallVector<unsigned> order(rank); // minor to major
  std::iota(order.rbegin(), order.rend(), 0);
  for (size_t i = 1; i < rank; ++i) {
    size_t dim1 = i;
    for (size_t dim0 = i; dim0-- > 0;) {
      int comparison = shouldSwap(order[dim0], order[dim1]);
      if (comparison > 0) {
        std::swap(order[dim0], order[dim1]);
        dim1 = dim0;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  if (isUnknown)
    return std::nullopt;
  SmallVector<Size, 4> result(rank);
  Size stride = 1;
  for (unsigned dim : order) {
    result[dim] = stride;
    if (!isConstant(resultSizes[dim], 0))
      stride = multiply(stride, resultSizes[dim]);
  }
  return takeKnown(std::move(result));
}

Strides commute::tp::getPreservedStrides(const StridedShape &shape) {
  if (getDensity(shape) == Density::Dense)
    return getContiguousStrides(shape.sizes);
  std::optional<bool> dense = isDenseInSomeOrder(shape);
  if (dense && *dense)
    return shape.strides;
  // If there are gaps or overlaps, the copy has the layout of an elementwise
  // result.
  return getElementwiseStrides({shape}, shape.sizes);
}

Strides commute::tp::getReshapedStrides(const StridedShape &shape,
                                        ArrayRef<Size> resultSizes) {
  if (ArrayRef(shape.sizes) == resultSizes && shape.strides)
    return shape.strides;
  // A dense tensor and a tensor without elements keep their strides.
  if (getDensity(shape) == Density::Dense)
    return getContiguousStrides(resultSizes);
  if (!shape.strides || shape.sizes.empty())
    return std::nullopt;
  auto isUnknown = [](const Size &size) { return !size; };
  if (llvm::any_of(shape.sizes, isUnknown) ||
      llvm::any_of(resultSizes, isUnknown))
    return std::nullopt;
  auto isSymbolic = [](const Size &size) { return bool(size.getSymbolic()); };
  bool isStatic = llvm::none_of(shape.sizes, isSymbolic) &&
                  llvm::none_of(resultSizes, isSymbolic);

  // at::detail::computeStride: runs of operand dims without gaps are split
  // again. If a result dim would span two runs, the result is a copy.
  Strides copied = isStatic ? getContiguousStrides(resultSizes) : std::nullopt;
  SmallVector<Size, 4> result(resultSizes.size(), 1);
  int64_t resultDim = static_cast<int64_t>(resultSizes.size()) - 1;
  Size baseStride = shape.strides->back();
  Size runElements = 1;
  Size resultElements = 1;
  for (int64_t dim = static_cast<int64_t>(shape.sizes.size()) - 1; dim >= 0;
       --dim) {
    runElements = multiply(runElements, shape.sizes[dim]);
    if (!runElements)
      return std::nullopt;
    bool runEnds = dim == 0;
    if (!runEnds && !isConstant(shape.sizes[dim - 1], 1))
      runEnds = (*shape.strides)[dim - 1] != multiply(runElements, baseStride);
    if (!runEnds)
      continue;
    while (resultDim >= 0 && (resultElements != runElements ||
                              isConstant(resultSizes[resultDim], 1))) {
      std::optional<int64_t> run = getConstant(runElements);
      std::optional<int64_t> elements = getConstant(resultElements);
      if (run && elements && *elements > *run)
        return copied;
      result[resultDim] = multiply(resultElements, baseStride);
      resultElements = multiply(resultElements, resultSizes[resultDim]);
      --resultDim;
    }
    if (resultElements != runElements)
      return copied;
    if (dim > 0) {
      baseStride = (*shape.strides)[dim - 1];
      runElements = 1;
      resultElements = 1;
    }
  }
  if (resultDim != -1)
    return copied;
  return takeKnown(std::move(result));
}
