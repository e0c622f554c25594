//===- VocabularyRemarks.h - what vocabulary files do not match -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_VOCABULARYREMARKS_H
#define COMMUTE_LIB_VOCABULARY_VOCABULARYREMARKS_H

#include "commute/Vocabulary/Vocabulary.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringSet.h"

namespace commute::vocabulary {

/// Tells users where the operators that they describe do not match a graph. The
/// built-in vocabularies know that operators have other forms.
class VocabularyRemarks {
public:
  VocabularyRemarks(const Vocabulary &vocabulary, mlir::MLIRContext *context)
      : vocabulary(vocabulary), context(context) {}

  /// Notes that a node calls an operator of a vocabulary file.
  void noteCall(llvm::StringRef target) { called.insert(target); }
  /// Emits a remark that a call does not match its description.
  void remarkUndescribed(llvm::StringRef target, mlir::Location location,
                         const llvm::Twine &reason) const;
  /// Emits remarks about operators that no node calls.
  void remarkUnused() const;

private:
  const Vocabulary &vocabulary;
  mlir::MLIRContext *context;
  llvm::StringSet<> called;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_VOCABULARYREMARKS_H
