//===- RemedyTrial.h - a program with what would allow a rewrite -*- C++
//-*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A refusal may name a change of the program's statements or of the passes'
// options that would allow the rewrite. A trial makes this change to a copy of
// the program, so that its gain can be predicted.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_REMEDYTRIAL_H
#define COMMUTE_LIB_COMPILER_REMEDYTRIAL_H

#include "commute/Compiler/Explanation.h"

#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <set>

namespace commute::compiler {

/// Returns the opaque operators that could work row by row, and how often each
/// is called.
std::map<std::string, size_t> findOpaqueOperators(mlir::ModuleOp module);

/// Returns the remedy in words, as an option in addition to `passes`, and as a
/// vocabulary file.
TriedRemedy describe(const Remedy &remedy, mlir::ModuleOp module,
                     llvm::StringRef passes);

/// A program and the passes to run on it.
struct Trial {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string passes;
};
/// Returns a copy of `module` with all of the remedies. An operator that would
/// be described is assumed to work row by row, at the cost of an elementwise
/// op. Null if a remedy does not fit the program.
Trial prepareTrial(mlir::ModuleOp module, std::string passes,
                   const std::set<Remedy> &remedies);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_REMEDYTRIAL_H
