//===- Witness.h - inputs that show a difference ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOL_WITNESS_H
#define COMMUTE_TOOL_WITNESS_H

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Equivalence/Verify.h"

#include "llvm/Support/JSON.h"

namespace commute::tool {

/// Two programs, and the files that they were read from.
struct ComparedPrograms {
  const compiler::LoadedProgram &first, &second;
  llvm::ArrayRef<std::string> firstPaths, secondPaths;
};

/// What was written of the inputs that show a difference.
struct Witness {
  /// Why there are no such inputs; empty if there are.
  std::string noneBecause;
  /// The file with the inputs of all ranks, and the script that replays them;
  /// either may be empty.
  std::string inputs, script;
  /// How the outputs differ, and what was drawn.
  std::string difference, drawn;
  /// The commands that replay the inputs.
  std::vector<std::string> commands;
};

/// Looks for inputs for which both programs, evaluated in real numbers, return
/// different outputs: integers are those that the verdict rests on, and all
/// else is drawn. Writes them to a folder.
llvm::Expected<Witness> writeWitness(const ComparedPrograms &programs,
                                     const equivalence::VerifyResult &result,
                                     llvm::StringRef folder);

void print(const Witness &witness, llvm::raw_ostream &os);
llvm::json::Object toJson(const Witness &witness);

} // namespace commute::tool

#endif // COMMUTE_TOOL_WITNESS_H
