//===- Run.cpp - execution of a program on all ranks ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Run.h"

#include "KernelThreads.h"
#include "commute/Runtime/ThreadWorld.h"

#include <thread>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

unsigned runtime::getThreadsPerRank(const RunOptions &options,
                                    size_t numRanks) {
  if (options.threadsPerRank > 0)
    return options.threadsPerRank;
  return std::max<unsigned>(std::thread::hardware_concurrency() / numRanks, 1);
}

llvm::Expected<RankOutcome> runtime::runOnRank(const RunnableProgram &program,
                                               InputProvider getInput,
                                               const RunOptions &options,
                                               Transport &transport) {
  setNumKernelThreads(std::max(options.threadsPerRank, 1u));
  RankOutcome outcome;
  outcome.rank = transport.getRank();
  std::vector<TensorValue> inputs;
  func::FuncOp function = program.getFunction();
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    llvm::Expected<TensorValue> input = getInput(index, outcome.rank);
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  for (unsigned repetition = 0; repetition < options.repetitions;
       ++repetition) {
    // Only the last repetition may consume the inputs.
    bool isLast = repetition + 1 == options.repetitions;
    std::vector<TensorValue> given;
    if (isLast)
      given.swap(inputs);
    else
      given = inputs;
    auto start = std::chrono::steady_clock::now();
    llvm::Expected<std::vector<TensorValue>> outputs =
        program.run(std::move(given), options.symbols, transport);
    if (!outputs)
      return outputs.takeError();
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    if (repetition == 0 || seconds < outcome.seconds)
      outcome.seconds = seconds;
    outcome.outputs = std::move(*outputs);
  }
  return outcome;
}

llvm::Expected<std::vector<RankOutcome>>
runtime::runOnThreads(const RunnableProgram &program, ArrayRef<int64_t> ranks,
                      InputProvider getInput, const RunOptions &options) {
  RankDiagnostics diagnostics(program.getFunction()->getContext());
  ThreadWorld world(ranks, options.timeout);
  RunOptions rankOptions = options;
  rankOptions.threadsPerRank = getThreadsPerRank(options, ranks.size());
  std::vector<RankOutcome> outcomes(ranks.size());
  std::vector<std::thread> threads;
  for (auto [index, rank] : llvm::enumerate(ranks))
    threads.emplace_back([&, index = index, rank = rank] {
      std::unique_ptr<Transport> transport = world.makeTransport(rank);
      llvm::Expected<RankOutcome> outcome =
          runOnRank(program, getInput, rankOptions, *transport);
      if (outcome)
        outcomes[index] = std::move(*outcome);
      world.finish(rank, outcome.takeError());
    });
  for (std::thread &thread : threads)
    thread.join();
  if (llvm::Error error = world.takeError())
    return std::move(error);
  return outcomes;
}
