//===- LiveOutputs.h - what the rest of a live graph reads ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The outputs of a program that is read from a live graph: what the graph's
// output node returns, in its order and nesting, and then the other values that
// nodes outside of the program read.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVEOUTPUTS_H
#define COMMUTE_PYTHON_BINDINGS_LIVEOUTPUTS_H

#include "AttributeNames.h"
#include "LiveArguments.h"
#include "LiveProgram.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace commute::python {

class OutputReader {
public:
  /// `values` has the arguments that name the values of nodes, and `inputs`
  /// the nodes whose values are the program's inputs.
  OutputReader(const NodeFacts &facts, ArgumentReader &arguments,
               LiveProgram &live,
               const llvm::DenseMap<PyObject *, archive::Argument> &values,
               const llvm::DenseSet<PyObject *> &inputs)
      : facts(facts), arguments(arguments), live(live), values(values),
        inputs(inputs) {}

  /// Adds the outputs to the program. `outputNode` is null if the graph has no
  /// output node, and `calls` are the nodes with values, in their order. Fails
  /// with Python's error indicator set.
  llvm::LogicalResult read(PyObject *outputNode,
                           llvm::ArrayRef<PyObject *> calls);

private:
  llvm::LogicalResult add(PyObject *node, archive::Argument output);
  /// Adds what the graph's output node returns. Appends its structure, in which
  /// "*" stands for each output: "[*, [*, *]]".
  llvm::LogicalResult addReturned(PyObject *value, std::string &structure);
  /// Adds the values that nodes outside of the program read, but for the
  /// graph's output node if that is given.
  llvm::LogicalResult addRead(PyObject *outputNode,
                              llvm::ArrayRef<PyObject *> calls);

  const NodeFacts &facts;
  ArgumentReader &arguments;
  LiveProgram &live;
  const llvm::DenseMap<PyObject *, archive::Argument> &values;
  const llvm::DenseSet<PyObject *> &inputs;
  const AttributeNames &names = AttributeNames::get();
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVEOUTPUTS_H
