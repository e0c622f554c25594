//===- EmbeddedVocabularies.h - the files in vocabularies/ ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_EMBEDDEDVOCABULARIES_H
#define COMMUTE_LIB_VOCABULARY_EMBEDDEDVOCABULARIES_H

#include "commute/Support/EmbeddedFile.h"

namespace commute::vocabulary {

/// Returns the built-in vocabularies of other systems, the files in
/// lib/Vocabulary/vocabularies.
llvm::ArrayRef<EmbeddedFile> getEmbeddedVocabularies();

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_EMBEDDEDVOCABULARIES_H
