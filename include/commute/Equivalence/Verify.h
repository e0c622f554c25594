//===- Verify.h - do two programs compute the same? -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_VERIFY_H
#define COMMUTE_EQUIVALENCE_VERIFY_H

#include "commute/Equivalence/FieldAlgebra.h"
#include "commute/Equivalence/FixedIntegers.h"
#include "commute/Equivalence/IntegerUnion.h"
#include "commute/Equivalence/UnknownResults.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace commute::equivalence {

/// How far a proof has come.
struct ProofProgress {
  /// Processor time.
  double seconds = 0;
  /// The numbers of rounds that are done, and that are planned so far. A round
  /// may show that more are needed.
  unsigned numRounds = 0;
  unsigned numPlannedRounds = 0;
  bool isDone = false;
};

struct VerifyOptions {
  Precision precision = Precision::Algebraic;
  /// Evaluate only a few indices of each dim, where that proves the rest.
  bool reducesSizes = true;
  /// Evaluate only regions that differ, and isomorphic regions once. Programs
  /// that this does not show to be equal are evaluated whole.
  bool usesRegions = true;
  /// Evaluate what both programs compute alike. If false, such values are taken
  /// as unknown first, which suffices for most rewrites; programs that are not
  /// equal for all of them are evaluated as if this were true. A proof for all
  /// values does not see what only particular ones show: x / x is 1 unless x is
  /// known to be zero.
  bool evaluatesShared = true;
  /// Programs that are equal for all integers and orders that were drawn, but
  /// not known to be so for all others, are not proven.
  bool isStrict = false;
  /// Compare the operands of opaque operators that may have side effects. The
  /// programs of several ranks in one call them more often than a program of
  /// one rank.
  bool comparesOpaqueCalls = true;
  /// The integers that inputs may have, by input.
  std::map<unsigned, IntegerUnion> ranges = {};
  uint64_t seed = 1;
  /// A proof that would exceed these limits ends with "not proven".
  double maxSeconds = 60;
  int64_t maxBytes = getDefaultProofMemory();
  /// Called with each stage of a proof as text, by name, for those who debug a
  /// verdict; may be empty.
  std::function<void(llvm::StringRef stage, llvm::StringRef text)> dump = {};
  /// Called about once per second of processor time, and at the end; may be
  /// empty.
  std::function<void(const ProofProgress &)> onProgress = {};
};

/// A difference between two programs.
struct Difference {
  /// One sentence that names the values, the rank and the index.
  std::string message;
  /// The definitions of the values in the two programs: node and Python line.
  mlir::Location first;
  mlir::Location second;
  /// The index of the output that differs; none for other values.
  std::optional<unsigned> output = std::nullopt;
  /// Set if the difference rests on an opaque op, or a size that depends on
  /// values, so that it proves nothing.
  std::optional<Undecided> cause = std::nullopt;
  /// True for the first value in which the programs part, which only says where
  /// another difference begins.
  bool isPlace = false;
  /// True if only the layout in memory differs: the strides of an output, or an
  /// operand that has to be dense.
  bool isLayout = false;
};

enum class Verdict {
  Equivalent,
  /// The values are equal, but some are laid out in memory in another way.
  OtherLayout,
  Different,
  NotProven
};

/// How one extent was evaluated.
struct EvaluatedExtent {
  int64_t size;
  int64_t numIndices;
  /// The clause of the theorem in docs/equivalence.md that the size rests on.
  std::string reason;
  /// The first occurrence.
  mlir::Location location;
  unsigned dim;
};

/// The limits of a proof.
enum class Exceeded { Nothing, Time, Memory };

struct VerifyResult {
  /// Empty if the programs are equivalent or not proven equivalent.
  std::vector<Difference> differences;
  /// The integers for which the programs differ, if a proof for all integers
  /// found them.
  std::vector<FixedInteger> witness;
  /// All integers of the inputs for which the programs differ, if there are not
  /// too many: those of the witness, or those that were drawn.
  std::vector<FixedInteger> integersOfDifferences;
  /// The seed of the inputs on which differing programs were evaluated.
  std::optional<uint64_t> seedOfDifferences;
  /// The reason why the programs could be proven neither equal nor different.
  std::optional<std::string> notProven;
  /// The limit that the proof exceeded, if that is the reason.
  Exceeded exceeds = Exceeded::Nothing;
  /// If it is the memory, how much the proof would have had where it stopped.
  /// All of it may need more.
  int64_t neededBytes = 0;
  /// The op that this reason is, if it is one.
  std::optional<Undecided> undecided;
  /// What was drawn and not proven for all integers and orders, of programs
  /// that are equal for all that was drawn. None if the verdict rests on no
  /// draw.
  std::optional<std::string> drawn;
  /// Defaults that the verdict rests on, because nothing states otherwise.
  std::vector<std::string> assumptions;
  /// Placements of inputs that the verdict rests on, as stated by sidecars and
  /// options (InputPlacements::describeStatements).
  std::vector<std::string> premises;
  /// The scope of the verdict, and its premises besides the field.
  std::vector<std::string> notes;
  std::vector<EvaluatedExtent> extents;
  int64_t numRanks = 0;
  /// The number of ranks on which the programs were evaluated; the other ranks
  /// have the same inputs as one of these (RankClasses).
  int64_t numEvaluatedRanks = 0;
  /// The number of evaluations, each on other inputs.
  unsigned numRounds = 0;
  unsigned numPlannedRounds = 0;
  /// The number of ops in both programs, and the number of op evaluations,
  /// which is larger if regions did not suffice.
  size_t numOps = 0;
  size_t numEvaluatedOps = 0;
  /// Processor time of the choice of samples and of the evaluation.
  double secondsForSizes = 0;
  double secondsEvaluating = 0;

  /// Makes differences that prove nothing the reason why nothing is proven,
  /// unless there are others.
  void dropUndecided();

  bool isEquivalent() const { return differences.empty() && !notProven; }
  /// Returns true if nothing but layouts is known to differ.
  bool hasEqualValues() const;
  Verdict getVerdict() const;
};

/// Compares two programs on all ranks: values by evaluation over a prime field,
/// and layouts, types and the order of opaque calls by static checks. Returns
/// an error if the programs cannot be compared: if their inputs do not match,
/// or if placements are contradictory.
llvm::Expected<VerifyResult> verifyEquivalence(mlir::ModuleOp first,
                                               mlir::ModuleOp second,
                                               const VerifyOptions &options);

/// Compares the values that two programs of one rank return for equal inputs.
/// Sizes are numbers (`resolveSizes`). Folds the positions of both programs.
/// Does not check layouts, signatures and the order of opaque calls.
llvm::Expected<VerifyResult> compareValues(mlir::func::FuncOp first,
                                           mlir::func::FuncOp second,
                                           const VerifyOptions &options);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_VERIFY_H
