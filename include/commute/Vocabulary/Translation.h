//===- Translation.h - import and export of PyTorch graphs ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_TRANSLATION_H
#define COMMUTE_VOCABULARY_TRANSLATION_H

#include "commute/Archive/Program.h"
#include "commute/Vocabulary/DistributedContext.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Error.h"

namespace commute::vocabulary {

/// A snapshot of a named op and its inner ops, taken on import. The exporter
/// compares it with the op to decide whether the node can be kept with at most
/// renamed operands.
struct RootRecord {
  /// Name of the op's first result.
  llvm::StringRef name;
  uint64_t fingerprint = 0;
  /// Graph names of the op's leaves (the values it uses), in order.
  llvm::SmallVector<llvm::StringRef, 4> leafNames;
};
/// The named ops that one node was imported as.
struct NodeRecord {
  llvm::SmallVector<RootRecord, 1> roots;
};

/// A program imported as a tp module.
struct ImportedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Indexed by node.
  std::vector<NodeRecord> records;
};

/// Returns the name of a value in the PyTorch graph, or an empty string if a
/// pass created the value or it is internal to the expansion of a node.
llvm::StringRef getGraphName(mlir::Value value);

/// The nodes of a graph that passes have edited, by the names of their results.
/// It is read for comparison alone: what was read as an opaque call is one
/// again, and nodes that passes added are as these made them.
struct EditedNodes {
  llvm::DenseSet<llvm::StringRef> added, opaque;
};

/// Imports a program's graph as a module with one function, `main`. Nodes that
/// the vocabulary does not know become tp.call, and so do nodes that touch
/// memory that the graph changes in place: passes would move them. Errors name
/// the program's origin and the node.
llvm::Expected<ImportedProgram>
importProgram(const archive::Program &program, const Vocabulary &vocabulary,
              const DistributedContext &distributed, mlir::MLIRContext *context,
              const EditedNodes &edited = {});

/// Returns the edits that turn `program` into `module`, which was imported from
/// it. Nodes whose ops were not rewritten are kept as they are in the file,
/// with operands renamed where necessary; new ops are written as nodes using
/// the vocabulary. `program` owns the strings of the result.
llvm::Expected<archive::ProgramEdits>
exportProgram(mlir::ModuleOp module, const ImportedProgram &imported,
              archive::Program &program, const Vocabulary &vocabulary);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_TRANSLATION_H
