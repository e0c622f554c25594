//===- CollectiveChain.h - collectives behind one another -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVECHAIN_H
#define COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVECHAIN_H

#include "Collectives/GroupLookup.h"
#include "IndexMaps/ReindexMaps.h"

#include "commute/Analysis/Collectives/ChainedCollectives.h"

namespace commute::analysis {

/// Collectives of one kind, each behind the one before through reindexing, and
/// what they may be as one.
class CollectiveChain {
public:
  /// More ranks are not joined, nor more ops undone in search of what is in
  /// front: what is asked of each collective stays bounded.
  static constexpr int64_t maxRanks = 1024;
  static constexpr size_t maxUndone = 1024;
  /// Nor more ranks of the world, times the ranks that each would reach.
  static constexpr int64_t maxMembers = 1 << 20;

  /// `links` are in order.
  CollectiveChain(llvm::ArrayRef<mlir::Operation *> links,
                  llvm::ArrayRef<tp::GroupAttr> groups, Refusal &refusal);

protected:
  /// One position in the group of each link.
  using Positions = llvm::SmallVector<int64_t, 2>;

  mlir::Operation *first() const { return links.front(); }
  mlir::Operation *last() const { return links.back(); }
  /// The `index`-th of all positions, those of the last link outermost.
  Positions getPositions(int64_t index) const;

  std::nullopt_t refuse(RefusalCode code, std::string reason,
                        std::string remedy = "");
  /// The group of these members; says where there is none. `what` is the
  /// collective that it would be for.
  tp::GroupAttr getGroupOf(const RankMembers &members, const llvm::Twine &what);

  llvm::ArrayRef<mlir::Operation *> links;
  llvm::ArrayRef<tp::GroupAttr> groups;
  Refusal &refusal;
  tp::SymbolSpace symbols;
  /// All positions, or more than `maxRanks`.
  int64_t numRanks = 1;
};

tp::GroupAttr getCollectiveGroup(mlir::Operation *op);

/// The position of block 0 in `part`, one block of the whole whose blocks have
/// `distance` elements; nullopt where that is none.
std::optional<int64_t> getBlock(const IndexMap &part,
                                const SizePolynomial &distance);

/// The collective that the longest chain ending with `last` is equivalent to,
/// according to `find`. A refusal is about the shortest chain.
Legal<ReindexedCollective>
findChained(mlir::Operation *last,
            llvm::function_ref<std::optional<ReindexedCollective>(
                llvm::ArrayRef<mlir::Operation *>, Refusal &)>
                find);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVECHAIN_H
