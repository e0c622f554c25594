//===- Logarithms.h - sums with logarithms ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_LOGARITHMS_H
#define COMMUTE_EQUIVALENCE_LOGARITHMS_H

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace commute::equivalence {

/// The elements that are sums with logarithms, so that
/// exp(x - log(s)) = exp(x) / s: the softmax that a gradient computes from a
/// log_softmax is the one that another program computes by division.
class Logarithms {
public:
  /// `rest` plus the logarithm of `factor`.
  struct Form {
    uint64_t rest, factor;
  };

  /// Returns the form of an element that has a logarithm among its summands.
  std::optional<Form> find(uint64_t element) const {
    auto known = forms.find(element);
    return known == forms.end() ? std::nullopt : std::optional(known->second);
  }
  /// Records that `element` is the logarithm of `number`.
  void note(uint64_t element, uint64_t number) {
    forms.try_emplace(element, Form{0, number});
  }
  /// Records that `result` is a + b, or a - b.
  void noteSum(uint64_t a, uint64_t b, bool subtracts, uint64_t result);

private:
  llvm::DenseMap<uint64_t, Form> forms;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_LOGARITHMS_H
