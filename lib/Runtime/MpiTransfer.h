//===- MpiTransfer.h - a collective in progress over MPI --------*- C++ -*-===//
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

/// The transfers to and from one other member: for each tensor, a header and
/// then its elements in one or more messages.
struct MpiPeer {
  struct Incoming {
    std::shared_ptr<Tensor> tensor;
    /// Messages that have not arrived yet, in sending order.
    std::deque<MpiRequest *> messages;
  };
  struct Outgoing {
    std::string header;
    TensorValue tensor;
    bool hasHeaderLeft = true;
    /// Number of bytes of the tensor that have been passed to MPI.
    size_t numStarted = 0;
  };

  int64_t rank;
  /// MPI rank of the process.
  int source;
  size_t position;
  std::string headerText;
  MpiRequest *header = nullptr;
  /// In sending order.
  std::vector<Incoming> incoming;
  size_t numTaken = 0;

  /// In sending order. All entries live until the transfer ends.
  std::deque<Outgoing> outgoing;
  /// Number of entries that have been passed to MPI completely.
  size_t numHandedOver = 0;
  size_t numMessages = 0;
  /// Sends in progress, in sending order.
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

  /// Starts a thread that advances the transfers.
  void overlap();
  llvm::Error send(size_t position, TensorValue tensor) override;
  llvm::Expected<Arrival> receive() override;
  llvm::Error finish() override;

private:
  /// Advances all transfers without blocking. The mutex must be held.
  void advance();
  void advance(MpiPeer &peer);
  /// Removes finished messages from the front.
  void finishMessages(std::deque<MpiRequest *> &messages);
  /// Starts as many sends as the limits allow.
  void startSends(MpiPeer &peer);
  size_t getMessageBytes(size_t numBytes) const;
  /// Starts receiving the tensor that a header announces.
  llvm::Error acceptHeader(MpiPeer &peer);
  std::optional<Arrival> takeNext();
  /// Advances until `isDone`. Errors name the ranks that `getWaited` returns.
  llvm::Error waitUntil(llvm::function_ref<bool()> isDone,
                        llvm::function_ref<std::string()> getWaited);
  void stopProgress();

  const MpiModule &module;
  std::chrono::seconds timeout;
  int64_t rank;
  CollectiveCall call;
  mlir::Type elementType;
  size_t numTensors;

  /// Only one thread may call MPI at a time.
  std::mutex mutex;
  std::vector<MpiPeer> peers;
  size_t nextPeer = 0;
  /// Number of finished messages, sent or received.
  size_t numFinished = 0;
  std::optional<std::string> failure;
  std::thread progress;
  bool stops = false;
  std::condition_variable stopping;
};

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_MPITRANSFER_H
