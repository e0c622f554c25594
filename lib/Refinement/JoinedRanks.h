//===- JoinedRanks.h - the programs of all ranks as one ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_JOINEDRANKS_H
#define COMMUTE_LIB_REFINEMENT_JOINEDRANKS_H

#include "OpAlgebra.h"
#include "commute/Refinement/Refine.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>

namespace commute::refinement {

/// The program of one rank, and what its values are in the joined program.
struct JoinedRank {
  /// A value of a rank's program: the rank's index, and the value.
  using Source = std::pair<size_t, mlir::Value>;
  using Sources = std::shared_ptr<const std::vector<Source>>;

  int64_t rank = 0;
  mlir::func::FuncOp function;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// What the results of communication are computed from, on all ranks.
  llvm::DenseMap<mlir::Value, Sources> sources;
};

/// Runs the programs of all ranks symbolically, as the ranks of a real run
/// would: each until it needs others. Collectives are matched by the members of
/// their group and by their order, and become local ops of the joined program.
class JoinedRanks {
public:
  using MakeInput = std::function<llvm::Expected<mlir::Value>(
      const JoinedRank &rank, mlir::BlockArgument argument)>;

  /// `makeInput` is called at the first use of an input. `isReference` is true
  /// for the one device of the reference, whose calls are others than those of
  /// the ranks.
  JoinedRanks(UniqueOps &ops, std::vector<JoinedRank> &ranks,
              MakeInput makeInput, bool isReference = false)
      : ops(ops), ranks(ranks), makeInput(std::move(makeInput)),
        isReference(isReference) {}

  /// Runs all programs. Returns false after a mismatch
  /// of communication, which is then in `failures`. Returns an error for
  /// programs that cannot be run.
  llvm::Expected<bool> run();

  std::vector<Finding> failures;
  bool isDeadlock = false;
  /// True if the failures may be due to the sizes of values.
  bool failsBySizes = false;

private:
  /// The members of a group and the number of the collective among those of
  /// this group.
  using Key = std::pair<std::vector<int64_t>, size_t>;
  struct Meeting {
    /// By position in the group; null where the member has not arrived.
    llvm::SmallVector<mlir::Operation *> arrived;
    size_t numArrived = 0;
  };
  struct State {
    mlir::Block::iterator next, end;
    std::map<std::vector<int64_t>, size_t> counts;
    /// The op whose results the rank waits for.
    mlir::Operation *waiting = nullptr;
  };
  /// A message that was sent or is to be received.
  struct Message {
    size_t rank;
    mlir::Operation *op;
    unsigned operand, result;
  };
  /// The messages from one rank to another in a group, in their order.
  struct Channel {
    std::vector<Message> sent, received;
  };
  using ChannelKey =
      std::tuple<std::vector<int64_t>, /*from=*/size_t, /*to=*/size_t>;

  /// Runs the next op of a rank, unless the rank has to wait. Returns true if
  /// it got further.
  llvm::Expected<bool> advance(size_t index);
  /// Marks a copied op as one of this rank's, or of the reference's.
  void markRank(mlir::Operation *op, size_t index);
  llvm::Error execute(size_t index, mlir::Operation *op,
                      llvm::ArrayRef<mlir::Value> operands);
  /// Returns the value of an operand; null if it is not there yet.
  llvm::Expected<mlir::Value> getOperand(JoinedRank &own, mlir::Value operand);
  llvm::Expected<bool> arrive(size_t index, mlir::Operation *op);
  llvm::Error post(size_t index, tp::CallOp call);
  /// Completes the n-th message of a channel if both sides are there.
  void deliver(const ChannelKey &key, size_t number);
  bool isDone(size_t index, mlir::Operation *op) const;
  /// A rank that another waits for.
  std::optional<size_t> getMissing(size_t index) const;
  /// Adds a failure for communication that only one side takes part in.
  bool checkComplete();
  llvm::Error complete(const Key &key, const Meeting &meeting);
  llvm::Error evaluate(llvm::ArrayRef<size_t> members,
                       llvm::ArrayRef<mlir::Operation *> meetingOps);
  /// Returns true if the members run the same collective; otherwise adds the
  /// difference.
  bool matches(const Key &key, const Meeting &meeting);
  void explainDeadlock();
  std::string describe(int64_t rank, mlir::Operation *op) const;

  UniqueOps &ops;
  std::vector<JoinedRank> &ranks;
  MakeInput makeInput;
  bool isReference;
  std::vector<State> states;
  std::map<int64_t, size_t> indexOf;
  std::map<Key, Meeting> meetings;
  std::map<ChannelKey, Channel> channels;
  /// The meeting of a collective, and the messages of a call, by op and rank.
  llvm::DenseMap<std::pair<mlir::Operation *, size_t>, Key> meetingOf;
  llvm::DenseMap<std::pair<mlir::Operation *, size_t>,
                 std::vector<std::pair<ChannelKey, size_t>>>
      peersOf;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_JOINEDRANKS_H
