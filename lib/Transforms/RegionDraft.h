//===- RegionDraft.h - a region with a choice of shards ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REGIONDRAFT_H
#define COMMUTE_LIB_TRANSFORMS_REGIONDRAFT_H

#include "RegionChoice.h"
#include "RegionLaws.h"
#include "RegionRefusals.h"
#include "RegionRewrite.h"

namespace commute {

/// What the regions of one group share in a round.
struct RegionState {
  explicit RegionState(RegionOptions options) : options(options) {}

  RegionOptions options;
  bool isRankSpecific = false;
  std::optional<analysis::PlacementAnalysis> placements;
  analysis::ShardRegions regions;
  /// The regions of an all_reduce, one for each dim.
  llvm::DenseMap<mlir::Operation *,
                 llvm::SmallVector<const analysis::ShardRegion *, 2>>
      ofReduce;
  /// What regions lack, of those that were asked for.
  mutable llvm::DenseMap<const analysis::ShardRegion *, Unstated> unstated;
  /// The all_reduces that rewrites have made: that they stay is not worth a
  /// remark.
  mutable llvm::DenseSet<mlir::Operation *> completions;

  const target::PriceModel &getModel() const {
    return options.prices.getModel();
  }
  /// The region of an all_reduce, and what it lacks, that would gain most from
  /// a statement about inputs; null if none would.
  std::pair<const analysis::ShardRegion *, const Unstated *>
  findUnstatedGain(mlir::Operation *reduce) const;
  RegionContext getContext() const {
    return {*placements, options.prices.getSizes(), getModel(), isRankSpecific,
            options.isPipelined};
  }
};

/// Rounds thresholds to two significant digits; the price model is no more
/// precise.
int64_t roundToTwoDigits(double number);

/// The first op of a region that communicates; null if there is none.
mlir::Operation *getAnchor(const analysis::ShardRegion &region);

/// A region with a choice of shards. Ops keep their places and names, so that
/// there are no new ops before it is applied.
class RegionDraft : public Draft {
public:
  RegionDraft(const analysis::ShardRegion &region, const RegionState &state)
      : region(region), state(state),
        choice(region, state.getModel(), state.isRankSpecific,
               state.options.isPipelined, state.options.prefersShards) {
    choice.solve();
  }

  Footprint getFootprint() const override;
  Price getPrice(const target::PriceModel &model) const override;
  /// That of the best choice with shards.
  Price getRefusedPrice(const target::PriceModel &model) const override;
  void apply(mlir::RewriterBase &rewriter) override;
  void
  count(llvm::function_ref<void(llvm::StringRef, unsigned)> add) const override;

  /// "dim 0 (8 rows over 2 ranks of group '0')".
  std::string describeDim() const;
  /// For example "; profitable from about 2100 rows".
  std::string describeThreshold() const;
  /// The approximate number of rows from which shards pay, if there is one.
  std::optional<double> getPayingRows() const {
    if (!payingRows)
      payingRows = findPayingRows();
    return *payingRows;
  }
  bool isPriced() const { return choice.isPriced(); }
  const llvm::SmallVector<LawRemark> &getRemarks() const { return remarks; }

private:
  std::optional<double> findPayingRows() const;
  void addRemarks(mlir::Location anchor, llvm::ArrayRef<mlir::Location> reduces,
                  const std::string &where, const std::string &threshold,
                  const Unstated &unstated);

  const analysis::ShardRegion &region;
  const RegionState &state;
  RegionChoice choice;
  /// Found once: every all_reduce of the region states it.
  mutable std::optional<std::optional<double>> payingRows;
  RegionChanges changes;
  llvm::SmallVector<LawRemark> remarks;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONDRAFT_H
