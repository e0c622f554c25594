//===- MpiTransfer.cpp - a collective in progress over MPI ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "MpiTransfer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute::runtime;

using Clock = std::chrono::steady_clock;

/// The interval at which a separate thread advances the transfers while the
/// rank computes. TCP needs the processor, and the kernel's buffers drain in a
/// few milliseconds. Advancing between the pieces of products instead took 1.9
/// times as long where products and transfers are in balance; advancing every
/// 300 us cost the product a tenth of the processor (benchmarks/overlap).
static constexpr std::chrono::microseconds shortestLull(100), longestLull(2000);
/// Numbers of messages per interval. With fewer than the first, the interval
/// doubles; with more than the second, it halves.
static constexpr size_t fewMessages = 2, manyMessages = 4;

/// Pieces are sent in messages small enough for MPI's eager protocol, which
/// over TCP covers up to 64 KiB. Larger messages use a rendezvous: MPI sends
/// them in turns, so that all pieces of a shard arrive at the end, and the
/// handshake waits behind data in the other direction (benchmarks/overlap).
static constexpr size_t pieceMessageBytes = 48 << 10;

/// Limits on messages in flight to one peer: enough to keep a link busy between
/// two advances. One of every `messagesPerReceipt` messages is synchronous; MPI
/// may buffer the others at once.
static constexpr size_t maxMessages = 32, messagesPerReceipt = 8;

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {
/// The header of a tensor, encoded as text: the call, and the tensor's type.
struct Header {
  CollectiveCall call;
  std::string element;
  SmallVector<int64_t> sizes;
  /// False for a null tensor.
  bool hasTensor = false;
};
} // namespace

/// Appends a field with its length as a prefix.
static void append(std::string &text, StringRef field) {
  text += std::to_string(field.size()) + ":" + field.str();
}
static void append(std::string &text, ArrayRef<int64_t> numbers) {
  std::string field;
  for (int64_t number : numbers)
    field += std::to_string(number) + " ";
  append(text, field);
}
static bool take(StringRef &text, std::string &field) {
  size_t length = 0;
  if (text.consumeInteger(10, length) || !text.consume_front(":") ||
      length > text.size())
    return false;
  field = text.take_front(length).str();
  text = text.drop_front(length);
  return true;
}
static bool take(StringRef &text, SmallVectorImpl<int64_t> &numbers) {
  std::string field;
  if (!take(text, field))
    return false;
  StringRef rest = field;
  while (!rest.empty())
    if (rest.consumeInteger(10, numbers.emplace_back()) ||
        !rest.consume_front(" "))
      return false;
  return true;
}

static std::string encode(const CollectiveCall &call,
                          const TensorValue &tensor) {
  std::string text;
  append(text, call.operation);
  append(text, call.operand);
  append(text, call.members);
  append(text, call.node);
  append(text, call.place);
  append(text, StringRef(tensor ? "tensor" : ""));
  std::string element;
  if (tensor)
    llvm::raw_string_ostream(element) << int(tensor->getKind());
  append(text, element);
  append(text, tensor ? tensor->getSizes() : ArrayRef<int64_t>());
  return text;
}

static bool decode(StringRef text, Header &header) {
  std::string hasTensor;
  bool succeeds =
      take(text, header.call.operation) && take(text, header.call.operand) &&
      take(text, header.call.members) && take(text, header.call.node) &&
      take(text, header.call.place) && take(text, hasTensor) &&
      take(text, header.element) && take(text, header.sizes);
  header.hasTensor = !hasTensor.empty();
  return succeeds && text.empty();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

void MpiTransfer::overlap() {
  progress = std::thread([this] {
    std::chrono::microseconds lull = shortestLull;
    size_t numSeen = 0;
    std::unique_lock lock(mutex);
    do {
      advance();
      size_t count = numFinished - std::exchange(numSeen, numFinished);
      if (count < fewMessages)
        lull = std::min(lull * 2, longestLull);
      else if (count > manyMessages)
        lull = std::max(lull / 2, shortestLull);
    } while (!stopping.wait_for(lock, lull, [this] { return stops; }));
  });
}

void MpiTransfer::stopProgress() {
  {
    std::lock_guard lock(mutex);
    stops = true;
  }
  stopping.notify_all();
  if (progress.joinable())
    progress.join();
}

llvm::Error MpiTransfer::send(size_t position, TensorValue tensor) {
  std::lock_guard lock(mutex);
  auto peer = llvm::find_if(
      peers, [&](const MpiPeer &peer) { return peer.position == position; });
  std::string header = encode(call, tensor);
  peer->outgoing.push_back({std::move(header), std::move(tensor)});
  startSends(*peer);
  return llvm::Error::success();
}

size_t MpiTransfer::getMessageBytes(size_t numBytes) const {
  // A single message leaves the choice of the protocol to MPI.
  return numTensors > 1 ? std::min(numBytes, pieceMessageBytes) : numBytes;
}

void MpiTransfer::finishMessages(std::deque<MpiRequest *> &messages) {
  while (!messages.empty() && module.finish(messages.front())) {
    messages.pop_front();
    ++numFinished;
  }
}

void MpiTransfer::startSends(MpiPeer &peer) {
  finishMessages(peer.sends);
  while (peer.numHandedOver < peer.outgoing.size() &&
         peer.sends.size() < maxMessages) {
    MpiPeer::Outgoing &next = peer.outgoing[peer.numHandedOver];
    size_t numBytes = next.tensor ? next.tensor->getNumBytes() : 0;
    if (next.hasHeaderLeft) {
      next.hasHeaderLeft = false;
      peer.sends.push_back(module.startSend(peer.source, next.header.data(),
                                            next.header.size(),
                                            /*isSynchronous=*/false));
    } else {
      size_t count = getMessageBytes(numBytes - next.numStarted);
      bool asksForReceipt =
          ++peer.numMessages % messagesPerReceipt == 0 && numTensors > 1;
      const std::byte *data = next.tensor->getData() + next.numStarted;
      peer.sends.push_back(
          module.startSend(peer.source, data, count, asksForReceipt));
      next.numStarted += count;
    }
    if (next.numStarted == numBytes)
      ++peer.numHandedOver;
  }
}

llvm::Error MpiTransfer::acceptHeader(MpiPeer &peer) {
  Header header;
  if (!decode(peer.headerText, header))
    return llvm::createStringError("rank " + Twine(peer.rank) +
                                   " sent a message that this version of "
                                   "Commute does not understand, in " +
                                   call.describe());
  if (!call.matches(header.call))
    return llvm::createStringError(
        describeMismatch(rank, call, peer.rank, header.call));
  MpiPeer::Incoming &incoming = peer.incoming.emplace_back();
  if (!header.hasTensor)
    return llvm::Error::success();
  if (header.element != std::to_string(int(*getElementKind(elementType))))
    return llvm::createStringError("rank " + Twine(peer.rank) +
                                   " sent elements of a different type, in " +
                                   call.describe());
  if (llvm::Error error = checkMemory(header.sizes, elementType))
    return error;
  incoming.tensor = Tensor::allocate(header.sizes, elementType);
  size_t numBytes = incoming.tensor->getNumBytes();
  for (size_t begin = 0; begin < numBytes;) {
    size_t count = getMessageBytes(numBytes - begin);
    std::byte *data = incoming.tensor->getMutableData() + begin;
    incoming.messages.push_back(module.startReceive(peer.source, data, count));
    begin += count;
  }
  return llvm::Error::success();
}

void MpiTransfer::advance(MpiPeer &peer) {
  while (peer.incoming.size() < numTensors) {
    size_t numBytes = 0;
    if (!peer.header && module.probe(peer.source, &numBytes)) {
      peer.headerText.assign(numBytes, '\0');
      peer.header = module.startReceiveFound(peer.headerText.data(), numBytes);
    }
    if (!peer.header || !module.finish(peer.header))
      break;
    peer.header = nullptr;
    if (llvm::Error error = acceptHeader(peer)) {
      failure = llvm::toString(std::move(error));
      return;
    }
  }
  // Tensors are taken in order, so test only the first one: each test costs
  // time.
  for (MpiPeer::Incoming &incoming :
       MutableArrayRef(peer.incoming).drop_front(peer.numTaken)) {
    finishMessages(incoming.messages);
    if (!incoming.messages.empty())
      break;
  }
}

void MpiTransfer::advance() {
  for (MpiPeer &peer : peers) {
    if (!failure)
      advance(peer);
    startSends(peer);
  }
}

llvm::Error
MpiTransfer::waitUntil(llvm::function_ref<bool()> isDone,
                       llvm::function_ref<std::string()> getWaited) {
  Clock::time_point deadline = Clock::now() + timeout;
  while (true) {
    {
      std::lock_guard lock(mutex);
      advance();
      if (failure)
        return llvm::createStringError(*failure);
      if (isDone())
        return llvm::Error::success();
      if (Clock::now() > deadline)
        return llvm::createStringError("no answer from " + getWaited() +
                                       " within " + Twine(timeout.count()) +
                                       " s in " + call.describe());
    }
    // Let other ranks use this core.
    std::this_thread::yield();
  }
}

std::optional<Transfer::Arrival> MpiTransfer::takeNext() {
  for (size_t count = 0; count < peers.size(); ++count) {
    MpiPeer &peer = peers[(nextPeer + count) % peers.size()];
    if (peer.numTaken == peer.incoming.size() ||
        !peer.incoming[peer.numTaken].messages.empty())
      continue;
    nextPeer = (nextPeer + count + 1) % peers.size();
    return Arrival{peer.position,
                   std::move(peer.incoming[peer.numTaken++].tensor)};
  }
  return std::nullopt;
}

llvm::Expected<Transfer::Arrival> MpiTransfer::receive() {
  std::optional<Arrival> arrival;
  auto isDone = [&] {
    arrival = takeNext();
    return arrival.has_value();
  };
  auto getWaited = [&] {
    std::vector<std::string> ranks;
    for (const MpiPeer &peer : peers)
      if (peer.numTaken < numTensors)
        ranks.push_back("rank " + std::to_string(peer.rank));
    return llvm::join(ranks, ", ");
  };
  if (llvm::Error error = waitUntil(isDone, getWaited))
    return std::move(error);
  return std::move(*arrival);
}

llvm::Error MpiTransfer::finish() {
  llvm::Error error = waitUntil(
      [&] {
        return llvm::all_of(peers, [](const MpiPeer &peer) {
          return peer.numHandedOver == peer.outgoing.size() &&
                 peer.sends.empty();
        });
      },
      [] { return std::string("the receiving ranks"); });
  stopProgress();
  return error;
}
