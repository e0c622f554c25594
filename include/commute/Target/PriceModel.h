//===- PriceModel.h - cost model of ops -------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TARGET_PRICEMODEL_H
#define COMMUTE_TARGET_PRICEMODEL_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"

namespace commute::target {

/// Values of symbolic sizes, by symbol name.
using SizeTable = std::map<std::string, int64_t>;

/// Returns the sizes that a module states: those at capture, overridden by
/// assumptions of the form `name == number`.
SizeTable getStatedSizes(mlir::ModuleOp module);

/// The resource that determines an op's time.
enum class Bound { Nothing, Compute, Memory, Overhead, Communication };
llvm::StringRef getName(Bound bound);

/// Time of one op on one rank.
struct OpPrice {
  /// Time on the device's compute units, including the kernel overhead; 0 for
  /// views.
  double computeSeconds = 0;
  /// Time on the links. An op that overlaps computation and communication has
  /// both, and takes `getSeconds`, which is more than either.
  double communicationSeconds = 0;
  /// Time of reordering copies on the compute units, before and after the
  /// communication.
  double packSeconds = 0;
  double unpackSeconds = 0;
  /// For an op with both lanes: time beyond that of the longer lane.
  double pipelineSeconds = 0;
  Bound bound = Bound::Nothing;

  bool overlaps() const {
    return computeSeconds > 0 && communicationSeconds > 0;
  }
  /// Returns the time of the op, including copies.
  double getSeconds() const;
};

/// Prices ops on a target at given sizes. All times are in seconds.
///
/// Prices depend only on an op's interfaces: work, communication and dimension
/// rule. An op takes the longer of its arithmetic and its memory traffic, plus
/// the overhead of a kernel; views take no time.
class PriceModel {
public:
  PriceModel(const Target &target, SizeTable sizes)
      : target(target), sizes(std::move(sizes)) {}

  const Target &getTarget() const { return target; }
  /// Returns the value of a symbol.
  std::optional<int64_t> getSize(llvm::StringRef symbol) const;
  /// Returns the size of a tensor; nullopt if a size is unknown.
  std::optional<int64_t> getBytes(mlir::Type type) const;

  /// Returns the work of an op, without what it shares with other ops of its
  /// kernel, if the target fuses elementwise ops; nullopt if a size is unknown.
  std::optional<tp::Work> getWork(mlir::Operation *op) const;
  /// Ops with equal attributes and types have equal prices if they have equal
  /// keys.
  unsigned getKernelKey(mlir::Operation *op) const;

  /// Returns nullopt if a size is unknown.
  std::optional<OpPrice> getPrice(mlir::Operation *op) const;
  std::optional<double> getSeconds(mlir::Operation *op) const;
  /// Returns the time of the op if `factor` of its dimension rule is split into
  /// `parts` (or extended, if `parts` is less than 1). Tensors along the factor
  /// are split; weights are not.
  std::optional<double> getShardSeconds(mlir::Operation *op,
                                        const tp::DimensionRule &rule,
                                        unsigned factor, double parts) const;

  /// Returns the price of one kernel that does `work`. Matrix products run at
  /// the rate of `elementType`.
  OpPrice getWorkPrice(const tp::Work &work, mlir::Type elementType) const;
  /// Returns the time of a copy of `bytes` bytes.
  double getCopySeconds(double bytes) const;

  /// Returns the price of a collective over a tensor of `bytes` bytes (see
  /// `tp::Communication`), including reordering copies if it `rearranges`.
  OpPrice getCommunicationPrice(const tp::Communication &communication,
                                tp::GroupAttr group) const;
  double getCommunicationSeconds(tp::CommunicationKind kind,
                                 tp::GroupAttr group, int64_t bytes,
                                 bool rearranges = false) const;

  /// Returns the price of a collective that is pipelined with matrix products.
  /// There are as many chunks as group members, and each does `chunkWork`.
  /// Either the first transfer or the last product is not overlapped.
  OpPrice getPipelinePrice(const tp::Communication &communication,
                           tp::GroupAttr group, const tp::Work &chunkWork,
                           mlir::Type elementType) const;

private:
  /// Returns the fraction of an op's memory traffic that separate kernels cause
  /// before or after its products: everything beyond reading each operand and
  /// writing each result once.
  double getSeparateShare(mlir::Operation *op) const;
  /// Takes off what an op, or a shard of it, shares with its kernel.
  void removeShared(mlir::Operation *op, tp::Work &work) const;
  /// Returns true if an op that can be a view must be a copy because of its
  /// strides.
  bool mustCopy(mlir::Operation *op) const;
  OpPrice getPrice(mlir::Operation *op, const tp::Work &work,
                   const std::optional<tp::Communication> &communication) const;
  /// Returns the time on the links, with or without a collective's latency.
  double getLinkSeconds(tp::CommunicationKind kind, tp::GroupAttr group,
                        double bytes, bool withLatency) const;

  /// Returns the number of machines that a group spans, and the largest number
  /// of its members on one machine. Machines have consecutive ranks.
  std::pair<int64_t, int64_t> getMachines(tp::GroupAttr group) const;

  const Target &target;
  SizeTable sizes;
  /// A cache, because a group may have thousands of ranks and is queried at
  /// every op.
  mutable llvm::DenseMap<tp::GroupAttr, std::pair<int64_t, int64_t>>
      machinesOfGroups;
};

} // namespace commute::target

#endif // COMMUTE_TARGET_PRICEMODEL_H
