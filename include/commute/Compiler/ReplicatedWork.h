//===- ReplicatedWork.h - what all ranks compute alike ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A plan that shards little of a model leaves each rank with the work of one
// device, and passes with nothing to rewrite. The placements of values show it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_REPLICATEDWORK_H
#define COMMUTE_COMPILER_REPLICATEDWORK_H

#include "commute/Target/Estimate.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace commute::compiler {

/// The compute ops of a program, without views and collectives, and those of
/// them whose results are equal on all ranks.
struct ReplicatedWork {
  int64_t numRanks = 0;
  size_t numOps = 0;
  size_t numReplicatedOps = 0;
  /// Predicted time of these ops.
  double seconds = 0;
  double replicatedSeconds = 0;

  /// Returns true if most of the time goes into replicated ops.
  bool isMost() const { return replicatedSeconds > seconds / 2; }
};

/// Returns nullopt if the program has no groups of several ranks, if sizes have
/// no values, or if its placements are contradictory.
std::optional<ReplicatedWork>
findReplicatedWork(mlir::func::FuncOp function,
                   const target::PriceModel &model);

/// Returns "302 of 303 ops (120.3 of 129.0 ms) compute the same on all 8
/// ranks".
std::string describe(const ReplicatedWork &work);
llvm::json::Object toJson(const ReplicatedWork &work);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_REPLICATEDWORK_H
