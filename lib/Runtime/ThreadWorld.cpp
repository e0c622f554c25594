//===- ThreadWorld.cpp - ranks that are threads of one process --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/ThreadWorld.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

namespace commute::runtime {
class ThreadTransport : public Transport {
public:
  ThreadTransport(ThreadWorld &world, int64_t rank)
      : world(world), rank(rank) {}

  int64_t getRank() const override { return rank; }

  llvm::Expected<SmallVector<TensorValue>>
  exchange(const CollectiveCall &call,
           ArrayRef<TensorValue> toMembers) override {
    std::vector<int64_t> members(call.members.begin(), call.members.end());
    return world.exchange(rank, numbers[members]++, call, toMembers);
  }

  llvm::Error checkPeers() override {
    std::lock_guard lock(world.mutex);
    if (world.failures.empty())
      return llvm::Error::success();
    return llvm::make_error<PeerFailure>();
  }

private:
  ThreadWorld &world;
  int64_t rank;
  /// Collectives so far, by group.
  std::map<std::vector<int64_t>, uint64_t> numbers;
};
} // namespace commute::runtime

ThreadWorld::ThreadWorld(ArrayRef<int64_t> ranks, std::chrono::seconds timeout)
    : timeout(timeout) {
  for (int64_t rank : ranks)
    states[rank];
}

std::unique_ptr<Transport> ThreadWorld::makeTransport(int64_t rank) {
  return std::make_unique<ThreadTransport>(*this, rank);
}

void ThreadWorld::fail(std::string message) {
  failures.push_back(std::move(message));
  changed.notify_all();
}

void ThreadWorld::finish(int64_t rank, llvm::Error error) {
  std::lock_guard lock(mutex);
  states[rank].isFinished = true;
  llvm::handleAllErrors(
      std::move(error), [](const PeerFailure &) {},
      [&](const llvm::ErrorInfoBase &info) {
        fail("rank " + std::to_string(rank) + ": " + info.message());
      });
  checkForDeadlock();
}

llvm::Error ThreadWorld::takeError() {
  std::lock_guard lock(mutex);
  if (failures.empty())
    return llvm::Error::success();
  // The first one is the cause of the others.
  return llvm::createStringError(failures.front());
}

std::string ThreadWorld::describeWaiting() const {
  std::vector<std::string> parts;
  for (const auto &[rank, state] : states) {
    if (state.isFinished)
      parts.push_back("rank " + std::to_string(rank) + " has finished");
    else if (state.waitsIn)
      parts.push_back("rank " + std::to_string(rank) + " waits in " +
                      state.waitsIn->describe());
    else
      parts.push_back("rank " + std::to_string(rank) + " computes");
  }
  return llvm::join(parts, "; ");
}

void ThreadWorld::checkForDeadlock() {
  bool someWait = false;
  for (const auto &[rank, state] : states) {
    if (!state.isFinished && !state.waitsIn)
      return;
    someWait |= !state.isFinished;
  }
  if (someWait && failures.empty())
    fail("mismatched collectives: no rank can go on: " + describeWaiting());
}

llvm::Expected<SmallVector<TensorValue>>
ThreadWorld::exchange(int64_t rank, uint64_t number, const CollectiveCall &call,
                      ArrayRef<TensorValue> toMembers) {
  size_t position = llvm::find(call.members, rank) - call.members.begin();
  MeetingKey key({call.members.begin(), call.members.end()}, number);
  std::unique_lock lock(mutex);
  Meeting &meeting = meetings[key];
  if (!meeting.arrivals.empty()) {
    const auto &[otherRank, other] = *meeting.arrivals.begin();
    if (!call.matches(other.call))
      fail(describeMismatch(otherRank, other.call, rank, call));
  }
  meeting.arrivals[rank] = {call, SmallVector<TensorValue>(toMembers)};
  auto isComplete = [&] {
    return meeting.arrivals.size() == call.members.size();
  };
  if (isComplete()) {
    // They all can go on, whenever their threads wake up.
    for (int64_t member : call.members)
      states[member].waitsIn = nullptr;
    changed.notify_all();
  } else {
    states[rank].waitsIn = &call;
    checkForDeadlock();
    bool isInTime = changed.wait_for(
        lock, timeout, [&] { return isComplete() || !failures.empty(); });
    if (!isInTime)
      fail("no answer within " + std::to_string(timeout.count()) +
           " s: " + describeWaiting());
    states[rank].waitsIn = nullptr;
  }
  if (!failures.empty())
    return llvm::make_error<PeerFailure>();

  SmallVector<TensorValue> received;
  for (int64_t member : call.members)
    received.push_back(meeting.arrivals[member].toMembers[position]);
  if (++meeting.numLeft == call.members.size())
    meetings.erase(key);
  return received;
}
