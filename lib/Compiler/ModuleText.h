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

/// Refuses text whose brackets or expressions nest deeper than any program's.
/// MLIR's parser, and all that walk what it makes, descend recursively and
/// would overflow the stack. The error gives line and column.
llvm::Error checkNesting(llvm::StringRef text);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_MODULETEXT_H
