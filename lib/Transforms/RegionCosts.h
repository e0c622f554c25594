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

/// How the shard of a replicated value is had.
enum class SliceMethod {
  /// This rank's block is cut out.
  RankSlice,
  /// By a reduce_scatter of equal values, by maximum: exact, and no rank has to
  /// be known when the program is written.
  ReduceScatter,
};

/// How the shard of a value may be had; nullopt where no vocabulary can say it.
/// `isRankSpecific`: the program is that of one rank alone.
std::optional<SliceMethod> findSliceMethod(mlir::Value value, unsigned dim,
                                           tp::GroupAttr group,
                                           bool isRankSpecific);

/// What the ops of a region, and conversions of its values, cost on either
/// side. Ops that are alike cost the same: a model repeats its layers, so that
/// there are few classes of ops however deep it is, and only these are priced.
class RegionCosts {
public:
  using Cost = MinimumCut::Cost;

  /// `isPipelined`: a gather that only products read, and a scatter of a
  /// product, cost what micro-pipeline leaves of them.
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
    /// Joining the shards of a value that is local where it is made.
    Cost gather = 0;
    /// Cutting a value that is whole where it is made.
    Cost slice = 0;
  };
  /// By class.
  struct Table {
    std::vector<OpCosts> ops;
    std::vector<ValueCosts> values;
    /// Costs are whole numbers: a cut in floating point might not end. Their
    /// unit is a picosecond, and more where there are more rows, so that sums
    /// are no larger for that.
    double unitsPerSecond = 1e12;
    /// All sizes that count are known.
    bool isComplete = true;
  };
  /// All costs if there were `scale` times as many rows.
  Table getTable(double scale) const;

private:
  using Products = llvm::SmallVector<tp::MatmulOp>;

  /// The products that micro-pipeline would fuse with what an op communicates,
  /// or with a gather of a value.
  Products findProducts(const analysis::RegionOp &entry) const;
  Products findProducts(mlir::Value value) const;
  /// Rows with those that are added, as a multiple of those that there are.
  double getPaddedShare() const;
  /// Seconds to add rows to a value of so many bytes.
  double getPadSeconds(double bytes) const;
  // Seconds; nullopt where a size is not known.
  std::optional<double> getCollectiveSeconds(tp::CommunicationKind kind,
                                             mlir::Value value,
                                             double scale) const;
  /// A reduce_scatter of a value, with the copy of one that is not dense.
  std::optional<double> getScatterSeconds(mlir::Value value, bool isDense,
                                          double scale) const;
  std::optional<double> getCutSeconds(mlir::Value value, double scale) const;
  /// What `seconds` of a collective come to beside these products: that, or
  /// less where they hide some of it.
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
  /// An op of each class, and the products beside its collective.
  std::vector<unsigned> ops;
  std::vector<Products> productsOfOps;
  llvm::DenseMap<mlir::Value, unsigned> classOfValue;
  /// A value of each class, and the products that a gather of it would feed.
  std::vector<mlir::Value> values;
  std::vector<Products> productsOfValues;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONCOSTS_H
