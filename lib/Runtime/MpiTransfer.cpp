//===- MpiTransfer.cpp - a collective under way over MPI --------*- C++ -*-===//
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

/// How often a thread of its own sees to the transfers while the rank computes.
/// TCP needs the processor's help, and what the kernel has buffered is used up
/// in a few milliseconds. Seeing to them between the pieces of products instead
/// took 1.9 times as long where products and transfers are in balance
/// (benchmarks/overlap).
static constexpr std::chrono::microseconds progressInterval(300);

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

namespace {
/// What goes in front of a tensor, as text: the call, and the tensor's type.
struct Header {
  CollectiveCall call;
  std::string element;
  SmallVector<int64_t> sizes;
  /// False for a null tensor.
  bool hasTensor = false;
};
} // namespace

/// Fields one behind the other, each with its length in front.
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
    while (!stops) {
      {
        std::lock_guard lock(mutex);
        advance();
      }
      std::this_thread::sleep_for(progressInterval);
    }
  });
}

void MpiTransfer::stopProgress() {
  stops = true;
  if (progress.joinable())
    progress.join();
}

llvm::Error MpiTransfer::send(size_t position, TensorValue tensor) {
  std::lock_guard lock(mutex);
  auto peer = llvm::find_if(
      peers, [&](const MpiPeer &peer) { return peer.position == position; });
  std::string &header = sentHeaders.emplace_back(encode(call, tensor));
  sends.push_back(module.startSend(peer->source, header.data(), header.size()));
  if (tensor && tensor->getNumBytes() > 0)
    sends.push_back(module.startSend(peer->source, tensor->getData(),
                                     tensor->getNumBytes()));
  sentTensors.push_back(std::move(tensor));
  return llvm::Error::success();
}

llvm::Error MpiTransfer::acceptHeader(MpiPeer &peer) {
  Header header;
  if (!decode(peer.headerText, header))
    return llvm::createStringError(
        "rank " + Twine(peer.rank) +
        " sent what is no message of this version of Commute, in " +
        call.describe());
  if (!call.matches(header.call))
    return llvm::createStringError(
        describeMismatch(rank, call, peer.rank, header.call));
  MpiPeer::Incoming &incoming = peer.incoming.emplace_back();
  if (!header.hasTensor)
    return llvm::Error::success();
  if (header.element != std::to_string(int(*getElementKind(elementType))))
    return llvm::createStringError("rank " + Twine(peer.rank) +
                                   " sent elements of another type, in " +
                                   call.describe());
  if (llvm::Error error = checkMemory(header.sizes, elementType))
    return error;
  incoming.tensor = Tensor::allocate(header.sizes, elementType);
  if (size_t numBytes = incoming.tensor->getNumBytes())
    incoming.request = module.startReceive(
        peer.source, incoming.tensor->getMutableData(), numBytes);
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
  for (MpiPeer::Incoming &incoming : peer.incoming)
    if (incoming.request && module.finish(incoming.request))
      incoming.request = nullptr;
}

void MpiTransfer::advance() {
  for (MpiPeer &peer : peers)
    if (!failure)
      advance(peer);
  llvm::erase_if(sends,
                 [&](MpiRequest *request) { return module.finish(request); });
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
    // Other ranks may be waiting for this core.
    std::this_thread::yield();
  }
}

std::optional<Transfer::Arrival> MpiTransfer::takeNext() {
  for (size_t count = 0; count < peers.size(); ++count) {
    MpiPeer &peer = peers[(nextPeer + count) % peers.size()];
    if (peer.numTaken == peer.incoming.size() ||
        peer.incoming[peer.numTaken].request)
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
  llvm::Error error =
      waitUntil([&] { return sends.empty(); },
                [] { return std::string("those who are sent to"); });
  stopProgress();
  return error;
}
