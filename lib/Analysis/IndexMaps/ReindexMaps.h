//===- ReindexMaps.h - index maps around a collective -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXMAPS_H
#define COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXMAPS_H

#include "commute/Analysis/Collectives/ReindexedCollectives.h"
#include "commute/Dialect/NodeName.h"

#include "llvm/ADT/MapVector.h"

namespace commute::analysis {

/// The index maps of values that are computed from one root by reindexing ops.
class ReindexMaps {
public:
  explicit ReindexMaps(tp::SymbolSpace &symbols) : symbols(symbols) {}

  IndexMap::Sizes getSizes(mlir::Value value);
  /// Gives `value` a map.
  void set(mlir::Value value, IndexMap map) { maps[value] = std::move(map); }
  /// Returns null for a value without a map.
  const IndexMap *get(mlir::Value value) const;
  /// Computes the map of an op's result if all operands have maps. Returns
  /// false if the map cannot be proven.
  bool add(mlir::Operation *op);
  /// Follows all direct and indirect users of a value in its block.
  void follow(mlir::Value value);
  /// Returns all values that have maps, in an order in which operands come
  /// before users.
  auto getValues() const { return llvm::make_first_range(maps); }

private:
  tp::SymbolSpace &symbols;
  llvm::MapVector<mlir::Value, IndexMap> maps;
};

/// Returns the box that certainly contains the first element, or null if there
/// is none.
const IndexBox *findFirstBox(const IndexMap &map);

using tp::getElementType;
using tp::getTensor;
bool isBefore(mlir::Operation *a, mlir::Operation *b);
/// Returns true if an op moves elements in memory, rather than being a view.
bool moves(mlir::Operation *op);
/// Whether a value is certainly dense, as collectives need it.
bool isDense(mlir::Value value, tp::SymbolSpace &symbols);

/// The type of a dense tensor of these sizes.
mlir::RankedTensorType getDenseType(tp::SymbolSpace &symbols,
                                    mlir::Type elementType,
                                    llvm::ArrayRef<SizePolynomial> sizes);

/// Returns true if making `value` dense would not be observable: it is dense,
/// or its users return results of the same layout in either case.
bool mayBeDense(mlir::Value value, mlir::RankedTensorType dense,
                tp::SymbolSpace &symbols);

/// Returns the values from which a value is computed by reindexing ops with a
/// single operand and no other users, nearest first, as far as they have
/// arrived.
llvm::SmallVector<mlir::Value> getOrigins(mlir::Value value);

/// Returns the reindexing ops after a value in its block: all ops for which
/// `follow` may compute maps, and those for which it cannot.
llvm::SmallVector<mlir::Operation *> getReindexingBehind(mlir::Value value);

/// Returns the ops that compute `results` from `root` alone, in order.
llvm::SmallVector<mlir::Operation *>
getOpsBetween(mlir::Value root, llvm::ArrayRef<mlir::Value> results);

/// Returns the first of `ops`, which are in order, whose result has a user
/// outside of `ops` although it is not in `results`; null if there is none.
mlir::Operation *findOtherReader(llvm::ArrayRef<mlir::Operation *> ops,
                                 llvm::ArrayRef<mlir::Value> results);

/// Explains why the operands of `concat`, which have maps, are not the blocks
/// of `whole` along `axis`, one for each rank. The blocks of a gather come from
/// the ranks; those of a scatter go to them.
Refusal describeReassembly(tp::ConcatOp concat, const ReindexMaps &maps,
                           mlir::Value whole, int64_t axis, int64_t numRanks,
                           bool isGather);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXMAPS_H
