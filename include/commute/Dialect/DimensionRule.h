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

/// An index that iterates over dims of operands and results.
struct Factor {
  enum class Kind {
    /// Rows are independent: an op may run on a shard along this factor, and
    /// its results are the matching shards.
    Parallel,
    /// The factor is reduced: on shards, the op computes partial results, which
    /// `reduction` combines.
    Reduction,
    /// The op needs the whole factor on every rank.
    Whole,
  };
  Kind kind = Kind::Parallel;
  /// Extent, or ShapedType::kDynamic if it is symbolic.
  int64_t size = 0;
  /// For Kind::Reduction.
  std::optional<ReductionKind> reduction;
  /// The extent is part of the op's meaning, such as the size of a group or a
  /// number of pieces, and does not change when the program is made smaller.
  bool isFixed = false;
};

/// The factors of every dim of every operand and result, from major to minor:
/// one for a plain dim, several for dims merged by a reshape, and none for a
/// dim of size 1 that is repeated or new. Modelled after Shardy's sharding
/// rules.
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

  /// Returns the factor that sharding along `dim` would split, which is the
  /// major factor of the dim, or nullopt for a dim without factors.
  static std::optional<unsigned> getMajorFactor(const TensorFactors &tensor,
                                                unsigned dim);
};

/// Builds the rule of one op. Initially, the dims of operands and results have
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
  /// Adds a whole factor whose extent is part of the op's meaning.
  unsigned addFixed(int64_t size) {
    unsigned factor = addWhole(size);
    rule.factors[factor].isFixed = true;
    return factor;
  }
  /// Maps a dim of `size` elements to two factors: a fixed number of units, and
  /// the shared factor `unit` of extent `unitSize`. A dim of symbolic size is
  /// mapped to one whole factor instead.
  void mapOperandUnits(unsigned operand, unsigned dim, unsigned unit);
  void mapResultUnits(unsigned result, unsigned dim, unsigned unit);
  /// Appends `factor` to a dim as its new minor factor. Operands that are not
  /// tensors have no dims.
  void mapOperand(unsigned operand, unsigned dim, unsigned factor);
  void mapResult(unsigned result, unsigned dim, unsigned factor);

  /// Adds one parallel factor for every dim of result 0, and maps it to the
  /// operands (all, or those given) that are broadcast to the result. Dims are
  /// aligned at the last one, and operand dims of size 1 get no factor.
  void addPointwise(std::optional<llvm::ArrayRef<unsigned>> operands = {});

  DimensionRule build() && { return std::move(rule); }

private:
  void mapUnits(DimensionRule::DimFactors &dim, int64_t size, unsigned unit);

  mlir::Operation *op;
  DimensionRule rule;
};

/// Returns the greatest common divisor of sizes and positions along a dim,
/// which is the extent of a unit, or kDynamic if one of them is symbolic.
int64_t getUnitSize(llvm::ArrayRef<int64_t> values);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_DIMENSIONRULE_H
