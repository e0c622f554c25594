//===- SharedRegions.h - what two programs do alike -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_SHAREDREGIONS_H
#define COMMUTE_LIB_EQUIVALENCE_SHAREDREGIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// Returns true if two programs consist of the same ops on the same operands,
/// in the same order. Ops with effects are the same only as far as they are
/// marked so (drawAttrName): memory that is not initialized never is.
bool areIdentical(mlir::func::FuncOp first, mlir::func::FuncOp second);

/// Replaces regions that follow from the order of unknown values, such as the
/// routing of tokens to experts, by unknown functions of what they use, where
/// both programs have the same region. Programs that are then equal are equal
/// for every such function. Returns false if there is no such region.
bool replaceSharedRegions(mlir::func::FuncOp first, mlir::func::FuncOp second);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_SHAREDREGIONS_H
