//===- PositionFolding.h - positions in their simplest form -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Models compute masks and positions in roundabout ways: they subtract
// neighbouring positions to find where packed sequences begin, count these
// places, and look the counts up by position. If such a chain were evaluated op
// by op, each index would depend on its neighbours, so all indices would be
// needed. But the integers along one dim depend on positions alone, so they are
// known for all indices at once.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_POSITIONFOLDING_H
#define COMMUTE_LIB_EQUIVALENCE_POSITIONFOLDING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// Replaces integers and truth values that are known to be evenly spaced along
/// one dim and equal along all others by `tp.iota` or `tp.constant`, in a
/// program of static sizes. Does not replace ops that may fail (a lookup
/// outside of a table) and values that share memory with values that opaque ops
/// write to.
void foldPositions(mlir::func::FuncOp function);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_POSITIONFOLDING_H
