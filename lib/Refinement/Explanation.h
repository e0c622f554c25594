//===- Explanation.h - where ranks differ from the reference ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_EXPLANATION_H
#define COMMUTE_LIB_REFINEMENT_EXPLANATION_H

#include "Refinement.h"

namespace commute::refinement {

/// Finds the op from which on a program of the ranks differs from the
/// reference, and what it computes instead.
class Explanation {
public:
  explicit Explanation(Refinement &refinement) : refinement(refinement) {}

  /// Adds findings to the result.
  void run();

private:
  Refinement &refinement;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_EXPLANATION_H
