//===- PositionFolding.h - positions in their simplest form -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Models compute masks and positions in roundabout ways: neighbouring positions
// are subtracted to find where a packed sequence begins, what is found is
// counted, and the counts are looked up by positions. Evaluated op by op, each
// index of such a chain depends on its neighbours, so that all of them would be
// needed. The integers along one dim follow from positions alone, though, and
// are known for all indices at once.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_POSITIONFOLDING_H
#define COMMUTE_LIB_EQUIVALENCE_POSITIONFOLDING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// Replaces integers and truth values that are known to be at equal distances
/// along one dim, and equal along all others, by `tp.iota` or `tp.constant`, in
/// a program of static sizes. Ops that may fail (a look-up outside of a table)
/// and values that share memory with what opaque ops write to stay.
void foldPositions(mlir::func::FuncOp function);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_POSITIONFOLDING_H
