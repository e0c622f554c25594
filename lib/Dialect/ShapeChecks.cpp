//===- ShapeChecks.cpp - what the verifiers of tp ops share -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace commute::tp;

static std::string toText(const Size &size, const SymbolSpace &space) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSize(os, size, space.getNames());
  return text;
}

FailureOr<SmallVector<int64_t>> commute::tp::getResultSizes(Operation *op,
                                                            Algebra &algebra) {
  FailureOr<SmallVector<int64_t>> sizes =
      algebra.getSizes(getTensor(op->getResult(0)));
  if (failed(sizes))
    return op->emitError("sizes of the result are not known");
  return sizes;
}

LogicalResult commute::tp::verifySizes(Operation *op, SymbolSpace &space,
                                       StringRef what, RankedTensorType type,
                                       ArrayRef<Size> expected) {
  if (type.getRank() != static_cast<int64_t>(expected.size()))
    return op->emitOpError() << what << " has " << type.getRank()
                             << " dims, expected " << expected.size();
  Sizes sizes = space.getSizes(type);
  for (auto [dim, size, wanted] : llvm::enumerate(sizes, expected))
    if (areDifferent(size, wanted))
      return op->emitOpError()
             << what << " has size " << toText(size, space) << " along dim "
             << dim << ", expected " << toText(wanted, space);
  return success();
}

LogicalResult commute::tp::verifySameElementType(Operation *op, StringRef what,
                                                 RankedTensorType type,
                                                 Type expected) {
  if (type.getElementType() == expected)
    return success();
  return op->emitOpError() << what << " has element type "
                           << type.getElementType() << ", expected "
                           << expected;
}

LogicalResult commute::tp::verifyKeepsShape(Operation *op) {
  RankedTensorType input = getTensor(op->getOperand(0));
  RankedTensorType result = getTensor(op->getResult(0));
  SymbolSpace space(op->getContext());
  if (failed(
          verifySameElementType(op, "result", result, input.getElementType())))
    return failure();
  return verifySizes(op, space, "result", result, space.getSizes(input));
}

LogicalResult commute::tp::verifyDim(Operation *op, StringRef what, int64_t dim,
                                     int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return op->emitOpError() << what << " is " << dim
                           << ", expected a dim of a tensor of rank " << rank;
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

LogicalResult commute::tp::verifyBroadcastsTo(Operation *op, SymbolSpace &space,
                                              StringRef what,
                                              RankedTensorType type,
                                              ArrayRef<Size> target) {
  Sizes sizes = space.getSizes(type);
  if (sizes.size() > target.size())
    return op->emitOpError()
           << what << " has " << sizes.size()
           << " dims, more than the result's " << target.size();
  size_t offset = target.size() - sizes.size();
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (!isConstant(sizes[dim], 1) &&
        areDifferent(sizes[dim], target[offset + dim]))
      return op->emitOpError()
             << what << " has size " << toText(sizes[dim], space)
             << " along dim " << dim << ", which cannot be broadcast to "
             << toText(target[offset + dim], space);
  return success();
}
