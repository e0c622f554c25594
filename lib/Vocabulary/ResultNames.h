//===- ResultNames.h - names of values of a new graph -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_RESULTNAMES_H
#define COMMUTE_LIB_VOCABULARY_RESULTNAMES_H

#include "commute/Archive/Program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace commute::vocabulary {

/// The names of the values of a graph that is written in place of another one.
class ResultNames {
public:
  /// Knows the names of the program's graph. Its inputs are defined already.
  explicit ResultNames(archive::Program &program);

  /// Records that the new graph defines a value of this name.
  void define(llvm::StringRef name) {
    taken.insert(name);
    defined.insert(name);
  }
  /// Returns true if the new graph defines a value of this name so far.
  bool isDefined(llvm::StringRef name) const { return defined.contains(name); }

  /// Returns `stated`, the name of the value in the program's graph, if the new
  /// graph may use it: an op that replaces a node keeps the node's name.
  /// Returns a name that begins with `base` and that no other value has
  /// otherwise.
  llvm::StringRef make(llvm::StringRef stated, llvm::StringRef base);

  /// Reserves the names that PyTorch's loader gives the lists among the results
  /// of new nodes.
  void reserveListNames() { hasLists = true; }
  /// Returns true if the loader may use this name for a list. It takes the
  /// first such name that is free, so no later value may have it.
  bool isNameOfList(llvm::StringRef name) const;

private:
  archive::Program &program;
  /// Names of the program's graph and new names; none is used twice.
  llvm::DenseSet<llvm::StringRef> taken;
  llvm::DenseSet<llvm::StringRef> defined;
  llvm::DenseMap<llvm::StringRef, unsigned> nextSuffix;
  bool hasLists = false;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_RESULTNAMES_H
