//===- RowRules.h - what ops do with rows of their operands -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PLACEMENTS_ROWRULES_H
#define COMMUTE_LIB_ANALYSIS_PLACEMENTS_ROWRULES_H

#include "commute/Analysis/Placements/ShardRegions.h"

namespace commute::analysis {

/// Returns the refusal of an op that needs all rows, whose reason is the
/// predicate of a sentence. For codes that need no numbers.
Refusal refuseRows(mlir::Operation *op, RefusalCode code);

/// Returns the factor of `rule`, the rule of `op`, that sharding along `dim` of
/// `tensor` would split, if the op processes each of its indices independently.
Legal<unsigned> findRowFactor(mlir::Operation *op,
                              const tp::DimensionRule &rule,
                              const tp::DimensionRule::TensorFactors &tensor,
                              unsigned dim);

/// Returns the factor of `rule` that sharding along `dim` of `tensor` would
/// split, if the op reduces its indices: the results on equal shards, combined
/// over the ranks by the reduction of the factor, are those of all rows.
/// nullopt if they are not.
std::optional<unsigned>
findReducedFactor(mlir::Operation *op, const tp::DimensionRule &rule,
                  const tp::DimensionRule::TensorFactors &tensor, unsigned dim);

/// Returns the dim of a tensor whose major factor is `factor`; nullopt if there
/// is none.
std::optional<unsigned>
findRowDim(const tp::DimensionRule::TensorFactors &tensor, unsigned factor);

/// Returns true if the op has `factor` at `dim` for every operand that is
/// `value`: an op may use a value twice, once by rows and once as a whole.
bool hasRowsEverywhere(mlir::Operation *op, const tp::DimensionRule &rule,
                       mlir::Value value, unsigned dim, unsigned factor);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTS_ROWRULES_H
