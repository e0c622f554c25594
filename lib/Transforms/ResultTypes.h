//===- ResultTypes.h - types that follow from operands ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_RESULTTYPES_H
#define COMMUTE_LIB_TRANSFORMS_RESULTTYPES_H

#include "commute/Dialect/TPDialect.h"

namespace commute {

/// Gives all results of an op, whose sizes are right, the strides that follow
/// from its operands.
void inferStrides(tp::SymbolSpace &symbols, mlir::Operation *op);

/// Puts `after` in place of `before`. Two dense tensors may state the strides
/// of dims of size 1 in different ways: a function that returns the value
/// states those of `after`.
void replaceValue(mlir::Value before, mlir::Value after);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_RESULTTYPES_H
