//===- OperatorAlias.h - operators defined by known operators ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_OPERATORALIAS_H
#define COMMUTE_VOCABULARY_OPERATORALIAS_H

#include "commute/Archive/Graph.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>

namespace commute::vocabulary {

/// An operator that is defined in terms of a known operator, by a vocabulary
/// file or built in. The owner of the alias owns its strings.
struct OperatorAlias {
  /// Which of this operator's arguments hold an argument of the known operator.
  struct Source {
    /// One name, or several if the known operator takes a list of tensors that
    /// this operator takes one by one.
    llvm::SmallVector<llvm::StringRef, 1> names;
    bool isList = false;
    /// The known operator takes one element of this operator's list.
    std::optional<size_t> element;
  };
  /// Where a result of the known operator is: one of the values that this
  /// operator returns, or an argument that it writes into.
  struct Result {
    size_t position = 0;
    llvm::StringRef mutated;
  };

  /// The known operator, such as "torch.ops.tensor_cast.rms_norm.default".
  llvm::StringRef sameAs;
  /// The name of the vocabulary that defines this operator.
  llvm::StringRef vocabulary;
  /// By the known operator's argument names. Arguments not listed have the same
  /// name in both operators.
  std::map<llvm::StringRef, Source> arguments;
  /// Arguments of the known operator that this operator lacks.
  std::map<llvm::StringRef, archive::Argument> constants;
  /// Arguments of this operator that do not affect its results. New calls pass
  /// the value of a call in the graph, or else the stated one, if any.
  llvm::SmallVector<llvm::StringRef, 1> ignored;
  std::map<llvm::StringRef, archive::Argument> ignoredValues;
  /// The arguments that this operator writes into, in the order of its schema.
  /// Those that no argument of the known operator maps to are only written.
  llvm::SmallVector<llvm::StringRef, 1> mutated;
  /// One for each result of the known operator; empty if both operators return
  /// the same results.
  llvm::SmallVector<Result, 1> results;
  /// This operator's arguments in the order of its schema, if known.
  llvm::SmallVector<llvm::StringRef, 4> signature;
  /// False for a collective whose result needs no wait, although that of the
  /// known operator does.
  bool needsWait = true;
  bool isBuiltIn = false;

  /// Returns this operator's name for an argument of the known operator; empty
  /// if it has no such argument.
  llvm::StringRef getOwnName(llvm::StringRef argument) const;
  /// Returns true if this operator states the argument `known` of the known
  /// operator.
  bool isKnown(llvm::StringRef known) const {
    return arguments.count(known) > 0;
  }
  /// Returns true if this operator only writes into the argument `own`.
  bool isOnlyWritten(llvm::StringRef own) const;
  /// Returns true if some argument of the known operator is read from `own`.
  bool isMapped(llvm::StringRef own) const;
};

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_OPERATORALIAS_H
