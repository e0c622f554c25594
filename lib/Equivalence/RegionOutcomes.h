//===- RegionOutcomes.h - what regions gave in other rounds -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Rounds that draw other integers at the same samples evaluate most regions
// with unknowns that are equal in the same places. What a region gives for
// unknown elements, it gives for all numbers: an outcome also holds where more
// elements are equal, or zero, than when it was found.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_REGIONOUTCOMES_H
#define COMMUTE_LIB_EQUIVALENCE_REGIONOUTCOMES_H

#include "EqualityPattern.h"
#include "OpNumbering.h"

#include <unordered_map>

namespace commute::equivalence {

using SharedPattern = std::shared_ptr<const EqualityPattern>;

/// The patterns of the exits of a region.
struct RegionOutcome {
  /// Unknowns of settled values that were read since the last closed cut have
  /// the numbers of their order of appearance, from EqualityPattern::
  /// firstUnknown; new unknowns follow.
  std::vector<SharedPattern> patterns;
  /// True if each new unknown is read by both programs.
  bool sharesNew = false;
  /// True if integers or truth values were read; see
  /// RegionMemory::takeReadIntegers.
  bool readsIntegers = false;
  /// Exits that are equal to earlier ones.
  std::vector<std::pair<unsigned, unsigned>> equalExits;
  /// Unknowns of the settled values, and the programs that read them.
  std::vector<std::pair<uint64_t, uint8_t>> readAgain;
};

struct ContentHashKey {
  size_t operator()(const ContentHash &hash) const { return hash[0]; }
};

/// The outcomes of regions that read no integers, of rounds at the same
/// samples, and the numbers by which these rounds tell regions apart.
class RegionOutcomes {
public:
  /// An outcome for the settled values that were read.
  struct Known {
    std::vector<SharedPattern> read;
    unsigned numUnknowns;
    RegionOutcome outcome;
  };

  /// Returns equal numbers for ops that compute the same function.
  unsigned getFunction(mlir::Operation *op) { return ops.getFunction(op); }
  /// Returns a number of the object at an address.
  unsigned describe(const void *what) {
    return describedBy.try_emplace(what, describedBy.size()).first->second;
  }

  /// Forgets all outcomes: other samples have been chosen.
  void clear();
  /// Adds an outcome of regions with this key.
  void note(const ContentHash &key, Known known);
  /// Returns an outcome that holds for these values, or null. `elements`
  /// becomes what its unknowns are here.
  const RegionOutcome *find(const ContentHash &key,
                            llvm::ArrayRef<SharedPattern> read,
                            std::vector<uint64_t> &elements) const;

private:
  OpNumbering ops;
  llvm::DenseMap<const void *, unsigned> describedBy;
  std::unordered_map<ContentHash, std::vector<Known>, ContentHashKey> byKey;
  size_t numBytes = 0;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_REGIONOUTCOMES_H
