//===- MpiWorld.h - ranks that are processes under mpirun -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_MPIWORLD_H
#define COMMUTE_RUNTIME_MPIWORLD_H

#include "commute/Runtime/Run.h"

namespace commute::runtime {

struct MpiModule;

/// The processes of one mpirun, one rank each. MPI is in a module that is
/// loaded only then: nothing else waits for it.
class MpiWorld {
public:
  /// Whether mpirun started this process.
  static bool isStartedByMpi() { return getStartedProcesses().has_value(); }
  /// How many processes mpirun started; nullopt without mpirun.
  static std::optional<int64_t> getStartedProcesses();
  /// Takes part. The processes hold the ranks of `world` in order; there must
  /// be as many.
  static llvm::Expected<std::unique_ptr<MpiWorld>>
  join(llvm::ArrayRef<int64_t> world, std::chrono::seconds timeout);
  /// Leaves, once all have.
  ~MpiWorld();
  MpiWorld(const MpiWorld &) = delete;
  MpiWorld &operator=(const MpiWorld &) = delete;

  int64_t getRank() const;
  llvm::ArrayRef<int64_t> getRanks() const { return world; }
  /// This process's way to the others.
  std::unique_ptr<Transport> makeTransport();
  /// Ends all processes with this exit code; does not return.
  [[noreturn]] void abort(int exitCode);

private:
  friend class MpiTransport;
  MpiWorld(const MpiModule &module, llvm::ArrayRef<int64_t> world,
           std::chrono::seconds timeout)
      : module(module), world(world), timeout(timeout) {}

  const MpiModule &module;
  llvm::SmallVector<int64_t> world;
  std::chrono::seconds timeout;
  int position = 0;
};

/// Runs this process's rank. The first process gets what all ranks gave; the
/// others get nothing.
llvm::Expected<std::vector<RankOutcome>>
runOnProcesses(const RunnableProgram &program, MpiWorld &processes,
               InputProvider getInput, const RunOptions &options);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_MPIWORLD_H
