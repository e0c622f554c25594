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

/// The work of one op on one rank. It does not include communication between
/// ranks, which is described by `Communication`.
struct Work {
  /// Multiplications and additions in matrix products: 2 M N K.
  int64_t matmulFlops = 0;
  /// Scalar operations on elements.
  int64_t elementwiseFlops = 0;
  /// Memory traffic if every operand is read once and every result written
  /// once. Views cause no traffic.
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;

  bool operator==(const Work &) const = default;
};

enum class CommunicationKind { AllReduce, AllGather, ReduceScatter, AllToAll };
/// "all_reduce" and so on.
llvm::StringRef getName(CommunicationKind kind);

/// The data that a collective moves between the ranks of its group.
struct Communication {
  CommunicationKind kind = CommunicationKind::AllReduce;
  /// Bytes of the whole tensor: the result of an all-gather, and the operand of
  /// all other kinds.
  int64_t bytes = 0;
  /// True if blocks are along a dim other than the first. PyTorch's collectives
  /// support only the first dim, so one side of the exchange needs a reordering
  /// copy.
  bool rearranges = false;
  /// For an op that overlaps computation and communication: the work of one of
  /// its chunks, of which there are as many as the group has members.
  std::optional<Work> chunkWork;
};

/// Returns the bytes of a tensor for these values of the symbols. Sub-byte
/// elements count as whole bytes, as PyTorch stores them.
std::optional<int64_t> getNumBytes(mlir::Type type, SymbolValues symbols);

/// Returns the work of an op that reads its operands once, writes its results
/// once, and does `flopsPerElement` scalar operations for every element of its
/// first result.
std::optional<Work> getStreamingWork(mlir::Operation *op,
                                     int64_t flopsPerElement,
                                     SymbolValues symbols);

/// Returns the work on one rank if `factor` of the op's dimension rule is split
/// into `parts` (or extended, if `parts` is less than 1). Tensors along the
/// factor are split; others, such as weights, are read whole.
std::optional<Work> getShardedWork(mlir::Operation *op,
                                   const DimensionRule &rule, unsigned factor,
                                   double parts, SymbolValues symbols);
/// The same for the communication of a collective.
std::optional<Communication>
getShardedCommunication(mlir::Operation *op, const DimensionRule &rule,
                        unsigned factor, double parts, SymbolValues symbols);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_WORK_H
