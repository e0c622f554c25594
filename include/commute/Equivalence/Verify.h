//===- Verify.h - do two programs compute the same? -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_VERIFY_H
#define COMMUTE_EQUIVALENCE_VERIFY_H

#include "commute/Equivalence/FieldAlgebra.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace commute::equivalence {

struct VerifyOptions {
  Precision precision = Precision::Algebraic;
  /// Makes programs small before they are evaluated.
  bool reducesSizes = true;
  /// Evaluates only what differs, and isomorphic regions once. What this does
  /// not show to be equal is evaluated whole.
  bool usesRegions = true;
  uint64_t seed = 1;
};

/// Where two programs differ.
struct Difference {
  /// One sentence: which values, on which rank, at which index.
  std::string message;
  /// Where the values are computed in the two programs: node and Python line.
  mlir::Location first;
  mlir::Location second;
};

struct VerifyResult {
  /// Empty when the programs are equivalent.
  std::vector<Difference> differences;
  std::vector<std::string> assumptions;
  int64_t numRanks = 0;
  double elementsBefore = 0;
  double elementsAfter = 0;
  /// Ops of both programs, and how many of them were evaluated; more than there
  /// are where regions did not suffice.
  size_t numOps = 0;
  size_t numEvaluatedOps = 0;
  /// Processor time for making the programs small, and for evaluating them.
  double secondsForSizes = 0;
  double secondsEvaluating = 0;

  bool isEquivalent() const { return differences.empty(); }
};

/// Compares two programs on all ranks: values by evaluation over a prime field,
/// and what that cannot see by static checks (layouts, types, the order of
/// opaque calls). The error says why they cannot be compared: inputs that do
/// not match, contradictory placements.
llvm::Expected<VerifyResult> verifyEquivalence(mlir::ModuleOp first,
                                               mlir::ModuleOp second,
                                               const VerifyOptions &options);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_VERIFY_H
