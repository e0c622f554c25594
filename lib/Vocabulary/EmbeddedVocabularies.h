//===- EmbeddedVocabularies.h - the files in vocabularies/ ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_EMBEDDEDVOCABULARIES_H
#define COMMUTE_LIB_VOCABULARY_EMBEDDEDVOCABULARIES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace commute::vocabulary {

struct EmbeddedVocabulary {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};

/// Returns the built-in vocabularies of other systems. CMake generates the
/// definition from the files in lib/Vocabulary/vocabularies.
llvm::ArrayRef<EmbeddedVocabulary> getEmbeddedVocabularies();

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_EMBEDDEDVOCABULARIES_H
