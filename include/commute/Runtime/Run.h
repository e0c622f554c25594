//===- Run.h - execution of a program on all ranks --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_RUN_H
#define COMMUTE_RUNTIME_RUN_H

#include "commute/Runtime/Interpreter.h"

namespace commute::runtime {

/// Returns the value of an input on a rank, or null if it is not a tensor. Must
/// be thread-safe.
using InputProvider = llvm::function_ref<llvm::Expected<TensorValue>(
    unsigned argument, int64_t rank)>;

/// Settings of a run. `symbols` must contain all symbolic sizes.
struct RunOptions {
  SymbolTable symbols;
  /// The longest time that a rank waits for other ranks.
  std::chrono::seconds timeout{300};
  /// Kernel threads per rank. With 0, the ranks share the cores equally.
  unsigned threadsPerRank = 0;
  /// How often to run the program, with the same inputs.
  unsigned repetitions = 1;
};

/// The result of a run on one rank.
struct RankOutcome {
  int64_t rank = 0;
  std::vector<TensorValue> outputs;
  /// Time of the fastest repetition.
  std::chrono::duration<double> seconds{0};
};

/// Runs the program on one rank, in the calling thread.
llvm::Expected<RankOutcome> runOnRank(const RunnableProgram &program,
                                      InputProvider getInput,
                                      const RunOptions &options,
                                      Transport &transport);

/// Runs each rank in its own thread. Errors name the rank and the op, and a
/// rank that fails ends all ranks. The MLIR context must have multithreading
/// enabled.
llvm::Expected<std::vector<RankOutcome>>
runOnThreads(const RunnableProgram &program, llvm::ArrayRef<int64_t> ranks,
             InputProvider getInput, const RunOptions &options);

/// Returns the number of kernel threads for each of `numRanks` ranks.
unsigned getThreadsPerRank(const RunOptions &options, size_t numRanks);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_RUN_H
