//===- Transport.h - how tensors get from rank to rank ----------*- C++ -*-===//
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

/// What a rank is about to do together with others. All members of the group
/// must come with the same, wherever it stands in their source.
struct CollectiveCall {
  /// The op with the attributes that say what it does: "tp.all_reduce sum".
  std::string operation;
  /// Element type and sizes of the operand.
  std::string operand;
  /// Members of the group, in order.
  llvm::SmallVector<int64_t> members;
  /// Name in the graph; empty for an op that a pass made.
  std::string node;
  /// Name and source line, for messages.
  std::string place;

  bool matches(const CollectiveCall &other) const {
    return operation == other.operation && operand == other.operand &&
           members == other.members &&
           (node == other.node || node.empty() || other.node.empty());
  }
  /// "tp.all_reduce sum of tensor<4xf32> in group [0, 1] at add_1 (a.py:3)".
  std::string describe() const;
};

/// "rank 0 runs X, but rank 1 runs Y": what is said of calls that do not match.
std::string describeMismatch(int64_t rank, const CollectiveCall &call,
                             int64_t otherRank, const CollectiveCall &other);

/// A collective under way: tensors that go to the other members of the group
/// and come from them, one after the other, while this rank computes. Errors
/// are those of Transport.
class Transfer {
public:
  virtual ~Transfer() = default;

  /// Gives a tensor, or null, to the member at `position`, who is another one.
  /// It arrives there behind those that were given before.
  virtual llvm::Error send(size_t position, TensorValue tensor) = 0;

  struct Arrival {
    size_t position;
    TensorValue tensor;
  };
  /// The next tensor that arrives from any other member; waits for it. All
  /// members send as many as were agreed on.
  virtual llvm::Expected<Arrival> receive() = 0;

  /// Waits until all that was sent has left. What was agreed on has been sent
  /// and received.
  virtual llvm::Error finish() = 0;
};

/// One rank's way to the others. Errors say what went wrong here; they are
/// PeerFailures where another rank has already said it.
class Transport {
public:
  virtual ~Transport() = default;

  virtual int64_t getRank() const = 0;
  /// Begins a collective, in which each member sends `numTensors` tensors of
  /// this element type to each other one. Transfers go on while this rank
  /// computes if it `overlaps` them. One at a time.
  virtual llvm::Expected<std::unique_ptr<Transfer>>
  start(const CollectiveCall &call, mlir::Type elementType, size_t numTensors,
        bool overlaps) = 0;
  /// Gives `toMembers[i]` to the i-th member of the group and returns what each
  /// of them gave to this rank.
  llvm::Expected<llvm::SmallVector<TensorValue>>
  exchange(const CollectiveCall &call, llvm::ArrayRef<TensorValue> toMembers);
  /// A PeerFailure once another rank has failed.
  virtual llvm::Error checkPeers() = 0;
};

/// This rank ends because another one failed: not worth a message of its own.
class PeerFailure : public llvm::ErrorInfo<PeerFailure> {
public:
  static char ID;
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_TRANSPORT_H
