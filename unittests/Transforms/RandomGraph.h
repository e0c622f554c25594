//===- RandomGraph.h - tensor-parallel programs at random -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_TRANSFORMS_RANDOMGRAPH_H
#define COMMUTE_UNITTESTS_TRANSFORMS_RANDOMGRAPH_H

#include <random>
#include <string>

namespace commute::test {

struct RandomGraphOptions {
  /// Ops beside the inputs, at most.
  unsigned maxOps = 24;
  /// All ops over one group and one shape, so that all of them may hang
  /// together.
  bool isOneRegion = false;
};

/// The text of a module of ops that work row by row, matrix products,
/// reductions, reshapes, markers, and collectives over several groups of four
/// ranks, with values read any number of times and some of them returned.
std::string makeRandomGraph(std::mt19937_64 &random,
                            const RandomGraphOptions &options = {});

} // namespace commute::test

#endif // COMMUTE_UNITTESTS_TRANSFORMS_RANDOMGRAPH_H
