//===- FaultSearch.h - the op that makes outputs wrong ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_FAULTSEARCH_H
#define COMMUTE_LIB_REFINEMENT_FAULTSEARCH_H

#include "BatchParts.h"
#include "Padding.h"
#include "RankDataflow.h"
#include "RecognizedValues.h"

namespace commute::refinement {

/// Searches the op that makes outputs wrong.
///
/// A step is *cleared* if the reference computes its elements, or if something
/// that is computed from it is cleared: ranks compute in other orders than the
/// reference, and what leads to a right value is right. The first step that is
/// not cleared, on the way to all wrong outputs, is suspected.
///
/// The operands of a suspected step may be values of the reference, but not
/// those that belong here. The step is then compared with its counterpart in
/// the reference, operand by operand, back to where the two programs part.
class FaultSearch {
public:
  /// A step, and the value of the reference that should be there, if known.
  struct Fault {
    const Step *step;
    std::optional<size_t> expected = std::nullopt;
  };

  FaultSearch(ValueRelations &relations, RecognizedValues &recognized,
              const RankValues &values)
      : relations(relations), recognized(recognized),
        parts(relations, recognized, values) {}

  /// Finds the first suspected step on the way to all of these outputs, each
  /// given by its steps on the ranks. Null if none is on the way to all.
  const Step *findSuspect(llvm::ArrayRef<llvm::SmallVector<Step *>> outputs);
  /// What the last search suspected, in program order.
  llvm::ArrayRef<const Step *> getSuspects() const { return suspects; }
  /// The outputs of the last search.
  llvm::ArrayRef<const Step *> getOutputs() const { return wrong; }
  Padding &getPadding() { return padding; }
  /// The first suspect of the last search that is larger or smaller than the
  /// reference's by the size of a group.
  const Step *findFirstMultiple();
  /// The collective that sums, where each rank has its own part of a mean; of
  /// the last search. `suspect` is what it found.
  const Step *findOtherReduction(const Step &suspect);
  /// A step that would be right if all members summed an operand.
  struct Unreduced {
    const Step *step, *operand;
    std::vector<std::string> axes;
  };
  /// Tries to reduce the operands of all suspects of the last search.
  std::optional<Unreduced> findUnreduced();
  /// The first suspect of the last search that computes something of the
  /// elements that a step moves. Null if none does, or if ranks do not exchange
  /// them before: then the step itself says more.
  const Step *findReader(const Step &step);
  /// True if the reference computes the same function of the same operands,
  /// whatever a rank has of them and however they are scaled.
  bool isComputedAlike(const Step &step);
  /// Follows a step back to where it parts from its counterpart.
  Fault trace(const Step *step, size_t expected);

  /// Values of the reference that a step should be, best first.
  std::vector<size_t> findExpected(const Step &step);

private:
  bool isCleared(const Step *step);
  /// True for values of the reference, where they belong.
  bool isCertain(const Step *step);
  /// True for products and the like of operands that are certain: the order of
  /// elements is theirs, as with packed weights.
  bool keepsOrder(const Step &step);
  /// Decides by the users of a step that is not certain to be right.
  bool isClearedBy(const Step &step, llvm::ArrayRef<bool> areUsersCleared);
  /// True if a step is something of a value of the reference: distributed,
  /// summands, or at least elements of it.
  /// `scaled` allows for a factor that is the size of a group.
  bool isOf(const Step &step, mlir::Value reference, bool scaled = false);
  /// True for what a rank computes of its own part of a batch as the reference
  /// does of the batch.
  bool isOfOwnPart(const Step &step);
  /// The operand of the counterpart that belongs to each operand.
  llvm::SmallVector<unsigned, 4> getOrder(const Step &step,
                                          mlir::Operation *other);
  /// True if a right value other than a rearrangement is computed from a step.
  /// `right` are steps that are known to be.
  bool isUsedRightly(const Step *step, const Step *reader,
                     const llvm::DenseSet<const Step *> &right);

  ValueRelations &relations;
  RecognizedValues &recognized;
  BatchParts parts;
  Padding padding;
  llvm::DenseMap<const Step *, bool> cleared, placed;
  /// In program order.
  std::vector<const Step *> suspects;
  std::vector<const Step *> wrong;
};

/// True if two ops compute the same function, of operands of whatever sizes.
bool areOfOneKind(mlir::Operation *a, mlir::Operation *b);

/// True for ops that compute no new elements: those that rearrange elements,
/// that move them between ranks, or that wait for them.
bool onlyMoves(mlir::Operation *op);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_FAULTSEARCH_H
