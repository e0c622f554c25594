//===- FileHint.h - what a file is that is no program -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_FILEHINT_H
#define COMMUTE_LIB_COMPILER_FILEHINT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace commute::compiler {

/// Adds to an error about a file that cannot be read what the file seems to be,
/// and what to do: a TorchScript archive, a checkpoint, or safetensors. Other
/// errors are returned as they are.
llvm::Error addFileHint(llvm::Error error, llvm::StringRef path);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_FILEHINT_H
