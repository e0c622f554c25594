//===- DimensionRule.h - how an op treats dimensions ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_DIMENSIONRULE_H
#define COMMUTE_DIALECT_DIMENSIONRULE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace commute::tp {

enum class ReductionKind : uint32_t;

/// An index that runs over dims of operands and results.
struct Factor {
  enum class Kind {
    /// Rows are independent: an op may run on a shard along this factor, and
    /// its results are the matching shards.
    Parallel,
    /// Combined: run on shards, an op gives partial results, which `reduction`
    /// combines to the whole.
    Reduction,
    /// The op needs all of it on one rank.
    Whole,
  };
  Kind kind = Kind::Parallel;
  /// Extent; ShapedType::kDynamic when it is symbolic.
  int64_t size = 0;
  /// For Kind::Reduction.
  std::optional<ReductionKind> reduction;
};

/// For every dim of every operand and result, the factors it is made of, from
/// major to minor: one for a plain dim, several for dims merged by a reshape,
/// none for a dim of size 1 that is repeated or new. In the manner of Shardy's
/// sharding rules.
///
/// Printed as `([i, k], [k, j]) -> ([i, j]) {i=8, j=4, k=2} reduction={k}`.
struct DimensionRule {
  using DimFactors = llvm::SmallVector<unsigned, 1>;
  using TensorFactors = llvm::SmallVector<DimFactors, 4>;

  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<TensorFactors, 4> operands;
  llvm::SmallVector<TensorFactors, 2> results;

  void print(llvm::raw_ostream &os) const;

  /// The factor that a shard along `dim` of a tensor would cut: the major one
  /// of the dim; nullopt for a dim without factors.
  static std::optional<unsigned> getMajorFactor(const TensorFactors &tensor,
                                                unsigned dim);
};

/// Builds the rule of one op. Operands and results start with dims that have
/// no factors.
class DimensionRuleBuilder {
public:
  explicit DimensionRuleBuilder(mlir::Operation *op);

  unsigned addFactor(Factor::Kind kind, int64_t size,
                     std::optional<ReductionKind> reduction = {});
  unsigned addParallel(int64_t size) {
    return addFactor(Factor::Kind::Parallel, size);
  }
  unsigned addWhole(int64_t size) {
    return addFactor(Factor::Kind::Whole, size);
  }
  /// Appends `factor`, as the next minor one, to a dim. Operands that are not
  /// tensors have no dims.
  void mapOperand(unsigned operand, unsigned dim, unsigned factor);
  void mapResult(unsigned result, unsigned dim, unsigned factor);

  /// One parallel factor for every dim of result 0, shared with the operands
  /// (all, or those given) that are broadcast to it: aligned at the last dim,
  /// dims of size 1 left without factor.
  void addPointwise(std::optional<llvm::ArrayRef<unsigned>> operands = {});

  DimensionRule build() && { return std::move(rule); }

private:
  mlir::Operation *op;
  DimensionRule rule;
};

} // namespace commute::tp

#endif // COMMUTE_DIALECT_DIMENSIONRULE_H
