//===- Vocabulary.h - PyTorch operators and what they mean ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A vocabulary reads nodes of a PyTorch graph as tp ops and writes tp ops as
// nodes. For each operator family, reader and writer stand side by side in
// lib/Vocabulary; passes see neither.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_VOCABULARY_H
#define COMMUTE_VOCABULARY_VOCABULARY_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace commute::vocabulary {

class NodeReader;
class NodeWriter;

/// Builds the tp ops that a node means. Failure says that this form of the
/// operator is not modelled: the node becomes a tp.call.
using ReadFunction = mlir::LogicalResult (*)(NodeReader &reader);
/// Writes nodes that compute an op. Failure is an error: it must have been
/// reported.
using WriteFunction = mlir::LogicalResult (*)(mlir::Operation *op,
                                              NodeWriter &writer);

/// Another spelling of an operator that the vocabulary knows, from a user's
/// vocabulary file.
struct OperatorAlias {
  /// The known operator ("torch.ops.tensor_cast.rms_norm.default").
  std::string sameAs;
  /// From the known operator's argument names to this operator's.
  std::map<std::string, std::string> arguments;

  /// What this operator calls an argument of the known one.
  llvm::StringRef getOwnName(llvm::StringRef argument) const {
    auto renamed = arguments.find(argument.str());
    return renamed == arguments.end() ? argument
                                      : llvm::StringRef(renamed->second);
  }
};

/// A parameter of a Python function, which callers give by place or by one of
/// several keywords.
struct Parameter {
  /// What readers call it: the name in the schema of the operator that the
  /// function is read as.
  llvm::StringRef name;
  /// Keywords beside `name`.
  llvm::SmallVector<llvm::StringRef, 2> keywords;
  /// Takes all further positional arguments: x.permute(0, 2, 1).
  bool takesRest = false;
  /// Is never given by place.
  bool isKeywordOnly = false;
};

/// What is known of one operator target.
struct OperatorEntry {
  ReadFunction read = nullptr;
  /// The parameters of a Python function, in order; empty for operators, whose
  /// arguments have the names of the schema.
  std::vector<Parameter> parameters;
  /// Is read only where all its tensors have one element type: what autocast
  /// does to a product is not modelled.
  bool needsOneElementType = false;
  /// Names of the arguments that have to be dense in memory; of a list, all
  /// tensors.
  std::vector<std::string> denseArguments;
  /// Names of the arguments that the operator writes into, beside those that
  /// its name says ("add_").
  std::vector<std::string> mutatedArguments;
  /// Its result may share memory with its first tensor argument.
  bool mayAlias = false;
};

class Vocabulary {
public:
  /// All vocabularies that are built in.
  Vocabulary();

  void add(llvm::StringRef target, ReadFunction read) {
    operators[target].read = read;
  }
  /// The same for several overloads or namespaces.
  void add(std::initializer_list<llvm::StringRef> targets, ReadFunction read) {
    for (llvm::StringRef target : targets)
      add(target, read);
  }
  void addView(std::initializer_list<llvm::StringRef> targets,
               ReadFunction read) {
    for (llvm::StringRef target : targets) {
      operators[target].read = read;
      operators[target].mayAlias = true;
    }
  }
  template <typename OpType>
  void addWriter(WriteFunction write) {
    writers[OpType::getOperationName()] = write;
  }
  /// The Python function `target` is the operator `sameAs`, which is known
  /// already. `parameters` names its parameters in order, separated by spaces;
  /// "self|input" is the operator's argument self, which Python calls input,
  /// "dims..." takes all further positional arguments, and those behind "*" are
  /// given by keyword only. A call with other arguments is not read.
  void addFunction(llvm::StringRef target, llvm::StringRef parameters,
                   llvm::StringRef sameAs);
  /// How an op is written in graphs of Python functions; the operators serve
  /// where there is no such writer.
  template <typename OpType>
  void addFunctionWriter(WriteFunction write) {
    functionWriters[OpType::getOperationName()] = write;
  }
  OperatorEntry &getOrAdd(llvm::StringRef target) { return operators[target]; }

  /// nullptr for an operator of which nothing is known.
  const OperatorEntry *find(llvm::StringRef target) const;
  const OperatorAlias *findAlias(llvm::StringRef target) const;
  WriteFunction findWriter(mlir::OperationName name) const;
  WriteFunction findFunctionWriter(mlir::OperationName name) const;
  /// The operators that there is a reader for, in order.
  std::vector<llvm::StringRef> getReadTargets() const;

  /// Adds the operators of a user's vocabulary file, whose content is `text`:
  ///
  ///   {"version": 1,
  ///    "operators": {
  ///      "torch.ops.mylib.rms_norm.default": {
  ///        "same_as": "torch.ops.tensor_cast.rms_norm.default",
  ///        "arguments": {"input": "x", "weight": "gamma", "epsilon": "eps"}}}}
  ///
  /// `arguments` maps the known operator's argument names to the names that
  /// the new one uses; those left out have the same name.
  llvm::Error addUserVocabulary(llvm::StringRef text, llvm::StringRef origin);

private:
  llvm::StringMap<OperatorEntry> operators;
  llvm::StringMap<OperatorAlias> aliases;
  llvm::StringMap<WriteFunction> writers;
  llvm::StringMap<WriteFunction> functionWriters;
};

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_VOCABULARY_H
