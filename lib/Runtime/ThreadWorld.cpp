//===- ThreadWorld.cpp - ranks as threads of one process --------*- C++ -*-===//
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

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

namespace commute::runtime {
class ThreadTransfer : public Transfer {
public:
  ThreadTransfer(ThreadWorld &world, int64_t rank,
                 ThreadWorld::CollectiveKey key,
                 ThreadWorld::CollectiveState &collective)
      : world(world), rank(rank), key(std::move(key)), collective(collective),
        own(llvm::find(members, rank) - members.begin()),
        numTaken(members.size()), next(own + 1) {}

  llvm::Error send(size_t position, TensorValue tensor) override;
  llvm::Expected<Arrival> receive() override;
  llvm::Error finish() override;

private:
  /// Returns an available tensor, if any. Each rank polls the members in a
  /// different order, so that not all read the same memory at once.
  std::optional<Arrival> takeNext();

  ThreadWorld &world;
  int64_t rank;
  ThreadWorld::CollectiveKey key;
  ThreadWorld::CollectiveState &collective;
  const std::vector<int64_t> &members = key.first;
  size_t own;
  /// Number of tensors received so far, by position.
  std::vector<size_t> numTaken;
  /// Position of the member that is polled first.
  size_t next;
};

class ThreadTransport : public Transport {
public:
  ThreadTransport(ThreadWorld &world, int64_t rank)
      : world(world), rank(rank) {}

  int64_t getRank() const override { return rank; }

  llvm::Expected<std::unique_ptr<Transfer>> start(const CollectiveCall &call,
                                                  Type, size_t, bool) override;

  llvm::Error checkPeers() override {
    std::lock_guard lock(world.mutex);
    return world.getPeerFailure();
  }

private:
  ThreadWorld &world;
  int64_t rank;
  /// Number of collectives so far, by group.
  std::map<std::vector<int64_t>, uint64_t> numbers;
};
} // namespace commute::runtime

llvm::Expected<std::unique_ptr<Transfer>>
ThreadTransport::start(const CollectiveCall &call, Type, size_t, bool) {
  std::vector<int64_t> members(call.members.begin(), call.members.end());
  uint64_t number = numbers[members]++;
  ThreadWorld::CollectiveKey key(std::move(members), number);
  std::lock_guard lock(world.mutex);
  ThreadWorld::CollectiveState &collective = world.collectives[key];
  if (!collective.participants.empty()) {
    const auto &[otherRank, other] = *collective.participants.begin();
    if (!call.matches(other.call))
      world.fail(describeMismatch(otherRank, other.call, rank, call));
  }
  if (llvm::Error error = world.getPeerFailure())
    return std::move(error);
  collective.participants[rank] = {
      call, std::vector<std::vector<TensorValue>>(call.members.size())};
  return std::make_unique<ThreadTransfer>(world, rank, std::move(key),
                                          collective);
}

llvm::Error ThreadTransfer::send(size_t position, TensorValue tensor) {
  std::lock_guard lock(world.mutex);
  collective.participants.at(rank).toMembers[position].push_back(
      std::move(tensor));
  ThreadWorld::RankState &receiver = world.states.at(members[position]);
  if (receiver.waitsIn == &collective) {
    // Mark the receiver as able to continue before its thread wakes up.
    receiver.waitsIn = nullptr;
    world.changed.notify_all();
  }
  return world.getPeerFailure();
}

std::optional<Transfer::Arrival> ThreadTransfer::takeNext() {
  for (size_t count = 0; count < members.size(); ++count) {
    size_t position = (next + count) % members.size();
    auto found = collective.participants.find(members[position]);
    if (position == own || found == collective.participants.end())
      continue;
    const std::vector<TensorValue> &given = found->second.toMembers[own];
    if (numTaken[position] == given.size())
      continue;
    next = position + 1;
    return Arrival{position, given[numTaken[position]++]};
  }
  return std::nullopt;
}

llvm::Expected<Transfer::Arrival> ThreadTransfer::receive() {
  std::unique_lock lock(world.mutex);
  ThreadWorld::RankState &state = world.states.at(rank);
  auto deadline = std::chrono::steady_clock::now() + world.timeout;
  while (true) {
    if (llvm::Error error = world.getPeerFailure())
      return std::move(error);
    if (std::optional<Arrival> arrival = takeNext())
      return std::move(*arrival);
    state.waitsIn = &collective;
    world.checkForDeadlock();
    bool isInTime = world.changed.wait_until(lock, deadline, [&] {
      return !state.waitsIn || !world.failures.empty();
    });
    if (!isInTime)
      world.fail("no answer within " + std::to_string(world.timeout.count()) +
                 " s: " + world.describeWaiting());
    state.waitsIn = nullptr;
  }
}

llvm::Error ThreadTransfer::finish() {
  std::lock_guard lock(world.mutex);
  if (++collective.numLeft == members.size())
    world.collectives.erase(key);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// World
//===----------------------------------------------------------------------===//

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
  // The first failure caused the others.
  return llvm::createStringError(failures.front());
}

std::string ThreadWorld::describeWaiting() const {
  std::vector<std::string> parts;
  for (const auto &[rank, state] : states) {
    if (state.isFinished)
      parts.push_back("rank " + std::to_string(rank) + " has finished");
    else if (state.waitsIn)
      parts.push_back("rank " + std::to_string(rank) + " is waiting in " +
                      state.waitsIn->participants.at(rank).call.describe());
    else
      parts.push_back("rank " + std::to_string(rank) + " is computing");
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
    fail("mismatched collectives: no rank can continue: " + describeWaiting());
}

llvm::Error ThreadWorld::getPeerFailure() const {
  if (failures.empty())
    return llvm::Error::success();
  return llvm::make_error<PeerFailure>();
}
