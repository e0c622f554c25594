//===- MinimumCutTest.cpp - the cut against exhaustive search -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/MinimumCut.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <random>

// A program without exceptions that uses Boost must define this. That the tests
// link shows that the library's own definition stands back.
namespace boost {
void throw_exception(const std::exception &) { std::abort(); }
} // namespace boost

using commute::MinimumCut;

TEST(MinimumCut, NothingCostsNothing) {
  MinimumCut::Solution solution = MinimumCut().solve();
  EXPECT_EQ(solution.cost, 0);
  EXPECT_TRUE(solution.isOnA.empty());
}

TEST(MinimumCut, NodesTakeTheirCheaperSide) {
  MinimumCut cut;
  cut.addNode(3, 5);
  cut.addNode(7, 2);
  // Side B where both cost the same.
  cut.addNode(4, 4);
  MinimumCut::Solution solution = cut.solve();
  EXPECT_EQ(solution.cost, 9);
  EXPECT_EQ(solution.isOnA, (std::vector<bool>{true, false, false}));
}

TEST(MinimumCut, AnEdgePaysInOneDirectionOnly) {
  MinimumCut cut;
  MinimumCut::Node a = cut.addNode(0, 10);
  MinimumCut::Node b = cut.addNode(10, 0);
  cut.addEdge(b, a, 100);
  EXPECT_EQ(cut.solve().cost, 0);
  cut.addEdge(a, b, 4);
  EXPECT_EQ(cut.solve().cost, 4);
  cut.addEdge(a, b, 7);
  EXPECT_EQ(cut.solve().cost, 10);
}

TEST(MinimumCut, TiedNodesStayTogether) {
  MinimumCut cut;
  MinimumCut::Node a = cut.addNode(0, 6);
  MinimumCut::Node b = cut.addNode(5, 0);
  cut.tie(a, b);
  MinimumCut::Solution solution = cut.solve();
  EXPECT_EQ(solution.cost, 5);
  EXPECT_TRUE(solution.isOnA[a]);
  EXPECT_TRUE(solution.isOnA[b]);
}

TEST(MinimumCut, ForbiddenSidesAreNotTaken) {
  MinimumCut cut;
  MinimumCut::Node a = cut.addNode(MinimumCut::forbidden, 1000);
  MinimumCut::Node b = cut.addNode(1, 2000);
  cut.addEdge(b, a, 500);
  MinimumCut::Solution solution = cut.solve();
  EXPECT_EQ(solution.cost, 1501);
  EXPECT_FALSE(solution.isOnA[a]);
  EXPECT_TRUE(solution.isOnA[b]);
}

/// All assignments of random problems, one after the other.
TEST(MinimumCut, IsAsCheapAsExhaustiveSearch) {
  std::mt19937 random(7);
  auto pick = [&](int64_t limit) { return int64_t(random() % limit); };
  for (int problem = 0; problem < 2000; ++problem) {
    struct Edge {
      unsigned from, to;
      int64_t cost;
    };
    unsigned numNodes = 1 + pick(9);
    std::vector<std::pair<int64_t, int64_t>> costs;
    std::vector<Edge> edges;
    MinimumCut cut;
    for (unsigned node = 0; node < numNodes; ++node) {
      costs.emplace_back(pick(20), pick(20));
      cut.addNode(costs.back().first, costs.back().second);
    }
    for (int64_t edge = pick(20); edge > 0; --edge) {
      edges.push_back({unsigned(pick(numNodes)), unsigned(pick(numNodes)),
                       pick(5) == 0 ? MinimumCut::forbidden : pick(15)});
      cut.addEdge(edges.back().from, edges.back().to, edges.back().cost);
    }
    auto getCost = [&](auto isOnA) {
      int64_t cost = 0;
      for (unsigned node = 0; node < numNodes; ++node)
        cost += isOnA(node) ? costs[node].first : costs[node].second;
      for (const Edge &edge : edges)
        if (isOnA(edge.from) && !isOnA(edge.to))
          cost += edge.cost;
      return cost;
    };
    int64_t best = MinimumCut::forbidden, fewest = numNodes;
    for (unsigned sides = 0; sides < 1u << numNodes; ++sides) {
      int64_t cost = getCost([&](unsigned node) { return sides >> node & 1; });
      int64_t count = __builtin_popcount(sides);
      if (cost < best || (cost == best && count < fewest))
        fewest = count;
      best = std::min(best, cost);
    }
    MinimumCut::Solution solution = cut.solve();
    EXPECT_EQ(solution.cost, best) << "problem " << problem;
    EXPECT_EQ(getCost([&](unsigned node) { return solution.isOnA[node]; }),
              solution.cost);
    EXPECT_EQ(std::count(solution.isOnA.begin(), solution.isOnA.end(), true),
              fewest);
  }
}
