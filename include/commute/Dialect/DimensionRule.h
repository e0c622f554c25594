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
  /// The extent is part of what the op means, such as the size of a group or a
  /// number of pieces: it stays when the program is made smaller.
  bool isFixed = false;
};

/// For every dim of every operand and result, the factors it is made of, from
/// major to minor: one for a plain dim, several for dims merged by a reshape,
/// none for a dim of size 1 that is repeated or new. In the manner of Shardy's
/// sharding rules.
///
/// Printed as `([i, k], [k, j]) -> ([i, j]) {i=8, j=4, k=2} reduction={k:
/// sum}`; the factors of a dim are joined by dots.
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
  /// A whole factor whose extent is part of the op's meaning.
  unsigned addFixed(int64_t size) {
    unsigned factor = addWhole(size);
    rule.factors[factor].isFixed = true;
    return factor;
  }
  /// A dim of `size` elements that counts in units: a fixed number of them and
  /// the shared factor `unit`, of `unitSize`. Maps both to the dim of an
  /// operand or result. A symbolic size is whole, without a unit.
  void mapOperandUnits(unsigned operand, unsigned dim, unsigned unit);
  void mapResultUnits(unsigned result, unsigned dim, unsigned unit);
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
  void mapUnits(DimensionRule::DimFactors &dim, int64_t size, unsigned unit);

  mlir::Operation *op;
  DimensionRule rule;
};

/// Greatest common divisor of sizes and positions along a dim, as the extent of
/// a unit; kDynamic when one is symbolic.
int64_t getUnitSize(llvm::ArrayRef<int64_t> values);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_DIMENSIONRULE_H
