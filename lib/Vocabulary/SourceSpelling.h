//===- SourceSpelling.h - operators of rewritten nodes ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_SOURCESPELLING_H
#define COMMUTE_LIB_VOCABULARY_SOURCESPELLING_H

#include "commute/Archive/Graph.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace commute::vocabulary {

/// Finds the operators that rewritten ops are still calls of.
///
/// Some operators are read as several ops (log1p as a logarithm of a sum). If a
/// pass changes these ops, but only their operands and types, as those of a
/// region that runs on shards, then they are still what a reader makes of the
/// operator. They must be written as this operator: PyTorch computes it in
/// another way than the ops one by one, and rounds differently.
class SourceSpelling {
public:
  SourceSpelling(const archive::Graph &graph, const Vocabulary &vocabulary);

  using NamedValues = llvm::DenseMap<llvm::StringRef, mlir::Value>;
  /// Returns true if a reader makes `results` of a call of the node's operator
  /// with the node's arguments, in which `operands` replace the tensors. Values
  /// are those that replace the values of these names in the graph. `op` is one
  /// of the ops that define the results.
  bool isCall(const archive::Node &node, const NamedValues &operands,
              const NamedValues &results, mlir::Operation *op);

private:
  const archive::Graph &graph;
  const Vocabulary &vocabulary;
  llvm::DenseSet<llvm::StringRef> usedNames;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SOURCESPELLING_H
