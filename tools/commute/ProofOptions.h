//===- ProofOptions.h - what a proof may cost -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOL_PROOFOPTIONS_H
#define COMMUTE_TOOL_PROOFOPTIONS_H

#include "commute/Equivalence/Verify.h"

#include "llvm/Support/CommandLine.h"

namespace commute::tool {

/// The options of every command that proves something: --proof-time and
/// --proof-memory.
class ProofOptions {
public:
  explicit ProofOptions(llvm::cl::SubCommand &command);

  /// Sets the budget of a proof. The error names an option that cannot be read.
  llvm::Error apply(equivalence::VerifyOptions &options) const;

private:
  llvm::cl::opt<std::string> time;
  llvm::cl::opt<std::string> memory;
};

} // namespace commute::tool

#endif // COMMUTE_TOOL_PROOFOPTIONS_H
