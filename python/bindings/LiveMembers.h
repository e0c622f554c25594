//===- LiveMembers.h - the nodes of a live program --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVEMEMBERS_H
#define COMMUTE_PYTHON_BINDINGS_LIVEMEMBERS_H

#include "LiveProgram.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace commute::python {

/// Tables of a live program that only code with LLVM can see.
struct LiveProgram::Members {
  /// All nodes but the graph's output node, which returns what others compute.
  llvm::DenseSet<PyObject *> nodes;
  /// The groups of collectives that take none as an argument.
  llvm::DenseSet<llvm::StringRef> impliedGroups;
  /// Indices of the definitions of each name. Filled where it is first needed.
  llvm::DenseMap<llvm::StringRef, llvm::SmallVector<size_t, 1>> byName;
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVEMEMBERS_H
