//===- JsonOutput.h - the output of --json ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_JSONOUTPUT_H
#define COMMUTE_TOOLS_COMMUTE_JSONOUTPUT_H

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

/// The version of the output of all commands; docs/schemas describes it. It
/// changes when a key is removed or changes its meaning, not when one is added.
inline constexpr int64_t jsonVersion = 1;

/// Prints the output of a command, with its version.
void printJson(llvm::json::Object object, llvm::raw_ostream &os);
/// The same, on standard output.
void printJson(llvm::json::Object object);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_JSONOUTPUT_H
