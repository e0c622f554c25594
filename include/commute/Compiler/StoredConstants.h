//===- StoredConstants.h - constant tensors of archives ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_STOREDCONSTANTS_H
#define COMMUTE_COMPILER_STOREDCONSTANTS_H

#include "commute/Compiler/LoadedProgram.h"

#include "commute/Equivalence/Verify.h"

namespace commute::compiler {

/// Compares the constant tensors that two archives store. Constants are inputs
/// of the graphs, so a proof holds for all of their values, and only their
/// bytes show whether both archives have the same constants. Constants without
/// bytes are not compared. Errors state which data cannot be read.
llvm::Error compareConstants(const LoadedProgram &first,
                             const LoadedProgram &second,
                             equivalence::VerifyResult &result);

/// States what the archive of a program stores, so that it can be compared with
/// what other archives store: the content (`tp.content`) of constant tensors,
/// and the number (`tp.stored`) of buffers with one integer. Data that cannot
/// be read remains unknown.
void stateStoredData(const LoadedProgram &program);

/// Compares the constant tensors of the ranks of one program: program i is that
/// of rank i. Those that differ are no constants of the merged program. Returns
/// an error if the ranks of a group are said to hold the same tensor and do
/// not.
llvm::Error
checkConstantsOfRanks(llvm::MutableArrayRef<LoadedProgram> programs);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_STOREDCONSTANTS_H
