//===- VocabularyFile.h - operators defined by files ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_VOCABULARYFILE_H
#define COMMUTE_LIB_VOCABULARY_VOCABULARYFILE_H

#include "commute/Support/Json.h"
#include "commute/Vocabulary/Vocabulary.h"

namespace commute::vocabulary {

/// Reads one vocabulary file into a vocabulary. Errors start with the origin.
class VocabularyFile {
public:
  VocabularyFile(Vocabulary &vocabulary, llvm::StringRef origin, bool isBuiltIn)
      : vocabulary(vocabulary), origin(origin), isBuiltIn(isBuiltIn) {}

  llvm::Error read(llvm::StringRef text);

private:
  llvm::Error makeError(const llvm::Twine &message) const;
  llvm::Error makeError(llvm::StringRef target,
                        const llvm::Twine &message) const;
  /// Returns an error for a key of an object that is not in `known`.
  llvm::Error checkKeys(JsonValue object, const llvm::Twine &owner,
                        llvm::ArrayRef<llvm::StringRef> known) const;
  /// Returns the decoded text of a string, or nullopt for anything else.
  std::optional<llvm::StringRef> getText(JsonValue value);
  llvm::Error readOperator(llvm::StringRef target, JsonValue entry,
                           OperatorVocabulary &own);
  /// Reads the entry of an operator that is like no known one.
  llvm::Error readEffects(llvm::StringRef target, JsonValue entry,
                          OperatorVocabulary &own);
  llvm::Error readArguments(llvm::StringRef target, JsonValue arguments,
                            OperatorAlias &alias);
  std::optional<OperatorAlias::Source> readSource(JsonValue value);
  /// Reads an object of values of arguments.
  llvm::Error
  readConstants(llvm::StringRef target, JsonValue constants,
                llvm::StringRef key,
                std::map<llvm::StringRef, archive::Argument> &values);
  llvm::Error readIgnored(llvm::StringRef target, JsonValue entry,
                          OperatorAlias &alias);
  llvm::Error readResults(llvm::StringRef target, JsonValue results,
                          OperatorAlias &alias);
  llvm::Error readNames(llvm::StringRef target, JsonValue entry,
                        llvm::StringRef key,
                        llvm::SmallVectorImpl<llvm::StringRef> &names);

  Vocabulary &vocabulary;
  llvm::StringRef origin;
  bool isBuiltIn;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_VOCABULARYFILE_H
