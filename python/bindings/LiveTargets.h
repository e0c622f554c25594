//===- LiveTargets.h - what calls in live graphs call -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVETARGETS_H
#define COMMUTE_PYTHON_BINDINGS_LIVETARGETS_H

#include "LiveArguments.h"

namespace commute::python {

/// What is known of a call's target.
struct TargetInfo {
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef> argumentNames;
  std::optional<std::vector<llvm::StringRef>> writes;
  archive::Effects effects = archive::Effects::Unstated;
  /// The process group of a collective that takes none as an argument.
  llvm::StringRef impliedGroup;
};

/// Reads the targets of calls. Operators are described once in a process.
class TargetReader {
public:
  TargetReader(const NodeFacts &facts, bool isFunctionalGraph,
               llvm::StringSaver &strings)
      : facts(facts), isFunctionalGraph(isFunctionalGraph), strings(strings) {}

  /// Returns what is known of a node's target; null after an error. The result
  /// is valid until the next call.
  const TargetInfo *read(PyObject *node, PyObject *target);

private:
  llvm::LogicalResult describe(PyObject *description, llvm::StringSaver &saver,
                               TargetInfo &result);

  const NodeFacts &facts;
  bool isFunctionalGraph;
  llvm::StringSaver &strings;
  /// What was read last that is no operator.
  TargetInfo other;
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVETARGETS_H
