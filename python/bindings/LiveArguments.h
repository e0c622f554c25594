//===- LiveArguments.h - arguments of Python calls --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The schema has tags for what operators take. Of what only Python takes, a
// tuple of different things is a dictionary with the keys "0", "1", ..., a
// slice one with "start", "stop" and "step", an ellipsis the string "...".
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVEARGUMENTS_H
#define COMMUTE_PYTHON_BINDINGS_LIVEARGUMENTS_H

#include "PythonObjects.h"

#include "commute/Archive/Program.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"

namespace commute::python {

/// What only PyTorch knows: the attributes of a NodeFacts (node_facts.py).
/// Functions that fail leave Python's error indicator set.
class NodeFacts {
public:
  explicit NodeFacts(PyObject *facts);
  /// Returns false if an attribute is missing.
  bool isComplete() const { return complete; }

  bool isNode(PyObject *value) const {
    return PyObject_TypeCheck(value,
                              reinterpret_cast<PyTypeObject *>(nodeType.get()));
  }
  bool isPlainTensorType(PyObject *value) const;

  Object nodeType;
  Object operatorType;
  Object plainTensorTypes;
  Object symInt, symBool, symFloat;
  Object dtype, memoryFormat, device;
  Object strided;
  Object scalarTypes;
  Object memoryFormats;
  Object getItem, setItem;
  Object describeOperator;
  Object describeCall;
  Object describeSize;
  Object getStorage;
  Object getFrame;

private:
  bool complete = true;
};

/// Returns the text of a Python string, copied into `strings`; nullopt after an
/// error.
std::optional<llvm::StringRef> getText(PyObject *string,
                                       llvm::StringSaver &strings);

/// Reads arguments as those of the export schema.
class ArgumentReader {
public:
  /// Gives the argument that names a node's value.
  using NameFunction =
      llvm::function_ref<llvm::LogicalResult(PyObject *, archive::Argument &)>;

  ArgumentReader(const NodeFacts &facts, llvm::StringSaver &strings,
                 NameFunction nameValue)
      : facts(facts), strings(strings), nameValue(nameValue) {}

  llvm::LogicalResult read(PyObject *value, archive::Argument &result);
  /// Reads what stands between brackets.
  llvm::LogicalResult readIndex(PyObject *value, archive::Argument &result);

private:
  llvm::LogicalResult readSequence(PyObject *values, archive::Argument &result);
  /// Reads an element of a dictionary.
  llvm::LogicalResult addElement(llvm::StringRef key, PyObject *value,
                                 archive::Argument &result);
  llvm::LogicalResult readDictionary(PyObject *parts,
                                     archive::Argument &result);
  llvm::LogicalResult readConstant(PyObject *value, archive::Argument &result);
  llvm::LogicalResult readNumber(PyObject *table, PyObject *key,
                                 archive::ArgumentTag tag,
                                 archive::Argument &result);
  /// Records what the schema has no tag for, which is only compared.
  llvm::LogicalResult readOther(PyObject *value, archive::Argument &result);

  const NodeFacts &facts;
  llvm::StringSaver &strings;
  NameFunction nameValue;
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVEARGUMENTS_H
