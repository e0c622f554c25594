//===- RegionCosts.h - what a region costs on shards and whole --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REGIONCOSTS_H
#define COMMUTE_LIB_TRANSFORMS_REGIONCOSTS_H

#include "commute/Analysis/Placements/ShardRegions.h"
#include "commute/Support/MinimumCut.h"
#include "commute/Target/PriceModel.h"

namespace commute {

/// How the shard of a replicated value is obtained.
enum class SliceMethod {
  /// By slicing this rank's block.
  RankSlice,
  /// By a reduce_scatter(max) of equal values, which is exact and does not
  /// require the rank to be known when the program is written.
  ReduceScatter,
};

/// Returns how the shard of a value can be obtained; nullopt if no vocabulary
/// can express it. `isRankSpecific`: the program is that of one rank only.
std::optional<SliceMethod> findSliceMethod(mlir::Value value, unsigned dim,
                                           tp::GroupAttr group,
                                           bool isRankSpecific);

/// The costs of the ops of a region on either side, and of conversions of its
/// values. Identical ops cost the same, so only one op of each class is priced.
/// A model repeats its layers, so the number of classes does not grow with its
/// depth.
class RegionCosts {
public:
  using Cost = MinimumCut::Cost;

  /// `isPipelined`: price a gather that only products use, and a scatter of a
  /// product, as micro-pipeline would leave them.
  RegionCosts(const analysis::ShardRegion &region,
              const target::PriceModel &price, bool isRankSpecific,
              bool isPipelined);

  /// By index in the region.
  unsigned getClassOfOp(unsigned op) const { return classOfOp[op]; }
  /// Of a value of the region.
  unsigned getClassOfValue(mlir::Value value) const {
    return classOfValue.lookup(value);
  }

  struct OpCosts {
    Cost local = 0;
    Cost whole = 0;
  };
  struct ValueCosts {
    /// Gathering the shards of a value that is computed on shards.
    Cost gather = 0;
    /// Slicing a value that is computed whole.
    Cost slice = 0;
  };
  /// By class.
  struct Table {
    std::vector<OpCosts> ops;
    std::vector<ValueCosts> values;
    /// Costs are integers, because a cut in floating point might not terminate.
    /// Their unit is a picosecond, or more for larger numbers of rows, so that
    /// sums do not grow.
    double unitsPerSecond = 1e12;
    /// True if all required sizes are known.
    bool isComplete = true;
  };
  /// Returns all costs for `scale` times as many rows.
  Table getTable(double scale) const;

private:
  using Products = llvm::SmallVector<tp::MatmulOp>;

  /// Returns the products that micro-pipeline would fuse with the collective of
  /// an op, or with a gather of a value.
  Products findProducts(const analysis::RegionOp &entry) const;
  Products findProducts(mlir::Value value) const;
  /// The number of rows including padding, as a multiple of the present number.
  double getPaddedShare() const;
  /// Returns the seconds for padding the rows of a value with this many bytes.
  double getPadSeconds(double bytes) const;
  // Returns seconds; nullopt if a size is unknown.
  std::optional<double> getCollectiveSeconds(tp::CommunicationKind kind,
                                             mlir::Value value,
                                             double scale) const;
  /// Returns the cost of a reduce_scatter of a value, including the copy of a
  /// value that is not dense.
  std::optional<double> getScatterSeconds(mlir::Value value, bool isDense,
                                          double scale) const;
  std::optional<double> getCutSeconds(mlir::Value value, double scale) const;
  /// Returns by how many seconds a collective prolongs these products if it is
  /// fused with them, which splits their rows into as many parts as the group
  /// has members; nullopt if a size is unknown. A minimum cut needs costs that
  /// add up, so other work beside the collective is left to the schedule, by
  /// which the choice among passes prices the result of the cut.
  std::optional<double>
  getExposedSeconds(const tp::Communication &communication,
                    llvm::ArrayRef<tp::MatmulOp> products, double scale) const;
  /// Returns the exposed part of `seconds` of a collective beside these
  /// products, which may hide some of it.
  std::optional<double> getSecondsBeside(llvm::ArrayRef<tp::MatmulOp> products,
                                         std::optional<double> seconds,
                                         tp::CommunicationKind kind,
                                         mlir::Value value, double scale) const;
  std::optional<double> getSeconds(unsigned opClass, bool isLocal,
                                   double scale) const;

  const analysis::ShardRegion &region;
  const target::PriceModel &price;
  bool isRankSpecific;
  bool isPipelined;
  llvm::DenseSet<mlir::Operation *> regionOps;
  std::vector<unsigned> classOfOp;
  /// One op of each class, and the products beside its collective.
  std::vector<unsigned> ops;
  std::vector<Products> productsOfOps;
  llvm::DenseMap<mlir::Value, unsigned> classOfValue;
  /// One value of each class, and the products that would use a gather of it.
  std::vector<mlir::Value> values;
  std::vector<Products> productsOfValues;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONCOSTS_H
