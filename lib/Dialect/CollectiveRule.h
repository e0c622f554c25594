//===- CollectiveRule.h - the dims of collectives ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_DIALECT_COLLECTIVERULE_H
#define COMMUTE_LIB_DIALECT_COLLECTIVERULE_H

#include "commute/Dialect/TPDialect.h"

namespace commute::tp {

/// Returns a rule in which all dims are parallel except `axis`, which is whole
/// in operand and result and counts in units of `unitSize`. Without an axis, it
/// is -1.
DimensionRule getCollectiveRule(mlir::Operation *op, int64_t axis,
                                int64_t unitSize = 0);

} // namespace commute::tp

#endif // COMMUTE_LIB_DIALECT_COLLECTIVERULE_H
