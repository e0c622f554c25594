//===- MonotoneImages.cpp - values that are ordered like others -----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/MonotoneImages.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute::equivalence;

void MonotoneImages::noteProduct(uint64_t a, uint64_t b, uint64_t result,
                                 bool isQuotient) {
  if (!isRecording || positive.empty() || !positive.contains(b))
    return;
  auto image = images.find(a);
  if (image == images.end())
    return;
  // An increasing function of the source, whatever the sign of `a` is.
  Image scaled = {image->second.source,
                  PrimeField::mix(b, image->second.key + isQuotient)};
  images.try_emplace(result, scaled);
  if (positive.contains(a))
    positive.insert(result);
}

void MonotoneImages::noteSum(llvm::ArrayRef<uint64_t> elements, uint64_t sum) {
  if (isRecording && !positive.empty() && !elements.empty() &&
      llvm::all_of(elements, [&](uint64_t element) {
        return positive.contains(element);
      }))
    positive.insert(sum);
}

std::optional<std::vector<uint64_t>>
MonotoneImages::getSources(llvm::ArrayRef<uint64_t> row) const {
  if (images.empty())
    return std::nullopt;
  std::vector<uint64_t> sources;
  std::optional<uint64_t> key;
  for (uint64_t element : row) {
    auto image = images.find(element);
    if (image == images.end() || (key && *key != image->second.key))
      return std::nullopt;
    key = image->second.key;
    sources.push_back(image->second.source);
  }
  return sources;
}
