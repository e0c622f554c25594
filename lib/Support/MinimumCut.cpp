//===- MinimumCut.cpp - one of two choices everywhere, cheapest -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/MinimumCut.h"

#include "llvm/Support/ErrorHandling.h"

#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>

#include <algorithm>

// Boost throws through this where a program is built without exceptions. A user
// of this library may define it too.
namespace boost {
LLVM_ATTRIBUTE_WEAK void throw_exception(const std::exception &exception) {
  llvm::report_fatal_error(exception.what());
}
LLVM_ATTRIBUTE_WEAK void throw_exception(const std::exception &exception,
                                         const boost::source_location &) {
  llvm::report_fatal_error(exception.what());
}
} // namespace boost

using namespace commute;

MinimumCut::Node MinimumCut::addNode(Cost onA, Cost onB) {
  nodes.push_back({onA, onB});
  return nodes.size() - 1;
}

void MinimumCut::addCost(Node node, Cost onA, Cost onB) {
  assert(node < nodes.size() && "no such node");
  nodes[node].onA += onA;
  nodes[node].onB += onB;
}

void MinimumCut::addEdge(Node fromA, Node toB, Cost cost) {
  assert(fromA < nodes.size() && toB < nodes.size() && "no such node");
  if (fromA != toB && cost > 0)
    edges.push_back({fromA, toB, cost});
}

namespace {
struct EdgeRecord {
  MinimumCut::Cost capacity;
  MinimumCut::Cost residual;
  /// Position of the edge that goes back.
  uint32_t reverse;
};
using Graph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property,
                                       EdgeRecord, boost::no_property, uint32_t,
                                       uint32_t>;
using EdgeDescriptor = boost::graph_traits<Graph>::edge_descriptor;

/// The edge that goes back, for Boost.
struct ReverseMap {
  using key_type = EdgeDescriptor;
  using value_type = EdgeDescriptor;
  using reference = EdgeDescriptor;
  using category = boost::readable_property_map_tag;
  const std::vector<EdgeDescriptor> *reverse;
  friend EdgeDescriptor get(const ReverseMap &map, EdgeDescriptor edge) {
    return (*map.reverse)[edge.idx];
  }
};
} // namespace

MinimumCut::Solution MinimumCut::solve() const {
  Solution solution;
  solution.isOnA.resize(nodes.size());
  if (nodes.empty())
    return solution;
  // A node on side A is one that the source still reaches: its cost on A is
  // the edge to the sink that is cut then.
  uint32_t source = nodes.size(), sink = nodes.size() + 1;
  std::vector<Edge> all;
  all.reserve(2 * (edges.size() + nodes.size()));
  auto add = [&](uint32_t from, uint32_t to, Cost cost) {
    all.push_back({from, to, cost});
    all.push_back({to, from, 0});
  };
  // The cost that every solution pays.
  [[maybe_unused]] Cost paid = 0;
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    // Costs common to both sides do not affect the choice.
    auto [onA, onB] = nodes[node];
    Cost both = std::min(onA, onB);
    paid += both;
    if (onB > both)
      add(source, node, onB - both);
    if (onA > both)
      add(node, sink, onA - both);
  }
  for (const Edge &edge : edges)
    add(edge.from, edge.to, edge.cost);

  // Compressed rows need the edges in the order of their sources.
  std::vector<uint32_t> order(all.size()), position(all.size());
  std::vector<uint32_t> begin(nodes.size() + 3);
  for (const Edge &edge : all)
    ++begin[edge.from + 1];
  for (size_t node = 1; node < begin.size(); ++node)
    begin[node] += begin[node - 1];
  for (uint32_t index = 0; index < all.size(); ++index) {
    position[index] = begin[all[index].from]++;
    order[position[index]] = index;
  }
  std::vector<std::pair<uint32_t, uint32_t>> ends;
  std::vector<EdgeRecord> records;
  ends.reserve(all.size());
  records.reserve(all.size());
  for (uint32_t index : order) {
    ends.emplace_back(all[index].from, all[index].to);
    records.push_back({all[index].cost, 0, position[index ^ 1]});
  }
  Graph graph(boost::edges_are_sorted, ends.begin(), ends.end(),
              records.begin(), nodes.size() + 2);
  std::vector<EdgeDescriptor> descriptors(all.size()), reverse(all.size());
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge)
    descriptors[(*edge).idx] = *edge;
  for (uint32_t index = 0; index < records.size(); ++index)
    reverse[index] = descriptors[records[index].reverse];

  size_t numVertices = nodes.size() + 2;
  std::vector<EdgeDescriptor> predecessors(numVertices);
  std::vector<boost::default_color_type> colors(numVertices);
  std::vector<Cost> distances(numVertices);
  auto vertexIndex = boost::get(boost::vertex_index, graph);
  [[maybe_unused]] Cost flow = boost::boykov_kolmogorov_max_flow(
      graph, boost::get(&EdgeRecord::capacity, graph),
      boost::get(&EdgeRecord::residual, graph), ReverseMap{&reverse},
      boost::make_iterator_property_map(predecessors.begin(), vertexIndex),
      boost::make_iterator_property_map(colors.begin(), vertexIndex),
      boost::make_iterator_property_map(distances.begin(), vertexIndex),
      vertexIndex, source, sink);

  // The source's tree is what it reaches through edges with capacity left: the
  // smallest such side.
  for (uint32_t node = 0; node < nodes.size(); ++node)
    solution.isOnA[node] =
        colors[node] == boost::color_traits<boost::default_color_type>::black();
  solution.cost = getCost(solution.isOnA);
  assert(solution.cost == paid + flow && "the cut is not a minimum one");
  return solution;
}

MinimumCut::Cost MinimumCut::getCost(const std::vector<bool> &isOnA) const {
  Cost cost = 0;
  for (uint32_t node = 0; node < nodes.size(); ++node)
    cost += isOnA[node] ? nodes[node].onA : nodes[node].onB;
  for (const Edge &edge : edges)
    if (isOnA[edge.from] && !isOnA[edge.to])
      cost += edge.cost;
  return cost;
}
