//===- RowRules.h - what ops do with rows of their operands -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PLACEMENTS_ROWRULES_H
#define COMMUTE_LIB_ANALYSIS_PLACEMENTS_ROWRULES_H

#include "commute/Analysis/Placements/ShardRegions.h"

namespace commute::analysis {

/// Why an op has to see all rows: a predicate of a sentence about it. For the
/// codes of shards of rows that need no numbers.
Refusal refuseRows(mlir::Operation *op, RefusalCode code);

/// The factor of `rule`, of `op`, that a cut along `dim` of `tensor` would cut,
/// if the op works on each of its indices alone.
Legal<unsigned> findRowFactor(mlir::Operation *op,
                              const tp::DimensionRule &rule,
                              const tp::DimensionRule::TensorFactors &tensor,
                              unsigned dim);

/// The dim of a tensor that `factor` leads; nullopt where it is in none.
std::optional<unsigned>
findRowDim(const tp::DimensionRule::TensorFactors &tensor, unsigned factor);

/// Whether the op has `factor` at `dim` wherever it has `value`: it may read a
/// value twice, by rows and as a whole.
bool hasRowsEverywhere(mlir::Operation *op, const tp::DimensionRule &rule,
                       mlir::Value value, unsigned dim, unsigned factor);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTS_ROWRULES_H
