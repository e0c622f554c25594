//===- MpiTransfer.h - a collective under way over MPI ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_MPITRANSFER_H
#define COMMUTE_LIB_RUNTIME_MPITRANSFER_H

#include "MpiModule.h"
#include "commute/Runtime/Transport.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace commute::runtime {

/// What is exchanged with one other member in the course of a transfer: for
/// each tensor a header, and behind it its elements, in one or more messages.
struct MpiPeer {
  struct Incoming {
    std::shared_ptr<Tensor> tensor;
    /// What is not there yet of it, in the order of sending.
    std::deque<MpiRequest *> messages;
  };
  struct Outgoing {
    std::string header;
    TensorValue tensor;
    bool hasHeaderLeft = true;
    /// Bytes of the tensor that have been handed to MPI.
    size_t numStarted = 0;
  };

  int64_t rank;
  /// Of its process.
  int source;
  size_t position;
  std::string headerText;
  MpiRequest *header = nullptr;
  /// In the order of sending.
  std::vector<Incoming> incoming;
  size_t numTaken = 0;

  /// In the order of sending; all live until the transfer ends.
  std::deque<Outgoing> outgoing;
  /// Of these, what has been handed to MPI whole.
  size_t numHandedOver = 0;
  size_t numMessages = 0;
  /// What is on its way, in the order of sending.
  std::deque<MpiRequest *> sends;
};

class MpiTransfer : public Transfer {
public:
  MpiTransfer(const MpiModule &module, std::chrono::seconds timeout,
              int64_t rank, CollectiveCall call, mlir::Type elementType,
              size_t numTensors, std::vector<MpiPeer> peers)
      : module(module), timeout(timeout), rank(rank), call(std::move(call)),
        elementType(elementType), numTensors(numTensors),
        peers(std::move(peers)) {}
  ~MpiTransfer() override { stopProgress(); }

  /// Lets a thread of its own see to the transfers from now on.
  void overlap();
  llvm::Error send(size_t position, TensorValue tensor) override;
  llvm::Expected<Arrival> receive() override;
  llvm::Error finish() override;

private:
  /// Takes all transfers as far as they get without waiting. The mutex is held.
  void advance();
  void advance(MpiPeer &peer);
  /// Forgets those in front that have arrived or left.
  void finishMessages(std::deque<MpiRequest *> &messages);
  /// Hands to MPI what may be on its way now.
  void startSends(MpiPeer &peer);
  size_t getMessageBytes(size_t numBytes) const;
  /// Starts to receive the tensor behind a header.
  llvm::Error acceptHeader(MpiPeer &peer);
  std::optional<Arrival> takeNext();
  /// Advances until `isDone`; the error names whom `getWaited` tells.
  llvm::Error waitUntil(llvm::function_ref<bool()> isDone,
                        llvm::function_ref<std::string()> getWaited);
  void stopProgress();

  const MpiModule &module;
  std::chrono::seconds timeout;
  int64_t rank;
  CollectiveCall call;
  mlir::Type elementType;
  size_t numTensors;

  /// MPI is called by one thread at a time.
  std::mutex mutex;
  std::vector<MpiPeer> peers;
  size_t nextPeer = 0;
  /// Messages that have arrived or left.
  size_t numFinished = 0;
  std::optional<std::string> failure;
  std::thread progress;
  bool stops = false;
  std::condition_variable stopping;
};

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_MPITRANSFER_H
