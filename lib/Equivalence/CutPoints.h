//===- CutPoints.h - where two programs are at the same place ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_CUTPOINTS_H
#define COMMUTE_LIB_EQUIVALENCE_CUTPOINTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace commute::equivalence {

/// A place before an op of each of two programs, as positions in their blocks.
struct CutPoint {
  unsigned first;
  unsigned second;
};

/// Returns places at which two programs have probably made equal progress, in
/// ascending order in both: before ops of the same name, and before the n-th
/// use of the same input. This is a heuristic; it affects only the time of a
/// comparison.
std::vector<CutPoint> findCutPoints(mlir::func::FuncOp first,
                                    mlir::func::FuncOp second);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_CUTPOINTS_H
