//===- StoredConstants.h - tensors that are part of a program ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_STOREDCONSTANTS_H
#define COMMUTE_TOOLS_COMMUTE_STOREDCONSTANTS_H

#include "commute/Compiler/LoadedProgram.h"

#include "commute/Equivalence/Verify.h"

namespace commute::tool {

/// Compares the constant tensors that two archives store. They are inputs of
/// the graphs, so that a proof holds for all values of them, and whether both
/// archives hold the same values is told by their bytes alone. The error says
/// what cannot be read. Constants without bytes are not compared.
llvm::Error compareConstants(const compiler::LoadedProgram &first,
                             const compiler::LoadedProgram &second,
                             equivalence::VerifyResult &result);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_STOREDCONSTANTS_H
