//===- ResultTypes.h - types that follow from operands ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_RESULTTYPES_H
#define COMMUTE_LIB_TRANSFORMS_RESULTTYPES_H

#include "commute/Dialect/TPDialect.h"

namespace commute {

/// Sets the strides of all results of an op, whose sizes are already right, to
/// those inferred from its operands.
void inferStrides(tp::SymbolSpace &symbols, mlir::Operation *op);

/// Replaces `before` by `after`. Two dense tensors may state different strides
/// of dims of size 1; a function that returns the value then states those of
/// `after`.
void replaceValue(mlir::Value before, mlir::Value after);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_RESULTTYPES_H
