//===- ThreadWorld.h - ranks as threads of one process ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_THREADWORLD_H
#define COMMUTE_RUNTIME_THREADWORLD_H

#include "commute/Runtime/Transport.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

namespace commute::runtime {

/// Connects the ranks of one process. Tensors are not copied: a rank accesses
/// the memory of its peers.
class ThreadWorld {
public:
  /// `timeout` is the longest time that a rank waits for other ranks.
  ThreadWorld(llvm::ArrayRef<int64_t> ranks, std::chrono::seconds timeout);

  /// Returns the transport of one rank, for use in its thread.
  std::unique_ptr<Transport> makeTransport(int64_t rank);
  /// Marks a rank as finished, with or without an error. Must be called for
  /// every rank, because other ranks may be waiting for it.
  void finish(int64_t rank, llvm::Error error);
  /// Returns the error of the run. Call this after all ranks have finished.
  llvm::Error takeError();

private:
  friend class ThreadTransport;
  friend class ThreadTransfer;

  /// One rank's part in a collective.
  struct Participant {
    CollectiveCall call;
    /// The tensors that this rank has sent so far, by receiver.
    std::vector<std::vector<TensorValue>> toMembers;
  };
  /// The n-th collective of a group.
  struct CollectiveState {
    std::map<int64_t, Participant> participants;
    size_t numLeft = 0;
  };
  struct RankState {
    /// The collective in which the rank is blocked, or null if it can continue.
    const CollectiveState *waitsIn = nullptr;
    bool isFinished = false;
  };
  using CollectiveKey = std::pair<std::vector<int64_t>, uint64_t>;

  void fail(std::string message);
  /// Returns a PeerFailure if a rank has failed. The mutex must be held for
  /// this and all following functions.
  llvm::Error getPeerFailure() const;
  /// Fails the run if all ranks are blocked.
  void checkForDeadlock();
  std::string describeWaiting() const;

  std::chrono::seconds timeout;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<CollectiveKey, CollectiveState> collectives;
  std::map<int64_t, RankState> states;
  std::vector<std::string> failures;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_THREADWORLD_H
