//===- SimilarWord.cpp - what may have been meant ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/SimilarWord.h"

#include "llvm/ADT/Twine.h"

#include <algorithm>

std::string commute::describeSimilar(llvm::StringRef word,
                                     llvm::ArrayRef<llvm::StringRef> words,
                                     llvm::StringRef prefix) {
  llvm::StringRef best;
  unsigned bestDistance =
      std::min<size_t>(3, std::max<size_t>(1, word.size() / 2)) + 1;
  for (llvm::StringRef candidate : words) {
    unsigned distance = word.edit_distance(candidate);
    // "est" is short for "estimate".
    if (word.size() > 1 && candidate.starts_with(word))
      distance = 1;
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best.empty()
             ? ""
             : (" (did you mean '" + llvm::Twine(prefix) + best + "'?)").str();
}
