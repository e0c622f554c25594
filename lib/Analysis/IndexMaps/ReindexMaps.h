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

/// The index maps of values that are made from one root by reindexing.
class ReindexMaps {
public:
  explicit ReindexMaps(tp::SymbolSpace &symbols) : symbols(symbols) {}

  IndexMap::Sizes getSizes(mlir::Value value);
  /// Gives `value` a map.
  void set(mlir::Value value, IndexMap map) { maps[value] = std::move(map); }
  /// Null for a value that has none.
  const IndexMap *get(mlir::Value value) const;
  /// Gives the result of an op its map, where all operands have one; false
  /// where that cannot be proven.
  bool add(mlir::Operation *op);
  /// Follows the users of a value, and theirs, in its block.
  void follow(mlir::Value value);
  /// All values that have maps, users behind what they read.
  auto getValues() const { return llvm::make_first_range(maps); }

private:
  tp::SymbolSpace &symbols;
  llvm::MapVector<mlir::Value, IndexMap> maps;
};

/// The box that certainly holds the first element; null where none does.
const IndexBox *findFirstBox(const IndexMap &map);

using tp::getElementType;
using tp::getTensor;
bool isBefore(mlir::Operation *a, mlir::Operation *b);
/// Whether an op moves elements in memory, rather than being a view.
bool moves(mlir::Operation *op);
/// Whether a value is certainly dense, as collectives need it.
bool isDense(mlir::Value value, tp::SymbolSpace &symbols);

/// The type of a dense tensor of these sizes.
mlir::RankedTensorType getDenseType(tp::SymbolSpace &symbols,
                                    mlir::Type elementType,
                                    llvm::ArrayRef<SizePolynomial> sizes);

/// Whether nobody would see it if `value` were dense in memory: it is, or its
/// readers give results of the same layout all the same.
bool mayBeDense(mlir::Value value, mlir::RankedTensorType dense,
                tp::SymbolSpace &symbols);

/// The values that a value is reindexed from, through single operands that
/// nobody else reads, the nearest first.
llvm::SmallVector<mlir::Value> getOrigins(mlir::Value value);

/// The reindexing ops behind a value, in its block: all that `follow` may give
/// maps to, and those that it cannot.
llvm::SmallVector<mlir::Operation *> getReindexingBehind(mlir::Value value);

/// The ops that make `results` from `root` and from nothing else, in order.
llvm::SmallVector<mlir::Operation *>
getOpsBetween(mlir::Value root, llvm::ArrayRef<mlir::Value> results);

/// Of `ops`, in order, the first that an op outside reads although it makes
/// none of `results`; null where there is none.
mlir::Operation *findOtherReader(llvm::ArrayRef<mlir::Operation *> ops,
                                 llvm::ArrayRef<mlir::Value> results);

/// Says how the operands of `concat`, which have maps, fail to be the blocks,
/// one a rank, of `whole` along `axis`. The blocks of a gather are those of the
/// ranks; those of a scatter go to them.
Refusal describeReassembly(tp::ConcatOp concat, const ReindexMaps &maps,
                           mlir::Value whole, int64_t axis, int64_t numRanks,
                           bool isGather);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXMAPS_H
