//===- PriceModel.h - seconds of ops on a target ----------------*- C++ -*-===//
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

/// Values of the symbols in sizes, by name.
using SizeTable = std::map<std::string, int64_t>;

/// The sizes a module states: those at capture, and those that an assumption
/// `name == number` fixes, which count more.
SizeTable getStatedSizes(mlir::ModuleOp module);

/// What decides how long an op takes.
enum class Bound { Nothing, Compute, Memory, Overhead, Communication };
llvm::StringRef getName(Bound bound);

/// Seconds of one op on one rank.
struct OpPrice {
  /// On the device's compute units, kernel overhead included; 0 for views.
  double computeSeconds = 0;
  /// On the links. An op that computes while it communicates has both and takes
  /// `getSeconds`, which is more than either.
  double communicationSeconds = 0;
  /// Copies into order on the compute units, before and after communicating.
  double packSeconds = 0;
  double unpackSeconds = 0;
  /// Beyond the longer of the two lanes, in an op with both.
  double pipelineSeconds = 0;
  Bound bound = Bound::Nothing;

  bool overlaps() const {
    return computeSeconds > 0 && communicationSeconds > 0;
  }
  double getSeconds() const;
};

/// Prices ops on a target, at given sizes. All times are in seconds.
///
/// Of an op only its interfaces are asked: work, communication, dimension rule.
/// An op takes the longer of its arithmetic and its memory traffic, plus the
/// overhead of a kernel; views take nothing.
class PriceModel {
public:
  PriceModel(const Target &target, SizeTable sizes)
      : target(target), sizes(std::move(sizes)) {}

  const Target &getTarget() const { return target; }
  /// The value of a symbol.
  std::optional<int64_t> getSize(llvm::StringRef symbol) const;
  std::optional<int64_t> getBytes(mlir::Type type) const;

  /// nullopt where a size is not known.
  std::optional<OpPrice> getPrice(mlir::Operation *op) const;
  std::optional<double> getSeconds(mlir::Operation *op) const;
  /// Seconds of the op where `factor` of its dimension rule is cut into
  /// `parts` (or, for fewer than one, is longer): what runs along the factor is
  /// cut, weights are not.
  std::optional<double> getShardSeconds(mlir::Operation *op,
                                        const tp::DimensionRule &rule,
                                        unsigned factor, double parts) const;

  /// One kernel that does this work. Matrix products are at the rate of
  /// `elementType`.
  OpPrice getWorkPrice(const tp::Work &work, mlir::Type elementType) const;
  /// A copy of so many bytes.
  double getCopySeconds(double bytes) const;

  /// A collective over a tensor of `bytes` (see `tp::Communication`), with the
  /// copy where it `rearranges`.
  OpPrice getCommunicationPrice(const tp::Communication &communication,
                                tp::GroupAttr group) const;
  double getCommunicationSeconds(tp::CommunicationKind kind,
                                 tp::GroupAttr group, int64_t bytes,
                                 bool rearranges = false) const;

  /// A collective pipelined with matrix products, each chunk of which is
  /// `chunkWork`: as many chunks as the group has members, of which the first
  /// transfer or the last product has nothing to hide behind.
  OpPrice getPipelinePrice(const tp::Communication &communication,
                           tp::GroupAttr group, const tp::Work &chunkWork,
                           mlir::Type elementType) const;

private:
  /// The part of an op's bytes that it moves before or after its products, by
  /// kernels of their own: what it moves beside reading each operand and
  /// writing each result once.
  double getSeparateShare(mlir::Operation *op) const;
  /// Whether an op that may be a view must be a copy, by its strides.
  bool copiesInFact(mlir::Operation *op) const;
  OpPrice getPrice(mlir::Operation *op, const tp::Work &work,
                   const std::optional<tp::Communication> &communication) const;
  /// Seconds on the links, with or without the latency of a collective.
  double getLinkSeconds(tp::CommunicationKind kind, tp::GroupAttr group,
                        double bytes, bool withLatency) const;

  /// The machines that a group's members are in, and how many of them are in
  /// the fullest one, with consecutive ranks on each.
  std::pair<int64_t, int64_t> getMachines(tp::GroupAttr group) const;

  const Target &target;
  SizeTable sizes;
  /// Groups may have thousands of ranks, and are asked about at every op.
  mutable llvm::DenseMap<tp::GroupAttr, std::pair<int64_t, int64_t>>
      machinesOfGroups;
};

} // namespace commute::target

#endif // COMMUTE_TARGET_PRICEMODEL_H
