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

#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/LockstepEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <string>

namespace commute::equivalence {

/// What the decisions of two programs about integers were in all rounds.
class DecisionCoverage {
public:
  /// Records the outcomes of a comparison of integers, or of a conjunction or
  /// disjunction of truth values, on all ranks. Ignores other ops.
  void note(mlir::Operation *op, llvm::ArrayRef<RankValues> operands,
            llvm::ArrayRef<RankValues> results);

  /// Records that both programs make a decision: these ops of the two compute
  /// the same function of values that were found to be equal.
  void noteShared(mlir::Operation *first, mlir::Operation *second) {
    shared.insert(first);
    shared.insert(second);
  }

  /// Returns a sentence about the first decision that only one of the programs
  /// makes and whose limit no round met: a comparison whose operand is computed
  /// from many integers, or two conditions that never held at once. Returns
  /// nullopt if there is none.
  std::optional<std::string> describeMissed(mlir::func::FuncOp first,
                                            mlir::func::FuncOp second) const;

private:
  /// Outcomes of a comparison of a with b, by the difference a - b; and the
  /// truth values of the operands and the result of a logical function.
  struct Outcomes {
    bool isBelow = false, isEqual = false, isAbove = false, isFar = false;
    bool isTrue[3] = {false, false, false};
    bool isFalse[3] = {false, false, false};
  };
  static void noteComparison(Outcomes &outcomes, const FieldTensor &a,
                             const FieldTensor &b);
  static void noteTruth(Outcomes &outcomes, unsigned index,
                        const FieldTensor &values);
  static bool hasMissed(tp::MapFunction function, const Outcomes &outcomes);

  llvm::DenseMap<mlir::Operation *, Outcomes> noted;
  llvm::DenseSet<mlir::Operation *> shared;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DECISIONCOVERAGE_H
