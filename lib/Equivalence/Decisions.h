//===- Decisions.h - ops whose results have a few outcomes ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_DECISIONS_H
#define COMMUTE_LIB_EQUIVALENCE_DECISIONS_H

#include "commute/Dialect/TPDialect.h"

namespace commute::equivalence {

/// What a scalar function decides.
enum class Decision {
  None,
  /// How integers compare.
  Comparison,
  /// How floats compare, which may be made of integers.
  ComparisonOfFloats,
  Conjunction,
  Disjunction,
  /// Whether a result fits into a narrow integer.
  Arithmetic
};

Decision getDecision(tp::MapOp op);

inline bool isComparison(Decision decision) {
  return decision == Decision::Comparison ||
         decision == Decision::ComparisonOfFloats;
}

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DECISIONS_H
