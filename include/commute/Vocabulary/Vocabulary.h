//===- Vocabulary.h - PyTorch operators and their tp ops --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A vocabulary imports nodes of a PyTorch graph as tp ops and exports tp ops as
// nodes. The reader and the writer of an operator family are in the same file
// of lib/Vocabulary. Passes do not depend on either.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_VOCABULARY_H
#define COMMUTE_VOCABULARY_VOCABULARY_H

#include "commute/Vocabulary/OperatorAlias.h"

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/StringSaver.h"

#include <map>
#include <string>
#include <vector>

namespace commute::vocabulary {

class NodeReader;
class NodeWriter;

/// Builds the tp ops for a node. Fails if this form of the operator is not
/// modelled; the node then becomes a tp.call.
using ReadFunction = mlir::LogicalResult (*)(NodeReader &reader);
/// Writes the nodes that compute an op. A failure is an error, which the
/// function must have reported.
using WriteFunction = mlir::LogicalResult (*)(mlir::Operation *op,
                                              NodeWriter &writer);

/// A parameter of a Python function, which callers pass by position or by one
/// of several keywords.
struct Parameter {
  /// The name that readers use: the one in the schema of the operator that the
  /// function is read as.
  llvm::StringRef name;
  /// Accepted keywords in addition to `name`.
  llvm::SmallVector<llvm::StringRef, 2> keywords;
  /// Takes all further positional arguments, as in x.permute(0, 2, 1).
  bool takesRest = false;
  /// Cannot be passed by position.
  bool isKeywordOnly = false;
};

/// What the vocabulary knows about one operator.
struct OperatorEntry {
  ReadFunction read = nullptr;
  /// The parameters of a Python function, in order. Empty for operators, whose
  /// nodes name arguments as the schema does.
  std::vector<Parameter> parameters;
  /// If true, a node is read only if all its tensors have the same element
  /// type. Set for products, because the effect of autocast is not modelled.
  bool needsOneElementType = false;
  /// Names of the arguments that must be dense in memory. For a list argument,
  /// every tensor in the list must be dense.
  std::vector<std::string> denseArguments;
  /// Names of the arguments that the operator writes into, in addition to those
  /// implied by its name (such as "add_").
  std::vector<std::string> mutatedArguments;
  /// True if the result may alias the first tensor argument.
  bool mayAlias = false;
  /// True for a collective that takes its group as the argument `group_name`.
  /// An operator of another vocabulary that is defined as this one may state
  /// the dim, as `dim`, and that its result needs no wait.
  bool isCollective = false;
};

/// A set of operators that are defined in terms of known ones: that of a
/// serving engine, or of a user.
struct OperatorVocabulary {
  llvm::StringRef name;
  llvm::StringRef summary;
  bool isBuiltIn = false;
  /// True if PyTorch does not know the group names that its collectives use.
  bool hasOwnGroupNames = false;
  /// In the order of the file.
  std::vector<llvm::StringRef> targets;
  /// The content of the file.
  llvm::StringRef text;
};

/// The largest vocabulary file that is read, in bytes. A vocabulary has a few
/// kilobytes.
inline constexpr uint64_t largestVocabularyFile = 16 << 20;

/// Readers of PyTorch operators by name, and writers of tp ops by op.
class Vocabulary {
public:
  /// Creates a vocabulary with all built-in operators.
  Vocabulary();
  Vocabulary(const Vocabulary &) = delete;
  Vocabulary &operator=(const Vocabulary &) = delete;

  /// Adds the reader of an operator whose results are fresh memory.
  void add(llvm::StringRef target, ReadFunction read) {
    operators[target].read = read;
  }
  /// Adds one reader for several overloads or namespaces.
  void add(std::initializer_list<llvm::StringRef> targets, ReadFunction read) {
    for (llvm::StringRef target : targets)
      add(target, read);
  }
  /// The same for operators whose result may alias the first tensor argument.
  void addView(std::initializer_list<llvm::StringRef> targets,
               ReadFunction read) {
    for (llvm::StringRef target : targets) {
      operators[target].read = read;
      operators[target].mayAlias = true;
    }
  }
  /// Defines `target` as equivalent to `sameAs`, which must be known already,
  /// but for the names of arguments. Ops read from `target` are also written as
  /// `target`.
  void addAlias(llvm::StringRef target, llvm::StringRef sameAs,
                const std::map<std::string, std::string> &arguments);
  /// Sets the writer for an op.
  template <typename OpType>
  void addWriter(WriteFunction write) {
    writers[OpType::getOperationName()] = write;
  }
  /// Defines the Python function `target` as the operator `sameAs`, which must
  /// be known already. `parameters` lists the function's parameters in order,
  /// separated by spaces. "self|input" is the operator's argument `self`, which
  /// Python calls `input`; "dims..." takes all further positional arguments;
  /// parameters after "*" are keyword-only. Calls with other arguments are not
  /// read.
  void addFunction(llvm::StringRef target, llvm::StringRef parameters,
                   llvm::StringRef sameAs);
  /// Sets the writer for an op in graphs of Python functions. Ops without such
  /// a writer are exported as operators.
  template <typename OpType>
  void addFunctionWriter(WriteFunction write) {
    functionWriters[OpType::getOperationName()] = write;
  }
  /// Returns the entry of an operator, which is created if necessary.
  OperatorEntry &getOrAdd(llvm::StringRef target) { return operators[target]; }

  /// Returns nullptr for an unknown operator.
  const OperatorEntry *find(llvm::StringRef target) const;
  /// Returns nullptr for an operator that is not an alias.
  const OperatorAlias *findAlias(llvm::StringRef target) const;
  /// Returns the effects that a vocabulary file states of an operator that
  /// stays opaque ("none", "communication" or "random"); empty if none does.
  llvm::StringRef findEffects(llvm::StringRef target) const {
    return effects.lookup(target);
  }
  /// Both return nullptr for an op that has no such writer.
  WriteFunction findWriter(mlir::OperationName name) const;
  WriteFunction findFunctionWriter(mlir::OperationName name) const;
  /// Returns the operators that have a reader, sorted by name, without those of
  /// vocabulary files.
  std::vector<llvm::StringRef> getReadTargets() const;

  /// Adds the operators of a user's vocabulary file, whose content is `text`.
  /// See docs/vocabularies.md for the format.
  llvm::Error addUserVocabulary(llvm::StringRef text, llvm::StringRef origin);

  /// Returns the built-in vocabularies of other systems, then those of the
  /// user.
  llvm::ArrayRef<OperatorVocabulary> getVocabularies() const {
    return vocabularies;
  }
  /// Returns nullptr for an unknown name.
  const OperatorVocabulary *findVocabulary(llvm::StringRef name) const;
  /// Returns the operator of a vocabulary that is defined as `sameAs`, with its
  /// definition; an empty name if there is none.
  std::pair<llvm::StringRef, const OperatorAlias *>
  findAliasOf(llvm::StringRef vocabulary, llvm::StringRef sameAs) const;

private:
  friend class VocabularyFile;

  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver strings{allocator};
  std::vector<OperatorVocabulary> vocabularies;
  llvm::StringMap<OperatorEntry> operators;
  llvm::StringMap<OperatorAlias> aliases;
  llvm::StringMap<llvm::StringRef> effects;
  llvm::StringMap<WriteFunction> writers;
  llvm::StringMap<WriteFunction> functionWriters;
};

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_VOCABULARY_H
