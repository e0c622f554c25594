//===- LiveValues.h - values that nodes gave when traced --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVEVALUES_H
#define COMMUTE_PYTHON_BINDINGS_LIVEVALUES_H

#include "AttributeNames.h"
#include "LiveArguments.h"

namespace commute::python {

/// States what is known of values: the metadata of tensors, and numbers.
class ValueReader {
public:
  ValueReader(const NodeFacts &facts, archive::Program &program)
      : facts(facts), program(program), graph(program.graph),
        strings(program.strings) {}

  /// Returns whether a value is a strided tensor of a known type; nullopt after
  /// an error.
  std::optional<bool> isPlainTensor(PyObject *value);
  /// Names a value, and states what is known of it.
  llvm::LogicalResult define(PyObject *name, PyObject *value,
                             archive::Argument &result);

private:
  llvm::LogicalResult readSize(PyObject *number, archive::SymInt &result);
  llvm::LogicalResult readSymbolicSize(PyObject *number,
                                       archive::SymInt &result);
  llvm::LogicalResult readSizes(PyObject *sizes,
                                llvm::SmallVectorImpl<archive::SymInt> &result);
  llvm::LogicalResult readTensor(PyObject *tensor, archive::TensorMeta &result);
  llvm::LogicalResult readDevice(PyObject *tensor, archive::Device &result);

  const NodeFacts &facts;
  archive::Program &program;
  archive::Graph &graph;
  llvm::StringSaver &strings;
  const AttributeNames &names = AttributeNames::get();
  Object lastDevice;
  archive::Device lastReadDevice;
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVEVALUES_H
