//===- Logarithms.h - sums with logarithms and maxima -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_LOGARITHMS_H
#define COMMUTE_EQUIVALENCE_LOGARITHMS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <vector>

namespace commute::equivalence {

/// The elements that are sums with logarithms, so that
/// exp(x - log(s)) = exp(x) / s: the softmax that a gradient computes from a
/// log_softmax is the one that another program computes by division. A maximum
/// counts as the logarithm of a number of its own, its exponential, so that
/// exp(x - m) = exp(x) / exp(m): attention around a ring rescales its sums
/// whenever it meets a larger maximum.
class Logarithms {
public:
  /// `rest` plus the logarithm of `factor`.
  struct Form {
    uint64_t rest, factor;
  };

  /// A positive factor of an element, and its logarithm.
  struct Scale {
    uint64_t factor, logarithm;
  };

  /// Returns the form of an element that has a logarithm among its summands.
  std::optional<Form> find(uint64_t element) const {
    if (!mayHaveForm(element))
      return std::nullopt;
    auto known = forms.find(element);
    return known == forms.end() ? std::nullopt : std::optional(known->second);
  }
  /// Records that `element` is the logarithm of `number`.
  void note(uint64_t element, uint64_t number) {
    add(element, Form{0, number});
  }
  /// Records that `element` is the maximum of some others.
  void noteMaximum(uint64_t element);
  /// Records that `result` is a + b, or a - b.
  void noteSum(uint64_t a, uint64_t b, bool subtracts, uint64_t result);
  /// Records that the exponential of an element was taken that has no form. It
  /// gets none later, because equal elements have equal exponentials.
  void noteOpaque(uint64_t element) { opaque.insert(element); }
  /// While this is false, sums are not recorded.
  bool recordsSums = true;

  /// Returns the scale of a sum of exponentials that have a common factor:
  /// exp(x - m) + exp(y - m) is (exp(x) + exp(y)) / exp(m), so its logarithm is
  /// that of a sum which does not depend on the maximum m, minus m.
  std::optional<Scale> findScale(uint64_t element) const {
    if (scales.empty())
      return std::nullopt;
    auto known = scales.find(element);
    return known == scales.end() ? std::nullopt : std::optional(known->second);
  }
  void noteScale(uint64_t element, Scale scale) {
    if (recordsSums)
      scales.try_emplace(element, scale);
  }
  /// Records that `result` is the sum of `elements`.
  void noteScaledSum(llvm::ArrayRef<uint64_t> elements, uint64_t result);
  /// Records that `result` is the product of two elements.
  void noteScaledProduct(uint64_t a, uint64_t b, uint64_t result);
  /// Records that `result` is a multiple of an element.
  void noteMultiple(uint64_t element, uint64_t result) {
    if (std::optional<Scale> scale = findScale(element))
      noteScale(result, *scale);
  }
  /// Returns the logarithm of an element if it was computed before: equal
  /// elements have equal ones, whatever is known of them by then.
  uint64_t *findLogarithm(uint64_t element) {
    auto known = logarithms.find(element);
    return known == logarithms.end() ? nullptr : &known->second;
  }
  void noteLogarithm(uint64_t element, uint64_t result) {
    logarithms.try_emplace(element, result);
  }

private:
  void add(uint64_t element, Form form);
  /// Every sum is looked up, and hardly any has a form: few elements share a
  /// bit with one that does.
  bool mayHaveForm(uint64_t element) const {
    return !filter.empty() &&
           (filter[getWord(element)] >> element % 64 & 1) != 0;
  }
  size_t getWord(uint64_t element) const {
    return element / 64 & (filter.size() - 1);
  }

  /// By the last bits of an element; empty if there are no forms. The number of
  /// words is a power of two that grows with the number of forms.
  std::vector<uint64_t> filter;
  llvm::DenseSet<uint64_t> opaque;
  /// The last factor that was divided by: a row has one maximum.
  uint64_t divisor = 1, inverse = 1;
  llvm::DenseMap<uint64_t, Form> forms;
  llvm::DenseMap<uint64_t, Scale> scales;
  llvm::DenseMap<uint64_t, uint64_t> logarithms;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_LOGARITHMS_H
