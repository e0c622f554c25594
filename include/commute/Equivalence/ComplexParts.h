//===- ComplexParts.h - real and imaginary parts of elements ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_COMPLEXPARTS_H
#define COMMUTE_EQUIVALENCE_COMPLEXPARTS_H

#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/DenseMap.h"

#include <utility>

namespace commute::equivalence {

/// Complex numbers as field elements. Each prime is one above a multiple of
/// four, so the field has a root of -1, and x + iy is the element that this is
/// with that root for i: sums and products of complex numbers are those of the
/// field. An element does not determine x and y. They are recorded where it is
/// computed, and are unknown functions of an element of which nothing is known,
/// such as an input.
class ComplexParts {
public:
  /// Real and imaginary part.
  using Parts = std::pair<uint64_t, uint64_t>;

  /// Returns the element of a complex number, and records its parts.
  uint64_t join(Parts parts) {
    uint64_t element = PrimeField::add(
        parts.first, PrimeField::multiply(getRoot(), parts.second));
    note(element, parts);
    return element;
  }
  /// Returns the parts of a complex number.
  Parts get(uint64_t element);
  void note(uint64_t element, Parts parts) {
    known.try_emplace(element, parts);
  }

private:
  /// A root of -1.
  uint64_t getRoot();

  /// Zero as long as it is not computed.
  uint64_t root = 0;
  llvm::DenseMap<uint64_t, Parts> known;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_COMPLEXPARTS_H
