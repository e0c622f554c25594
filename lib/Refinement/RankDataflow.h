//===- RankDataflow.h - steps of all ranks -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_RANKDATAFLOW_H
#define COMMUTE_LIB_REFINEMENT_RANKDATAFLOW_H

#include "RankValues.h"

#include <deque>

namespace commute::refinement {

/// A value of one rank's program, and the values of all ranks that it is
/// computed from and used by.
struct Step {
  size_t rank;
  mlir::Value value;
  const RankValues::Node *node;
  /// The operands in their order; of communication, those of all members.
  llvm::SmallVector<Step *, 2> operands;
  llvm::SmallVector<Step *, 2> users;
  /// In the program of the rank.
  size_t position;
  /// True for what arrives from another rank: the operand, as it was sent.
  bool isReceived = false;

  mlir::Operation *getOp() const { return value.getDefiningOp(); }
  const FieldValue &getContent() const { return node->contents[rank]; }
};

/// The dataflow of the programs of all ranks, across communication.
class RankDataflow {
public:
  RankDataflow(const std::vector<JoinedRank> &ranks, const RankValues &values);

  Step *find(size_t rank, mlir::Value value) const {
    return stepOf.lookup({rank, value});
  }

  const std::deque<Step> &getSteps() const { return steps; }

private:
  std::deque<Step> steps;
  llvm::DenseMap<std::pair<size_t, mlir::Value>, Step *> stepOf;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_RANKDATAFLOW_H
