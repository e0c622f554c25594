//===- Transport.h - communication between ranks ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_TRANSPORT_H
#define COMMUTE_RUNTIME_TRANSPORT_H

#include "commute/Runtime/Tensor.h"

#include "llvm/Support/Error.h"

#include <chrono>
#include <string>

namespace commute::runtime {

/// A rank's call of a collective. All members of the group must make a matching
/// call, possibly from different lines of their programs.
struct CollectiveCall {
  /// The op and the attributes that define it, such as "tp.all_reduce sum".
  std::string operation;
  /// Element type and sizes of the operand.
  std::string operand;
  /// Members of the group, in order.
  llvm::SmallVector<int64_t> members;
  /// Name in the graph; empty for an op that a pass created.
  std::string node;
  /// Name and source line, for messages.
  std::string place;

  bool matches(const CollectiveCall &other) const {
    return operation == other.operation && operand == other.operand &&
           members == other.members &&
           (node == other.node || node.empty() || other.node.empty());
  }
  /// Returns, for example, "tp.all_reduce sum of tensor<4xf32> in group [0, 1]
  /// at add_1 (a.py:3)".
  std::string describe() const;
};

/// Returns the message for calls that do not match: "rank 0 runs X, but rank 1
/// runs Y".
std::string describeMismatch(int64_t rank, const CollectiveCall &call,
                             int64_t otherRank, const CollectiveCall &other);

/// A collective in progress: a sequence of tensors to and from each other
/// member of the group, which are transferred while this rank computes. Errors
/// are as in Transport.
class Transfer {
public:
  virtual ~Transfer() = default;

  /// Sends a tensor, or null, to another member. Tensors sent to one member
  /// arrive in order.
  virtual llvm::Error send(size_t position, TensorValue tensor) = 0;

  struct Arrival {
    size_t position;
    TensorValue tensor;
  };
  /// Waits for the next tensor from any other member. Each member sends the
  /// number of tensors that `Transport::start` was called with.
  virtual llvm::Expected<Arrival> receive() = 0;

  /// Waits until all tensors are sent. All expected tensors must have been sent
  /// and received by this rank.
  virtual llvm::Error finish() = 0;
};

/// Connects one rank to the others. If another rank has already reported the
/// cause of an error, the error is a PeerFailure.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int64_t getRank() const = 0;
  /// Starts a collective in which each member sends `numTensors` tensors of
  /// this element type to each other member. If `overlaps` is true, transfers
  /// progress while this rank computes. Only one collective may be in progress.
  virtual llvm::Expected<std::unique_ptr<Transfer>>
  start(const CollectiveCall &call, mlir::Type elementType, size_t numTensors,
        bool overlaps) = 0;
  /// Sends `toMembers[i]` to the i-th member of the group, and returns the
  /// tensors that this rank receives, in the same order.
  llvm::Expected<llvm::SmallVector<TensorValue>>
  exchange(const CollectiveCall &call, llvm::ArrayRef<TensorValue> toMembers);
  /// Returns a PeerFailure if another rank has failed.
  virtual llvm::Error checkPeers() = 0;
};

/// This rank ends because another one failed. Not reported by itself.
class PeerFailure : public llvm::ErrorInfo<PeerFailure> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_TRANSPORT_H
