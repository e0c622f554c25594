//===- Magnitudes.h - quotients by the largest magnitude --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_MAGNITUDES_H
#define COMMUTE_EQUIVALENCE_MAGNITUDES_H

#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <optional>

namespace commute::equivalence {

/// The maxima of magnitudes, and their products with numbers. A quantizer
/// divides elements by the largest of their magnitudes: the quotients are
/// between -1 and 1, whatever the elements are, so a bound beyond these changes
/// nothing.
class Magnitudes {
public:
  /// `factor` times the maximum, or, if `isInverse`, divided by it.
  struct Form {
    uint64_t maximum;
    uint64_t factor;
    bool isInverse;
  };

  bool isEmpty() const { return forms.empty(); }
  std::optional<Form> find(uint64_t element) const {
    auto known = forms.find(element);
    return known == forms.end() ? std::nullopt : std::optional(known->second);
  }
  /// Records the maximum of some magnitudes and other elements.
  void note(uint64_t maximum) { noteForm(maximum, {maximum, 1, false}); }
  void noteForm(uint64_t element, Form form) {
    forms.try_emplace(element, form);
  }

private:
  llvm::DenseMap<uint64_t, Form> forms;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_MAGNITUDES_H
