//===- SampledEvaluation.h - one evaluation of two programs -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_SAMPLEDEVALUATION_H
#define COMMUTE_EQUIVALENCE_SAMPLEDEVALUATION_H

#include "commute/Equivalence/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace commute::equivalence {

/// Evaluates two programs of one rank on the same random inputs, at samples
/// that are consistent between them, and keeps all their values, so that values
/// of one can be looked up in the other. The programs must outlive this object.
class SampledEvaluation {
public:
  /// Chooses the samples. Positions have been folded.
  SampledEvaluation(mlir::func::FuncOp first, mlir::func::FuncOp second,
                    const VerifyOptions &options, uint64_t seed);
  ~SampledEvaluation();

  /// Evaluates both programs. The error says why the budget does not suffice,
  /// or which op cannot be evaluated.
  llvm::Error run();

  /// Returns null for a value that was not evaluated.
  FieldValue get(mlir::Value value) const;
  /// Returns the tensors that an op is computed through, as the scores less
  /// their maximum of a softmax; empty for ops that cannot be evaluated again.
  std::vector<FieldValue> getSteps(mlir::Operation *op);
  /// Returns the results of an op on other operands; empty if it cannot be
  /// evaluated. `steps`, if not null, gets what they are computed through.
  std::vector<FieldValue> evaluate(mlir::Operation *op,
                                   llvm::ArrayRef<FieldValue> operands,
                                   std::vector<FieldValue> *steps = nullptr);
  /// Returns the results of an op that all members of a group run, on their
  /// operands, by member; empty if it cannot be evaluated.
  std::vector<std::vector<FieldValue>>
  evaluate(mlir::Operation *op, llvm::ArrayRef<int64_t> members,
           llvm::ArrayRef<FieldValue> operands);
  /// Returns an algebra for further operations on values.
  FieldAlgebra getAlgebra();
  /// Clears the reason why an operation of the algebra failed. Returns true if
  /// there was one.
  bool clearProblem();
  const ScalarContext &getScalars() const;
  /// Returns the results that only one of the programs computes.
  const UnknownResults &getUnknownResults() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_SAMPLEDEVALUATION_H
