//===- MpiWorld.h - ranks as processes under mpirun -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_MPIWORLD_H
#define COMMUTE_RUNTIME_MPIWORLD_H

#include "commute/Runtime/Run.h"

namespace commute::runtime {

struct MpiModule;

/// The processes of one mpirun, with one rank each. MPI is linked by a separate
/// module, which is loaded only under mpirun.
class MpiWorld {
public:
  /// Returns true if mpirun started this process.
  static bool isStartedByMpi() { return getStartedProcesses().has_value(); }
  /// Returns the number of processes that mpirun started, or nullopt.
  static std::optional<int64_t> getStartedProcesses();
  /// Initializes MPI. The i-th process has the i-th rank of `world`, and there
  /// must be as many processes as ranks.
  static llvm::Expected<std::unique_ptr<MpiWorld>>
  join(llvm::ArrayRef<int64_t> world, std::chrono::seconds timeout);
  /// Waits for all processes and finalizes MPI.
  ~MpiWorld();
  MpiWorld(const MpiWorld &) = delete;
  MpiWorld &operator=(const MpiWorld &) = delete;

  int64_t getRank() const;
  llvm::ArrayRef<int64_t> getRanks() const { return world; }
  /// Returns the transport of this process.
  std::unique_ptr<Transport> makeTransport();
  /// Ends all processes with this exit code.
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

/// Runs this process's rank. In the first process, returns the outcomes of all
/// ranks; in the others, returns an empty list.
llvm::Expected<std::vector<RankOutcome>>
runOnProcesses(const RunnableProgram &program, MpiWorld &processes,
               InputProvider getInput, const RunOptions &options);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_MPIWORLD_H
