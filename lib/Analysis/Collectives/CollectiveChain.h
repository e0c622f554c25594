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

/// Collectives of one kind that follow each other through reindexing ops, and
/// the single collective that they may be equal to.
class CollectiveChain {
public:
  /// The largest number of ranks in a merged collective, and of ops that are
  /// undone in search of the previous collective. This bounds the cost per
  /// collective.
  static constexpr int64_t maxRanks = 1024;
  static constexpr size_t maxUndone = 1024;
  /// The largest number of ranks of the world times ranks that each one
  /// reaches.
  static constexpr int64_t maxMembers = 1 << 20;

  /// `links` are in order.
  CollectiveChain(llvm::ArrayRef<mlir::Operation *> links,
                  llvm::ArrayRef<tp::GroupAttr> groups, Refusal &refusal);

protected:
  /// A position in the group of each link.
  using Positions = llvm::SmallVector<int64_t, 2>;

  mlir::Operation *first() const { return links.front(); }
  mlir::Operation *last() const { return links.back(); }
  /// Returns position number `index`, where the last link is the outermost.
  Positions getPositions(int64_t index) const;

  std::nullopt_t refuse(RefusalCode code, std::string reason,
                        llvm::StringRef missingGroup = "");
  /// Returns the group with these members. Refuses if there is none; `what`
  /// names the collective that needs it.
  tp::GroupAttr getGroupOf(const RankMembers &members, const llvm::Twine &what);

  llvm::ArrayRef<mlir::Operation *> links;
  llvm::ArrayRef<tp::GroupAttr> groups;
  Refusal &refusal;
  tp::SymbolSpace symbols;
  /// The number of all positions; any number above `maxRanks` if there are
  /// more.
  int64_t numRanks = 1;
};

tp::GroupAttr getCollectiveGroup(mlir::Operation *op);

/// Returns the position of block 0 in `part`, which must be one block of a
/// whole whose blocks have `distance` elements; nullopt if it is not.
std::optional<int64_t> getBlock(const IndexMap &part,
                                const SizePolynomial &distance);

/// Returns the collective that is equal to the longest chain that ends with
/// `last`, according to `find`. A refusal is about the shortest chain.
Legal<ReindexedCollective>
findChained(mlir::Operation *last,
            llvm::function_ref<std::optional<ReindexedCollective>(
                llvm::ArrayRef<mlir::Operation *>, Refusal &)>
                find);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVECHAIN_H
