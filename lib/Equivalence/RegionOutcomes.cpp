//===- RegionOutcomes.cpp - what regions gave in other rounds ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionOutcomes.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

static constexpr uint64_t firstUnknown = EqualityPattern::firstUnknown;
static constexpr uint64_t unset = ~uint64_t(0);

void RegionOutcomes::clear() {
  byKey.clear();
  numBytes = 0;
}

void RegionOutcomes::note(const ContentHash &key, Known known) {
  constexpr size_t mostOutcomes = 8, mostBytes = size_t(256) << 20;
  std::vector<Known> &outcomes = byKey[key];
  if (outcomes.size() == mostOutcomes || numBytes > mostBytes)
    return;
  for (const SharedPattern &pattern :
       llvm::concat<const SharedPattern>(known.read, known.outcome.patterns))
    numBytes += pattern->getNumBytes();
  outcomes.push_back(std::move(known));
}

/// Finds which elements stand for the unknowns of a pattern. Returns false if
/// the pattern is not more general.
static bool match(const EqualityPattern &general,
                  const EqualityPattern &special,
                  std::vector<uint64_t> &elements) {
  // The key has the elements of these.
  if (general.isKept())
    return true;
  for (auto [generals, specials] :
       llvm::zip_equal(general.elements, special.elements))
    for (auto [a, b] : llvm::zip_equal(generals, specials)) {
      if (general.isKnown(a)) {
        if (a != b)
          return false;
        continue;
      }
      // Another known number would be an unknown in a value of another type.
      if (b != 0 && special.isKnown(b))
        return false;
      uint64_t &element = elements[a - firstUnknown];
      if (element == unset)
        element = b;
      else if (element != b)
        return false;
    }
  return true;
}

const RegionOutcome *
RegionOutcomes::find(const ContentHash &key, ArrayRef<SharedPattern> read,
                     std::vector<uint64_t> &elements) const {
  auto outcomes = byKey.find(key);
  if (outcomes == byKey.end())
    return nullptr;
  for (const Known &known : outcomes->second) {
    elements.assign(known.numUnknowns, unset);
    if (llvm::all_of(llvm::zip_equal(known.read, read), [&](auto pair) {
          auto &[general, special] = pair;
          return match(*general, *special, elements);
        }))
      return &known.outcome;
  }
  return nullptr;
}
