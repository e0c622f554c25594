//===- TPDialect.h - the tp dialect -----------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPDIALECT_H
#define COMMUTE_DIALECT_TPDIALECT_H

#include "commute/Dialect/DimensionRule.h"
#include "commute/Dialect/Evaluation.h"
#include "commute/Dialect/IndexAlgebra.h"
#include "commute/Dialect/ScalarFunctions.h"
#include "commute/Dialect/ShapeInference.h"
#include "commute/Dialect/SymbolicSize.h"
#include "commute/Dialect/Work.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>

namespace commute::tp::detail {
struct GroupAttrStorage;
} // namespace commute::tp::detail

// The generated parts follow; their order matters.
#include "commute/Dialect/TPDialect.h.inc"
#include "commute/Dialect/TPEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "commute/Dialect/TPAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "commute/Dialect/TPTypes.h.inc"

namespace commute::tp {
/// Returns the type of a value that must be a tensor.
inline mlir::RankedTensorType getTensor(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::Type getElementType(mlir::Value value) {
  return getTensor(value).getElementType();
}

/// Describes an op by its name, reduction and axis: "tp.reduce_scatter sum
/// along dim 1".
std::string getCollectiveText(mlir::Operation *op,
                              std::optional<ReductionKind> reduction,
                              std::optional<int64_t> axis);
} // namespace commute::tp

#include "commute/Dialect/TPInterfaces.h.inc"

#define GET_OP_CLASSES
#include "commute/Dialect/TPOps.h.inc"

#endif // COMMUTE_DIALECT_TPDIALECT_H
