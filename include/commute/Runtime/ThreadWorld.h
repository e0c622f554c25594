//===- ThreadWorld.h - ranks that are threads of one process ----*- C++ -*-===//
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

/// Where the ranks of one process meet. Tensors are not copied: a rank reads
/// what its peers computed where it lies.
class ThreadWorld {
public:
  /// `timeout` is the longest that a rank waits for the others.
  ThreadWorld(llvm::ArrayRef<int64_t> ranks, std::chrono::seconds timeout);

  /// The way of one rank, for its thread.
  std::unique_ptr<Transport> makeTransport(int64_t rank);
  /// The rank is done, with or without an error. Every rank must say so: others
  /// may be waiting for it.
  void finish(int64_t rank, llvm::Error error);
  /// What the ranks said, once all have finished.
  llvm::Error takeError();

private:
  friend class ThreadTransport;
  friend class ThreadTransfer;

  /// A member of a meeting.
  struct Participant {
    CollectiveCall call;
    /// What it has given so far, by the position of who gets it.
    std::vector<std::vector<TensorValue>> toMembers;
  };
  /// The n-th collective of a group.
  struct Meeting {
    std::map<int64_t, Participant> participants;
    size_t numLeft = 0;
  };
  struct RankState {
    /// Where it waits; null while it computes, or may go on.
    const Meeting *waitsIn = nullptr;
    bool isFinished = false;
  };
  using MeetingKey = std::pair<std::vector<int64_t>, uint64_t>;

  void fail(std::string message);
  /// A PeerFailure once a rank has failed. Like all that follows, for who holds
  /// the mutex.
  llvm::Error getPeerFailure() const;
  /// Fails the run when no rank can ever go on.
  void checkForDeadlock();
  std::string describeWaiting() const;

  std::chrono::seconds timeout;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<MeetingKey, Meeting> meetings;
  std::map<int64_t, RankState> states;
  std::vector<std::string> failures;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_THREADWORLD_H
