//===- Run.h - a program run on all ranks -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_RUN_H
#define COMMUTE_RUNTIME_RUN_H

#include "commute/Runtime/Interpreter.h"

namespace commute::runtime {

/// What a rank holds of an input, and null for one that is no tensor. Called by
/// several threads at once.
using InputProvider = llvm::function_ref<llvm::Expected<TensorValue>(
    unsigned argument, int64_t rank)>;

struct RunOptions {
  SymbolTable symbols;
  /// The longest that a rank waits for the others.
  std::chrono::seconds timeout{300};
  /// Threads that the kernels of one rank use; 0: an equal part of the cores.
  unsigned threadsPerRank = 0;
  /// The program is run this often, with the same inputs.
  unsigned repetitions = 1;
};

/// What a run gave on one rank.
struct RankOutcome {
  int64_t rank = 0;
  std::vector<TensorValue> outputs;
  /// Duration of the fastest repetition.
  std::chrono::duration<double> seconds{0};
};

/// Runs on one rank, in the calling thread.
llvm::Expected<RankOutcome> runOnRank(const RunnableProgram &program,
                                      InputProvider getInput,
                                      const RunOptions &options,
                                      Transport &transport);

/// Runs each rank in a thread of its own. An error names the rank and the op;
/// one that fails ends all. The context must allow several threads.
llvm::Expected<std::vector<RankOutcome>>
runOnThreads(const RunnableProgram &program, llvm::ArrayRef<int64_t> ranks,
             InputProvider getInput, const RunOptions &options);

/// Threads of kernels for each of `numRanks` ranks on this machine.
unsigned getThreadsPerRank(const RunOptions &options, size_t numRanks);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_RUN_H
