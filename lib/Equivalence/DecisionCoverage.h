//===- DecisionCoverage.h - outcomes that drawn integers had ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Comparisons of integers are exact for the integers that are drawn. The draws
// bring every comparison of an input with a number to both sides of its limit,
// because the numbers are chosen for that. A count, a sum or an index of a
// maximum depends on many draws, and need not come near the number that it is
// compared with; nor need two conditions hold at once. These decisions are
// recorded, so that programs that differ in one of them are not called equal.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_DECISIONCOVERAGE_H
#define COMMUTE_LIB_EQUIVALENCE_DECISIONCOVERAGE_H

#include "DecisiveElements.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/LockstepEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <set>
#include <string>

namespace commute::equivalence {

/// What the decisions of two programs about integers were in all rounds.
class DecisionCoverage {
public:
  /// The cells of a value's dims, by dim: runs of indices that no op tells
  /// apart. Each index of a value without cells is one.
  using Cells = std::function<llvm::ArrayRef<const IndexSample *>(mlir::Value)>;
  explicit DecisionCoverage(Cells cells) : cells(std::move(cells)) {}

  /// Forgets the values of the round before.
  void beginRound() { counted.clear(); }
  /// Records the outcomes of a comparison of integers or of floats made of
  /// them, of a conjunction or disjunction of truth values, of a maximum or
  /// minimum of integers or truth values, or of arithmetic in narrow integers,
  /// on all ranks. Ignores other ops.
  void note(mlir::Operation *op, llvm::ArrayRef<RankValues> operands,
            llvm::ArrayRef<RankValues> results, const ScalarContext &scalars);

  /// Records that both programs make a decision: these ops of the two compute
  /// the same function of values that were found to be equal.
  void noteShared(mlir::Operation *first, mlir::Operation *second) {
    shared.insert(first);
    shared.insert(second);
  }

  /// Returns a sentence about the first decision that only one of the programs
  /// makes and whose limit no round met: a comparison whose operand is computed
  /// from many integers, two conditions that never held at once, or many
  /// elements one of which never decided alone. Returns nullopt if there is
  /// none.
  std::optional<std::string> describeMissed(mlir::func::FuncOp first,
                                            mlir::func::FuncOp second) const;
  /// Returns true if draws in which one element is unlike the others may show
  /// what other draws have missed.
  bool hasMissedElements(mlir::func::FuncOp first,
                         mlir::func::FuncOp second) const;
  /// Returns a sentence about the first sum, difference or product in narrow
  /// integers that only one of the programs computes and that fit into its type
  /// in all rounds. Returns nullopt if there is none.
  std::optional<std::string> describeUnwrapped(mlir::func::FuncOp first,
                                               mlir::func::FuncOp second) const;

private:
  /// Outcomes of a comparison of a with b, by the difference a - b; and the
  /// truth values of the operands and the result of a logical function.
  struct Outcomes {
    bool isBelow = false, isEqual = false, isAbove = false, isFar = false;
    bool isTrue[3] = {false, false, false};
    bool isFalse[3] = {false, false, false};
    /// Arithmetic did not fit into the type.
    bool isWrapped = false;
    /// Of floats: one of them is not known to be a number; else the differences
    /// that occurred, at most `maxDifferences` of them, and the least distance
    /// of two of them.
    bool isUnknown = false;
    std::set<double> differences;
    double step = 1;
    /// Of a maximum or minimum, or of a comparison of a count.
    DecisiveElements elements;
  };
  static constexpr size_t maxDifferences = 256;
  static void noteComparison(Outcomes &outcomes, const FieldTensor &a,
                             const FieldTensor &b);
  static void noteNumbers(Outcomes &outcomes, const FieldTensor &a,
                          const FieldTensor &b, const ScalarContext &scalars);
  static void noteArithmetic(Outcomes &outcomes, tp::MapFunction function,
                             const FieldTensor &a, const FieldTensor &b,
                             const FieldTensor &result);
  static void noteTruth(Outcomes &outcomes, unsigned index,
                        const FieldTensor &values);
  void noteExtreme(tp::ReduceOp op, llvm::ArrayRef<FieldValue> operands,
                   const ScalarContext &scalars);
  /// Records which elements decide a comparison of a count that a sum computes.
  void noteCounts(Outcomes &outcomes, tp::MapOp op, unsigned operand,
                  size_t rank, const FieldTensor &count,
                  const FieldTensor &limit);
  static bool hasMissedOutcomes(tp::MapOp op, const Outcomes &outcomes);
  static bool hasMissedNumbers(const tp::Comparison &comparison,
                               const Outcomes &outcomes);
  enum class Question { Decisions, Elements, Arithmetic };
  struct Missed {
    mlir::Operation *op;
    /// The program that alone computes it: "first" or "second".
    llvm::StringRef program;
  };
  /// Returns the first op whose outcomes were not all met and that only one of
  /// the programs computes: of arithmetic, of all other decisions, or of those
  /// of them in which elements decided nothing.
  std::optional<Missed> findMissed(mlir::func::FuncOp first,
                                   mlir::func::FuncOp second,
                                   Question question) const;

  Cells cells;
  llvm::DenseMap<mlir::Operation *, Outcomes> noted;
  llvm::DenseSet<mlir::Operation *> shared;
  /// The operands of sums of integers in this round, by rank.
  llvm::DenseMap<mlir::Operation *, RankValues> counted;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DECISIONCOVERAGE_H
