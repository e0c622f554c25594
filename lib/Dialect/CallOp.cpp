//===- CallOp.cpp - operators that Commute does not model -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute::tp;

LogicalResult CallOp::verify() {
  auto verifyIndices = [&](StringRef what,
                           ArrayRef<int64_t> indices) -> LogicalResult {
    for (int64_t index : indices) {
      if (index < 0 || index >= static_cast<int64_t>(getOperands().size()))
        return emitOpError()
               << what << " names operand " << index << ", but the call has "
               << getOperands().size() << " operands";
      if (!isa<RankedTensorType>(getOperands()[index].getType()))
        return emitOpError() << what << " names operand " << index
                             << ", which is not a tensor";
    }
    return success();
  };
  if (failed(verifyIndices("dense_operands", getDenseOperands())))
    return failure();
  return verifyIndices("mutated_operands", getMutatedOperands());
}

DimensionRule CallOp::getDimensionRule() {
  // Nothing is known about the operator, so all dims are whole.
  DimensionRuleBuilder builder(*this);
  auto addAll = [&](TypeRange types, auto map) {
    for (auto [index, type] : llvm::enumerate(types))
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
          map(index, dim, builder.addWhole(tensor.getDimSize(dim)));
  };
  addAll(getOperandTypes(), [&](unsigned index, unsigned dim, unsigned factor) {
    builder.mapOperand(index, dim, factor);
  });
  addAll(getResultTypes(), [&](unsigned index, unsigned dim, unsigned factor) {
    builder.mapResult(index, dim, factor);
  });
  return std::move(builder).build();
}

bool CallOp::runsKernel() {
  return !getMutatedOperands().empty() ||
         llvm::any_of(getOutputs().getTypes(), llvm::IsaPred<RankedTensorType>);
}

std::optional<Work> CallOp::getWork(SymbolValues symbols) {
  if (!runsKernel())
    return Work();
  return getStreamingWork(*this, 0, symbols);
}

Strides CallOp::inferStrides(unsigned, ArrayRef<StridedShape>, ArrayRef<Size>) {
  return std::nullopt;
}

bool CallOp::requiresDense(OpOperand &operand) {
  return llvm::is_contained(getDenseOperands(),
                            static_cast<int64_t>(operand.getOperandNumber()));
}

bool CallOp::writesInto(OpOperand &operand) {
  return llvm::is_contained(getMutatedOperands(),
                            static_cast<int64_t>(operand.getOperandNumber()));
}

bool CallOp::mayShareMemory() { return !getFreshResults(); }
