//===- Work.h - what an op costs, free of any machine -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_WORK_H
#define COMMUTE_DIALECT_WORK_H

#include "commute/Dialect/DimensionRule.h"
#include "commute/Dialect/SymbolicSize.h"

#include "mlir/IR/Operation.h"

#include <cstdint>
#include <optional>

namespace commute::tp {

/// Work of one op on one rank. Communication between ranks is not in it: that
/// follows from a collective's operand, group and kind.
struct Work {
  /// Multiplications and additions of matrix products: 2 M N K.
  int64_t matmulFlops = 0;
  /// Scalar operations on elements.
  int64_t elementwiseFlops = 0;
  /// Memory traffic with every operand read and every result written once;
  /// views move nothing.
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;

  bool operator==(const Work &) const = default;
};

enum class CommunicationKind { AllReduce, AllGather, ReduceScatter, AllToAll };
/// "all_reduce" and so on.
llvm::StringRef getName(CommunicationKind kind);

/// What a collective moves between the ranks of its group.
struct Communication {
  CommunicationKind kind = CommunicationKind::AllReduce;
  /// Bytes of the whole tensor: of what an all-gather gives and of what the
  /// others take.
  int64_t bytes = 0;
  /// Blocks lie along another dim than the first. PyTorch's collectives know
  /// only that one, so that one side of the exchange is copied into order.
  bool rearranges = false;
  /// For an op that computes while it communicates: the work between two
  /// transfers, of as many as the group has members.
  std::optional<Work> chunkWork;
};

/// Bytes of a tensor at these values of the symbols. Sub-byte elements are
/// counted as whole bytes, as PyTorch stores them.
std::optional<int64_t> getNumBytes(mlir::Type type, SymbolValues symbols);

/// An op that reads its operands and writes its results once, and does
/// `flopsPerElement` scalar operations for every element of its first result.
std::optional<Work> getStreamingWork(mlir::Operation *op,
                                     int64_t flopsPerElement,
                                     SymbolValues symbols);

/// The work on one rank when `factor` of the op's dimension rule is cut into
/// `parts` (or, for fewer than one, is longer): tensors that run along the
/// factor are cut with it, the others (weights) are read whole.
std::optional<Work> getShardedWork(mlir::Operation *op,
                                   const DimensionRule &rule, unsigned factor,
                                   double parts, SymbolValues symbols);
/// The same for what a collective moves.
std::optional<Communication>
getShardedCommunication(mlir::Operation *op, const DimensionRule &rule,
                        unsigned factor, double parts, SymbolValues symbols);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_WORK_H
