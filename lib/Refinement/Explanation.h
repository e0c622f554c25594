//===- Explanation.h - where ranks differ from the reference ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_EXPLANATION_H
#define COMMUTE_LIB_REFINEMENT_EXPLANATION_H

#include "RankValues.h"
#include "Refinement.h"

namespace commute::refinement {

/// Finds the op from which on the ranks differ from the reference, and what it
/// computes instead.
class Explanation {
public:
  explicit Explanation(Refinement &refinement)
      : refinement(refinement), relations(*refinement.relations),
        values(refinement.ranks, relations, [&](mlir::Value value) {
          return refinement.getContent(value);
        }) {}

  /// Adds findings to the result.
  void run();

private:
  using Node = RankValues::Node;

  bool holds(const Refinement::Output &output) const;
  /// Explains an output that does not hold. Returns false if there is nothing
  /// to say of it.
  bool explainOutput(const Refinement::Output &output);
  /// Explains what one rank returns.
  bool explainOutputOf(const Refinement::Output &output, size_t rank);
  /// An output that is there, but not as it must be.
  bool explainRelation(const Refinement::Output &output, const Node &node,
                       size_t rank);
  void explainNode(const Node &node);
  /// Tries to explain a node by what one of its operands should be.
  bool tryOperands(const Node &node, Finding &finding);
  /// Returns the nodes that are not related to the reference, but computed from
  /// nodes that are, and from which this output is computed through unrelated
  /// ones. In program order.
  std::vector<const Node *> findOrigins(const Node &node);
  /// Returns the values of the reference whose blocks are concatenated in a
  /// node, as in packed weights; empty if it is not made of blocks.
  llvm::ArrayRef<size_t> getPacked(const Node &node);
  /// True for nodes that are something of the reference, or packed.
  bool isRelated(const Node &node) {
    return values.isRelated(node) || !getPacked(node).empty();
  }
  /// True for nodes that only rearrange related ones.
  bool isMoved(const Node &node);
  /// The related nodes that a node is a rearrangement of.
  std::vector<const Node *> getSources(const Node &node);

  /// Values of the reference that the node should be, best first.
  std::vector<size_t> findExpected(const Node &node);
  /// Each tries one explanation, and returns whether it is the right one.
  bool tryMultiple(const Node &node, Finding &finding);
  bool trySummands(const Node &node, Finding &finding);
  bool tryShardOfDim(const Node &node, Finding &finding);
  bool tryRepeatedSummand(const Node &node, size_t expected, Finding &finding);
  bool tryOtherBlocks(const Node &node, size_t expected, Finding &finding);
  bool tryOtherOperand(const Node &node, Finding &finding);

  std::string describeNode(const Node &node) const;
  std::string describeReference(size_t value) const;
  std::string describeRelation(const Relation &relation) const;
  FieldValue scale(const FieldValue &value, int64_t numerator,
                   int64_t denominator);
  /// The sizes of groups along axes and their products.
  std::vector<std::pair<int64_t, std::string>> getCounts() const;
  Finding makeFinding(const Node &node) const;
  void setOther(Finding &finding, size_t value) const;

  Refinement &refinement;
  ValueRelations &relations;
  RankValues values;
  std::set<const Node *> explained;
  llvm::DenseMap<const Node *, bool> moved;
  std::map<const Node *, std::vector<size_t>> packed;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_EXPLANATION_H
