//===- MinimumCut.h - one of two choices everywhere, cheapest ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_SUPPORT_MINIMUMCUT_H
#define COMMUTE_SUPPORT_MINIMUMCUT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace commute {

/// Assigns each node to one of two sides, A or B, at the least total cost: a
/// node pays for the side it is on, and an edge pays when its first node is on
/// side A and its second on side B. This is a minimum s-t cut, solved exactly.
class MinimumCut {
public:
  using Node = uint32_t;
  using Cost = int64_t;
  /// The cost of a forbidden choice; far above any sum of real costs.
  static constexpr Cost forbidden = int64_t(1) << 60;

  Node addNode(Cost onA, Cost onB);
  /// Adds to the costs of a node.
  void addCost(Node node, Cost onA, Cost onB);
  void addEdge(Node fromA, Node toB, Cost cost);
  /// Keeps two nodes on one side.
  void tie(Node a, Node b) {
    addEdge(a, b, forbidden);
    addEdge(b, a, forbidden);
  }

  size_t getNumNodes() const { return nodes.size(); }

  struct Solution {
    Cost cost = 0;
    std::vector<bool> isOnA;
  };
  /// Of several cheapest solutions, the one with the fewest nodes on side A.
  Solution solve() const;
  /// The cost of an assignment.
  Cost getCost(const std::vector<bool> &isOnA) const;

private:
  struct NodeCosts {
    Cost onA;
    Cost onB;
  };
  struct Edge {
    Node from;
    Node to;
    Cost cost;
  };
  std::vector<NodeCosts> nodes;
  std::vector<Edge> edges;
};

} // namespace commute

#endif // COMMUTE_SUPPORT_MINIMUMCUT_H
