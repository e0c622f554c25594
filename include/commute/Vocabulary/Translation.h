//===- Translation.h - PyTorch graphs to tp modules and back ----*- C++ -*-===//
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
#include "llvm/Support/Error.h"

namespace commute::vocabulary {

/// How a named op, with the inner ops it is made of, looked when it was read,
/// to tell on the way back whether more than its operands' names has changed.
struct RootRecord {
  /// Name of its first result.
  llvm::StringRef name;
  uint64_t fingerprint = 0;
  /// Graph names of the values it reads, in order.
  llvm::SmallVector<llvm::StringRef, 4> leafNames;
};
/// The named ops of one node.
struct NodeRecord {
  llvm::SmallVector<RootRecord, 1> roots;
};

/// A program as a tp module.
struct ImportedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// By node index.
  std::vector<NodeRecord> records;
};

/// The name that a value has in the PyTorch graph; empty for one made by a pass
/// or inside the expansion of a node.
llvm::StringRef getGraphName(mlir::Value value);

/// Reads a program's graph as a module with one function, `main`. Nodes that
/// the vocabulary does not know become tp.call. Errors name the program's
/// origin and the node.
llvm::Expected<ImportedProgram>
importProgram(const archive::Program &program, const Vocabulary &vocabulary,
              const DistributedContext &distributed,
              mlir::MLIRContext *context);

/// What changed between a program and the module that was read from it. Nodes
/// whose ops were not rewritten are kept as they stand in the file, with
/// renamed operands where those were; new ops are written in the vocabulary.
/// The strings of the result live in `program`.
llvm::Expected<archive::ProgramEdits>
exportProgram(mlir::ModuleOp module, const ImportedProgram &imported,
              archive::Program &program, const Vocabulary &vocabulary);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_TRANSLATION_H
