//===- MonotoneImages.h - values that are ordered like others ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_MONOTONEIMAGES_H
#define COMMUTE_EQUIVALENCE_MONOTONEIMAGES_H

#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace commute::equivalence {

/// The elements that are increasing functions of others: exponentials and their
/// products with positive numbers, sigmoids and the like. A row of images by
/// one function is ordered like the row of what they are images of, so the
/// largest elements of a softmax are where those of its operand are.
class MonotoneImages {
public:
  /// `element` is the image of `source` by an increasing function. Images with
  /// equal keys are by the same function.
  void note(uint64_t element, uint64_t source, uint64_t key, bool isPositive) {
    if (!isRecording)
      return;
    if (auto known = images.find(source); known != images.end()) {
      key = PrimeField::mix(known->second.key, key);
      source = known->second.source;
    }
    images.try_emplace(element, Image{source, key});
    if (isPositive)
      positive.insert(element);
  }
  /// Records that `result` is the product of two elements, or the quotient.
  void noteProduct(uint64_t a, uint64_t b, uint64_t result, bool isQuotient);
  /// Records that `sum` is the sum of elements.
  void noteSum(llvm::ArrayRef<uint64_t> elements, uint64_t sum);

  /// Returns what the elements of a row are images of, if they are by one
  /// function.
  std::optional<std::vector<uint64_t>>
  getSources(llvm::ArrayRef<uint64_t> row) const;

  /// Nothing is recorded while this is false: the order of elements matters
  /// only to programs that sort them.
  bool isRecording = false;

private:
  struct Image {
    uint64_t source, key;
  };
  llvm::DenseMap<uint64_t, Image> images;
  llvm::DenseSet<uint64_t> positive;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_MONOTONEIMAGES_H
