//===- RecognizedValues.h - what the reference computes, too *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_RECOGNIZEDVALUES_H
#define COMMUTE_LIB_REFINEMENT_RECOGNIZEDVALUES_H

#include "KnownElements.h"
#include "RankValues.h"

namespace commute::refinement {

/// Recognizes what ranks hold by single elements. An element is a random number
/// of the field, so one that the reference computes anywhere, also within a
/// fused op, is the same number. This accounts for values that are distributed
/// in ways that no relation states: packed, padded, or a block of a block.
class RecognizedValues {
public:
  enum class Kind {
    Unknown,
    /// All elements are elements of the reference, in whatever order; or they
    /// are once the members along axes have summed them.
    Elements,
    /// The mean over the members along axes is a value of the reference. So is
    /// that of summands that are too large by the number of members.
    Mean,
    /// A value of the reference in a relation that can be stated, or a block of
    /// one.
    Related,
    /// The members along axes add up to a value of the reference.
    Sum,
  };
  /// A block of a tensor of the reference.
  using Block = KnownElements::Block;
  struct Recognition {
    Kind kind = Kind::Unknown;
    std::optional<Block> block = std::nullopt;
    /// The axes of Sum and Mean, and of Elements that are sums.
    std::vector<std::string> axes = {};

    /// False where the order or the scale of elements may be wrong.
    bool isCertain() const { return kind >= Kind::Related; }
  };

  /// All values of the reference have been added to `relations`.
  RecognizedValues(ValueRelations &relations, const RankValues &values);

  /// What the reference computes.
  const KnownElements &getKnown() const { return known; }
  /// Returns what a node is on the rank of this index.
  const Recognition &get(const RankValues::Node &node, size_t rank);
  /// Returns the values of the reference that the elements of a node come from.
  /// Of values with equal elements, only the first is returned.
  std::vector<size_t> getOwners(const RankValues::Node &node, size_t rank);
  /// True if ranks hold blocks of one value, but not each its own, nor all the
  /// same.
  bool isMisplaced(const RankValues::Node &node);
  /// A value of the reference times a fraction, of which one number is the size
  /// of a group.
  struct Multiple {
    int64_t numerator, denominator;
    size_t owner;
  };
  /// Finds what a node is but for a factor, as the gradients of a rank's own
  /// part of a batch are; `inOrder`: as a block of it.
  std::optional<Multiple> findMultiple(const RankValues::Node &node,
                                       size_t rank, bool inOrder);
  /// True for a value of the reference in a relation that can be stated, and
  /// for its summands.
  bool isDistributed(const RankValues::Node &node, size_t rank) {
    return values.getRelation(node) || get(node, rank).kind == Kind::Sum;
  }
  /// True for summands of a value of the reference.
  bool isPartial(const RankValues::Node &node) const {
    const std::optional<FoundRelation> &relation = values.getRelation(node);
    return relation && relation->relation.isPartial();
  }
  /// True for blocks that are too large or too small by the size of a group.
  bool isMultiple(const RankValues::Node &node, size_t rank) {
    return get(node, rank).kind == Kind::Mean ||
           findMultiple(node, rank, /*inOrder=*/true);
  }
  /// True if a tensor, as a rank would hold it, is a block of the reference.
  bool isBlock(const FieldValue &content) const {
    return known.findBlock(content, std::nullopt).has_value();
  }
  /// True if what a node is on a rank depends on inputs of the reference.
  bool dependsOnInputs(const RankValues::Node &node, size_t rank);
  /// True if ranks hold a value of the reference, in any relation.
  bool isHeld(size_t value);
  /// True if the elements of a tensor are among those of a value of the
  /// reference; `scaled`: or a multiple of them by the size of a group.
  bool areElementsOf(const FieldValue &content, size_t value, bool scaled);

private:
  bool findMisplaced(const RankValues::Node &node);
  /// Returns the sum or mean that makes a summand recognizable.
  FieldValue combine(const RankValues::Node &node, size_t rank,
                     const Recognition &recognition);

  ValueRelations &relations;
  const RankValues &values;
  /// The tensors that the reference computes.
  KnownElements known;
  std::optional<llvm::DenseSet<size_t>> held;
  llvm::DenseMap<const RankValues::Node *, bool> misplaced;
  llvm::DenseMap<size_t, llvm::DenseSet<uint64_t>> elementsOf;
  llvm::DenseMap<std::pair<const RankValues::Node *, size_t>, Recognition>
      recognitions;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_RECOGNIZEDVALUES_H
