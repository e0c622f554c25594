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

#include <optional>
#include <string>
#include <vector>

namespace commute::equivalence {

struct VerifyOptions {
  Precision precision = Precision::Algebraic;
  /// Evaluates a few indices of each dim, where that proves the rest.
  bool reducesSizes = true;
  /// Evaluates only what differs, and isomorphic regions once. What this does
  /// not show to be equal is evaluated whole.
  bool usesRegions = true;
  uint64_t seed = 1;
  /// A proof that would exceed these ends with the verdict "not proven".
  double maxSeconds = 60;
  int64_t maxBytes = int64_t(4) << 30;
};

/// Where two programs differ.
struct Difference {
  /// One sentence: which values, on which rank, at which index.
  std::string message;
  /// Where the values are computed in the two programs: node and Python line.
  mlir::Location first;
  mlir::Location second;
};

/// How one extent was evaluated.
struct EvaluatedExtent {
  int64_t size;
  int64_t numIndices;
  /// Which clause of the theorem in docs/equivalence.md it rests on.
  std::string reason;
  /// Where it occurs first.
  mlir::Location location;
  unsigned dim;
};

struct VerifyResult {
  /// Empty when the programs are equivalent, or when that is not proven.
  std::vector<Difference> differences;
  /// Why the programs could be neither proven equal nor told apart.
  std::optional<std::string> notProven;
  std::vector<std::string> assumptions;
  /// What the verdict holds for, and what it rests on besides the field.
  std::vector<std::string> notes;
  std::vector<EvaluatedExtent> extents;
  int64_t numRanks = 0;
  /// On how many ranks the programs were evaluated: others were given the same
  /// inputs (RankClasses).
  int64_t numEvaluatedRanks = 0;
  /// How often the programs were evaluated, on other inputs.
  unsigned numRounds = 0;
  /// Ops of both programs, and how many of them were evaluated; more than there
  /// are where regions did not suffice.
  size_t numOps = 0;
  size_t numEvaluatedOps = 0;
  /// Processor time for choosing samples, and for evaluating.
  double secondsForSizes = 0;
  double secondsEvaluating = 0;

  bool isEquivalent() const { return differences.empty() && !notProven; }
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
