//===- DiscreteValues.h - values made of integers ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A round of integers need not compare all of two programs again: behind the
// last op that reads integers, the programs depend on them only by which
// elements are equal. That two values are equal is a fact about the programs if
// their elements are unknown floats, but may be chance if they are made of
// integers and truth values: the rows of a mask that a round draws are often
// all true. What both programs compute from two such values is then taken for
// the same, and is not evaluated. Another round, in which the values differ,
// may only end early if some round that went to the end kept them apart as
// well.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_DISCRETEVALUES_H
#define COMMUTE_LIB_EQUIVALENCE_DISCRETEVALUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <optional>
#include <vector>

namespace commute::equivalence {

/// The values of two programs that are integers, truth values, or floats made
/// of these alone, and which of them past rounds found to be equal.
class DiscreteValues {
public:
  DiscreteValues(mlir::func::FuncOp first, mlir::func::FuncOp second);

  /// Returns a number of a value of a program (0 or 1), the same for values
  /// that the round has found to be equal; nullopt if it has none yet.
  using Numbers =
      llvm::function_ref<std::optional<unsigned>(unsigned, mlir::Value)>;

  /// Records the numbers of a round that found all outputs to be equal.
  void note(Numbers numbers);

  /// Returns true if one of the rounds noted kept apart all values that this
  /// round keeps apart, of those that an op reads which is, in its program, at
  /// or behind the given position.
  bool wereKeptApart(std::array<unsigned, 2> positions, Numbers numbers) const;

private:
  struct DiscreteValue {
    unsigned program;
    mlir::Value value;
    unsigned lastReader;
  };
  void add(unsigned program, mlir::func::FuncOp function);

  std::vector<DiscreteValue> values;
  /// By round, the number of each value.
  std::vector<std::vector<std::optional<unsigned>>> rounds;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DISCRETEVALUES_H
