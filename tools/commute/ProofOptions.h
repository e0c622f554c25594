//===- ProofOptions.h - budget of a proof -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOL_PROOFOPTIONS_H
#define COMMUTE_TOOL_PROOFOPTIONS_H

#include "commute/Equivalence/Verify.h"

#include "llvm/Support/CommandLine.h"

namespace commute::tool {

/// The options --proof-time and --proof-memory of all commands that prove
/// something.
class ProofOptions {
public:
  explicit ProofOptions(llvm::cl::SubCommand &command);

  /// Sets the budget of a proof, and shows its progress. Errors name the option
  /// that cannot be parsed.
  llvm::Error apply(equivalence::VerifyOptions &options) const;

  /// Returns the option that would let a proof go on, if the machine has what
  /// that takes; empty if the proof did not exceed its budget.
  static std::string describeRemedy(const equivalence::VerifyResult &result);

private:
  llvm::cl::opt<std::string> time;
  llvm::cl::opt<std::string> memory;
};

} // namespace commute::tool

#endif // COMMUTE_TOOL_PROOFOPTIONS_H
