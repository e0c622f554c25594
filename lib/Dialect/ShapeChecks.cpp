//===- ShapeChecks.cpp - what the verifiers of tp ops share -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace commute::tp;

FailureOr<SmallVector<int64_t>> commute::tp::getResultSizes(Operation *op,
                                                            Algebra &algebra) {
  FailureOr<SmallVector<int64_t>> sizes =
      algebra.getSizes(getTensor(op->getResult(0)));
  if (failed(sizes))
    return op->emitError("sizes of the result are not known");
  return sizes;
}

FailureOr<Size> commute::tp::getBlockSize(ShapeInference &inference,
                                          const Size &size, int64_t dim,
                                          int64_t count) {
  if (std::optional<int64_t> number = getConstant(size)) {
    if (*number % count != 0)
      return inference.emitOpError()
             << "cannot cut size " << *number << " along dim " << dim
             << " into " << count << " equal blocks";
    return Size(*number / count);
  }
  Size block = divideExactly(size, count);
  return block || !size ? block : Size(size.getSymbolic().floorDiv(count));
}

std::optional<Sizes> commute::tp::broadcastSizes(ArrayRef<Size> lhs,
                                                 ArrayRef<Size> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  Sizes result(lhs);
  size_t offset = lhs.size() - rhs.size();
  for (size_t dim = 0; dim < rhs.size(); ++dim) {
    Size &size = result[offset + dim];
    if (isConstant(size, 1))
      size = rhs[dim];
    else if (!isConstant(rhs[dim], 1) && areDifferent(size, rhs[dim]))
      return std::nullopt;
    else if (!size)
      size = isConstant(rhs[dim], 1) ? size : rhs[dim];
  }
  return result;
}

std::optional<int64_t>
commute::tp::getProductFlops(RankedTensorType result,
                             std::optional<int64_t> inner,
                             SymbolValues symbols) {
  std::optional<int64_t> elements = evaluateNumElements(result, symbols);
  if (!elements || !inner)
    return std::nullopt;
  std::optional<int64_t> products = llvm::checkedMul(*elements, *inner);
  return products ? llvm::checkedMul<int64_t>(2, *products) : std::nullopt;
}
