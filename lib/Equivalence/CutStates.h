//===- CutStates.h - what rounds held where programs are cut ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Behind a closed cut, all that two programs depend on are the elements that
// are zero or another known number, and which of the unknown ones are equal:
// the state of the cut. If no op behind it reads integers, a round that has a
// state like that of a round that found the programs equal need not go on.
// Integers shape the state: rows that a mask sets to zero, rows of a table that
// are read twice. What holds for unknown elements holds for all numbers, so
// that a state is covered if it follows from earlier ones by making unknowns
// known, or equal.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_CUTSTATES_H
#define COMMUTE_LIB_EQUIVALENCE_CUTSTATES_H

#include "EqualityPattern.h"

#include <map>

namespace commute::equivalence {

/// The unknown and known elements, on all ranks, of the values that the
/// programs read behind a cut.
class CutState {
public:
  /// Adds a value. Integers and constants are left out: no op behind the cut
  /// reads the former, and the latter are the same in all rounds.
  void add(mlir::Value value, const EqualityPattern &pattern);

private:
  friend class CutStates;

  /// A value, whose elements are stored once for ranks that share a tensor.
  struct Part {
    mlir::Value value;
    llvm::SmallVector<unsigned> tensorOfRank;
    size_t numElements;

    bool operator==(const Part &) const = default;
  };

  std::vector<Part> parts;
  /// Unknowns have numbers from EqualityPattern::firstUnknown.
  std::vector<uint64_t> elements;
};

class CutStates {
public:
  /// Records the state at a point of a round that found the programs equal.
  void note(size_t point, CutState state);

  /// Returns true if some state noted at the point knows no element that this
  /// one does not know to be the same, and if any two elements that are not
  /// equal here were not equal in some state noted there. States in which
  /// other ranks have equal tensors are not compared.
  bool cover(size_t point, const CutState &state) const;

private:
  /// States that consist of the same parts.
  struct Known {
    std::vector<CutState::Part> parts;
    /// By state, its known elements; unknown ones are firstUnknown. No state is
    /// covered by another.
    std::vector<std::vector<uint64_t>> knowns;
    /// Equal numbers for elements that were equal in all states.
    std::vector<uint64_t> classes;
  };

  /// The states at a point that have the parts of this one, or null.
  const Known *find(size_t point, const CutState &state) const;

  std::map<size_t, std::vector<Known>> byPoint;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_CUTSTATES_H
