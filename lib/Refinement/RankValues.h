//===- RankValues.h - corresponding values of the ranks ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_RANKVALUES_H
#define COMMUTE_LIB_REFINEMENT_RANKVALUES_H

#include "JoinedRanks.h"
#include "ValueRelations.h"

#include <functional>

namespace commute::refinement {

/// The values of all ranks' programs. Values of the same name in the graphs
/// belong together; ranks may lack some.
class RankValues {
public:
  struct Node {
    std::string key;
    /// By index in the world; null for ranks without the value.
    llvm::SmallVector<mlir::Value> values;
    std::vector<FieldValue> contents;
    /// The nodes that it is computed from, by operand.
    llvm::SmallVector<const Node *, 4> operands;
    bool dependsOnInputs = false;
    mutable bool isKnown = false;
    mutable std::optional<FoundRelation> relation;

    mlir::Value getFirst() const;
    size_t getFirstRank() const;
    mlir::Operation *getOp() const { return getFirst().getDefiningOp(); }
    /// True if there are elements to compare.
    bool hasContent() const;
  };

  RankValues(const std::vector<JoinedRank> &ranks, ValueRelations &relations,
             const std::function<FieldValue(mlir::Value)> &getContent);

  const std::deque<Node> &getNodes() const { return nodes; }
  const Node *find(size_t rank, mlir::Value value) const {
    return nodeOf.lookup({rank, value});
  }
  /// Returns what the node is of the reference, if anything.
  const std::optional<FoundRelation> &getRelation(const Node &node) const;
  /// True for nodes that are something of the reference, or that depend on
  /// constants alone.
  bool isRelated(const Node &node) const;

private:
  void add(const std::vector<JoinedRank> &ranks, size_t index,
           const std::string &key, mlir::Value value,
           const std::function<FieldValue(mlir::Value)> &getContent);

  ValueRelations &relations;
  std::deque<Node> nodes;
  std::map<std::string, Node *> nodeOfKey;
  llvm::DenseMap<std::pair<size_t, mlir::Value>, Node *> nodeOf;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_RANKVALUES_H
