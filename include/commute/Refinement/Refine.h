//===- Refine.h - does a parallel model compute the model? ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REFINEMENT_REFINE_H
#define COMMUTE_REFINEMENT_REFINE_H

#include "commute/Equivalence/Verify.h"
#include "commute/Refinement/Relations.h"

namespace commute::refinement {

struct RefineOptions {
  equivalence::VerifyOptions proof;
  /// Find the relations of all values, not only of outputs.
  bool findsAllRelations = false;
};

/// A difference between what the ranks compute and the reference.
struct Finding {
  /// One sentence: which value, on which rank, is what instead.
  std::string message;
  /// What would mend it; may be empty.
  std::string fix;
  /// Where, in the rank's program.
  std::optional<mlir::Location> location;
  /// The corresponding place in the reference, or in the program of another
  /// rank.
  std::optional<mlir::Location> other;
  /// "reference" or "rank 3".
  std::string otherProgram;
};

/// One output of the reference, and where the ranks have it.
struct OutputRelation {
  std::string name;
  /// As in "outputs" of relations.json; empty if it is not there.
  std::string relation;
  bool isRequired = false;
  bool holds = false;
};

/// A value of the ranks' programs, and what it is of the reference.
struct ValueRelation {
  /// The value's node and Python line.
  mlir::Location location;
  /// The ranks that the relation is of, if the programs differ: "rank 1".
  std::string ranks;
  std::string relation;
  /// The value of the reference; null where there is none.
  std::optional<mlir::Location> reference;
};

struct RefinementResult {
  enum class Verdict { Refines, Differs, Deadlock, NotProven };
  Verdict verdict = Verdict::NotProven;
  std::string notProven;
  /// What was drawn, if `Refines` rests on it (VerifyResult::drawn).
  std::optional<std::string> drawn;
  /// The op that this reason is, if it is one.
  std::optional<equivalence::Undecided> undecided;
  std::vector<std::string> premises;
  std::vector<std::string> notes;
  std::vector<OutputRelation> outputs;
  std::vector<Finding> findings;
  std::vector<ValueRelation> values;
  int64_t numRanks = 0;
  size_t numOps = 0;
  size_t numEvaluatedOps = 0;
  unsigned numRounds = 0;
  double secondsJoining = 0;
  double secondsProving = 0;
  /// Of these: choosing the samples.
  double secondsForSizes = 0;
};

/// Compares what ranks compute with what one device computes. `ranks` is one
/// program for all ranks of its groups, or that of each rank. Returns an error
/// for programs and relations that do not fit together.
llvm::Expected<RefinementResult> refine(mlir::ModuleOp reference,
                                        llvm::ArrayRef<mlir::ModuleOp> ranks,
                                        const StatedRelations &relations,
                                        const RefineOptions &options);

} // namespace commute::refinement

#endif // COMMUTE_REFINEMENT_REFINE_H
