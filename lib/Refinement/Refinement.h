//===- Refinement.h - one comparison of ranks and reference -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_REFINEMENT_H
#define COMMUTE_LIB_REFINEMENT_REFINEMENT_H

#include "RecognizedValues.h"
#include "RelatedInputs.h"
#include "ValueRelations.h"

namespace commute::refinement {

/// The numbers at which sizes that depend on values are evaluated, by program
/// and symbol ("rank 0: u1").
using NumbersOfSizes = std::map<std::string, int64_t>;

/// The state of one comparison.
class Refinement {
public:
  Refinement(mlir::MLIRContext *context, const StatedRelations &stated,
             const RefineOptions &options, const NumbersOfSizes &sizeNumbers)
      : stated(stated), options(options), sizeNumbers(sizeNumbers),
        joinedOps(context), referenceOps(context) {}

  llvm::Error run(mlir::ModuleOp reference,
                  llvm::ArrayRef<mlir::ModuleOp> ranks);

  RefinementResult result;

  /// Returns true if a program determines sizes from values.
  bool hasSizesOfValues() const { return undecidedSize.has_value(); }
  /// Returns numbers such that each size that the ranks determine has that of
  /// the size which the reference determines alike; nullopt if one has none.
  std::optional<NumbersOfSizes> matchSizes(size_t numPrograms);

private:
  /// An output of the reference as it must be on the ranks.
  struct Output {
    std::string name;
    mlir::Value reference;
    /// By index in the world; null for ranks without it.
    llvm::SmallVector<mlir::Value> ofRanks;
    std::optional<Relation> relation;
    bool isRequired = false;
    /// The user states that the output may be sharded in any way.
    bool mayBeSharded = false;
    /// An order of the elements that nothing suggests must be stated.
    bool mustBeStated = false;
    /// Does not hold, whatever the proof says.
    bool isRefuted = false;

    /// Returns true if the relation is stated, or needs no statement.
    bool isMeant() const;
  };

  /// Copies a module with the sizes at capture.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  resolveModule(mlir::ModuleOp module, unsigned program, llvm::StringRef what,
                std::map<std::string, int64_t> &symbols);

  llvm::Error resolve(mlir::ModuleOp reference,
                      llvm::ArrayRef<mlir::ModuleOp> modules);
  llvm::Error collectMesh(mlir::ModuleOp reference,
                          llvm::ArrayRef<mlir::ModuleOp> modules);
  llvm::Error buildReference(mlir::ModuleOp reference);
  llvm::Error collectOutputs(const RelatedInputs &inputs);
  llvm::Expected<unsigned> findReferenceOutput(llvm::StringRef key);
  /// Evaluates both programs once, to look values up.
  llvm::Error evaluate(uint64_t seed);
  /// Says which op makes outputs wrong.
  llvm::Error explain();
  /// Finds the relations of outputs that are not stated.
  llvm::Error findOutputRelations();
  /// Adds what must be equal to the two programs.
  llvm::Error addPairs();
  /// Returns the finding that an output is sharded or rearranged, and nothing
  /// states that it may be.
  Finding makeUnstatedFinding(const Output &output) const;
  llvm::Error prove();
  /// Adds the premise of ranks that draw random numbers.
  void noteRandomNumbers();
  /// Returns true if a rank does not hold what it must of an output, for the
  /// inputs that were evaluated.
  bool isWrong(const Output &output) const;
  /// Returns why wrong outputs may be right: each is computed from random
  /// numbers that a rank draws for its part of a tensor, which may be those of
  /// one device. None if an output is wrong for another reason.
  std::optional<std::string> findUnprovenDraws();
  /// Returns why nothing is known of an output, if it rests on an opaque op or
  /// on a size that depends on values.
  std::optional<equivalence::Undecided> getCause(const Output &output) const;
  /// Returns why nothing is known of all refuted outputs; nullopt if one of
  /// them is known to be wrong.
  std::optional<equivalence::Undecided> findUndecided();
  void setNotProven(const equivalence::Undecided &undecided);
  /// Returns the error of an evaluation. If a program determines sizes from
  /// values, it is a note of a verdict that rests on these.
  llvm::Error dropErrorOfSizes(llvm::Error error);
  void findValueRelations();
  /// Finds a value of the reference whose elements a node has in another order.
  std::optional<FoundRelation> findRearranged(const RankValues::Node &node,
                                              RecognizedValues &recognized);
  /// Makes all values of the reference known to `relations`.
  void addReferenceValues();

  const StatedRelations &stated;
  const RefineOptions &options;
  const NumbersOfSizes &sizeNumbers;
  /// The first size of a program that depends on values, and what their numbers
  /// are counted by if none are stated.
  std::optional<equivalence::Undecided> undecidedSize;
  std::map<std::string, int64_t> numberOfSize;
  /// The first of them that is evaluated as a number.
  std::map<int64_t, std::string> sizeOfNumber;
  Mesh mesh;
  llvm::SmallVector<int64_t> world;
  mlir::OwningOpRef<mlir::ModuleOp> resolvedReference;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> resolvedRanks;
  mlir::func::FuncOp reference;
  std::vector<JoinedRank> ranks;
  /// All ranks in one program, and the reference with the same inputs.
  UniqueOps joinedOps, referenceOps;
  llvm::DenseMap<mlir::Value, mlir::Value> ofReference;
  std::vector<Output> outputs;
  /// The relations of the inputs.
  std::vector<Relation> inputRelations;
  /// Values that must be equal: what the reference has for a rank, and what the
  /// rank has.
  struct Pair {
    mlir::Value expected, actual;
    /// The index of the output.
    size_t output;
    int64_t rank;
  };
  std::vector<Pair> pairs;
  equivalence::VerifyOptions proofOptions;
  /// The seed for which the proof has found a difference.
  std::optional<uint64_t> seedOfDifferences;

  /// The evaluated copies, and their values by those of the programs above.
  mlir::OwningOpRef<mlir::ModuleOp> evaluatedReference, evaluatedRanks;
  llvm::DenseMap<mlir::Value, mlir::Value> evaluatedOf;
  std::unique_ptr<equivalence::SampledEvaluation> evaluation;
  std::unique_ptr<ValueRelations> relations;
  FieldValue getContent(mlir::Value value) const;
  /// Returns what the ranks hold of an output; null for those without it.
  std::vector<FieldValue> getContents(const Output &output) const;

  friend class Explanation;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_REFINEMENT_H
