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

/// A place before an op of each of two programs, by position in their blocks.
struct CutPoint {
  unsigned first;
  unsigned second;
};

/// Places at which two programs have probably come equally far, in ascending
/// order in both: before ops of one name, and before the n-th use of one input.
/// This is a guess, and nothing but the time of a comparison depends on it.
std::vector<CutPoint> findCutPoints(mlir::func::FuncOp first,
                                    mlir::func::FuncOp second);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_CUTPOINTS_H
