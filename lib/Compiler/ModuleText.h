//===- ModuleText.h - text that is safe to parse ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_MODULETEXT_H
#define COMMUTE_LIB_COMPILER_MODULETEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace commute::compiler {

/// Rejects text whose brackets or expressions are nested more deeply than in
/// any real program. MLIR's parser, and everything that traverses its result,
/// is recursive and would overflow the stack. The error states line and column.
llvm::Error checkNesting(llvm::StringRef text);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_MODULETEXT_H
