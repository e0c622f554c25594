//===- IntegerProof.h - programs that are equal for all integers -*- C++ -*-==//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_INTEGERPROOF_H
#define COMMUTE_LIB_EQUIVALENCE_INTEGERPROOF_H

#include "ProgramComparison.h"

namespace commute::equivalence {

/// Returns a function that passes on the stages of a part of a proof, with the
/// part's name; null if nobody wants them.
std::function<void(llvm::StringRef, llvm::StringRef)>
nameStage(const VerifyOptions &options, llvm::StringRef name);

/// Decides whether two programs that are equal for the integers that were drawn
/// are equal for all integers.
class IntegerProof {
public:
  /// The programs have static sizes. `comparison` draws integers for them.
  IntegerProof(ProgramComparison &comparison, mlir::func::FuncOp first,
               mlir::func::FuncOp second,
               const analysis::InputPlacements &placements,
               const VerifyOptions &options, const ProofBudget &budget,
               VerifyResult &result)
      : comparison(comparison), first(first), second(second),
        placements(placements), options(options), budget(budget),
        result(result) {}

  /// Compares the programs with all that may be drawn. The error is that of the
  /// evaluation.
  llvm::Error run();

private:
  /// Compares the lifted programs in several manners. Returns true if they are
  /// equal.
  bool prove();
  /// How programs are lifted; see IntegerLifting.
  struct Manner {
    bool collapsesLate;
    bool opensOrders = false;
    bool followsRows = false;
  };
  /// What the lifting of both programs has in common.
  struct Sources {
    int64_t farthest;
    /// By program.
    llvm::DenseMap<mlir::Value, int64_t> periods[2];
  };
  Sources getSources();
  bool prove(const Sources &sources, Manner manner);
  /// Makes the result say what it rests on, if the proof failed and no draw has
  /// shown a difference.
  void judge();

  ProgramComparison &comparison;
  mlir::func::FuncOp first, second;
  const analysis::InputPlacements &placements;
  const VerifyOptions &options;
  const ProofBudget &budget;
  VerifyResult &result;

  bool isProven = false;
  /// Why the programs cannot be lifted, or what a proof would rest on.
  std::optional<std::string> drawn;
  /// Why the lifted programs are not known to be equal.
  std::optional<std::string> reason;
  /// Integers for which the programs differ, the differences, and the seed that
  /// shows them.
  struct Found {
    std::vector<FixedInteger> witness;
    std::vector<Difference> differences;
    uint64_t seed = 0;
  };
  std::optional<Found> found;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_INTEGERPROOF_H
