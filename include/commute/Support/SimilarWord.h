//===- SimilarWord.h - what may have been meant -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_SUPPORT_SIMILARWORD_H
#define COMMUTE_SUPPORT_SIMILARWORD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace commute {

/// Returns " (did you mean 'x'?)" for the most similar of some words, or an
/// empty string if none is similar. `prefix` is put before the word.
std::string describeSimilar(llvm::StringRef word,
                            llvm::ArrayRef<llvm::StringRef> words,
                            llvm::StringRef prefix = "");

} // namespace commute

#endif // COMMUTE_SUPPORT_SIMILARWORD_H
