//===- CollectiveModel.h - cost model of collectives ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TARGET_COLLECTIVEMODEL_H
#define COMMUTE_TARGET_COLLECTIVEMODEL_H

#include "commute/Dialect/Work.h"

#include "llvm/ADT/ArrayRef.h"

#include <map>
#include <string>
#include <vector>

namespace commute::target {

/// One kind of collective in groups of one size. The time is linear in the
/// number of bytes (latency plus bytes divided by bandwidth), except where
/// measured points show a deviation between the two regimes. Bytes are those of
/// the whole tensor.
struct CollectiveLine {
  int64_t groupSize = 0;
  double latencySeconds = 0;
  double bytesPerSecond = 0;
  /// (bytes, seconds) pairs, ascending in both.
  std::vector<std::pair<double, double>> points;
  std::string source;

  /// Returns the time for `bytes` bytes, which is monotonic. Between points,
  /// interpolates linearly in logarithms. Below the first point, returns the
  /// linear model, but at most the first point's time. Above the last point,
  /// extrapolates with the slope of the linear model.
  double getSeconds(double bytes) const;
};

/// The collectives of one machine.
class CollectiveModel {
public:
  /// Adds a line, whose points must be ascending.
  void add(tp::CommunicationKind kind, CollectiveLine line);
  /// Lines in ascending order of the group size.
  llvm::ArrayRef<CollectiveLine> getLines(tp::CommunicationKind kind) const;

  /// Returns seconds for a group of `groupSize`. Between two known group sizes,
  /// interpolates linearly in logarithms; outside, uses the time of the nearest
  /// group size for the same number of bytes on the wire. An all-to-all without
  /// lines takes as long as an all-gather that produces the same number of
  /// bytes.
  double getSeconds(tp::CommunicationKind kind, int64_t groupSize,
                    double bytes) const;
  /// The same without latency: bytes divided by bandwidth.
  double getTransferSeconds(tp::CommunicationKind kind, int64_t groupSize,
                            double bytes) const;

private:
  double getBySize(tp::CommunicationKind kind, int64_t groupSize, double bytes,
                   double (*get)(const CollectiveLine &, double)) const;

  std::map<tp::CommunicationKind, std::vector<CollectiveLine>> lines;
};

/// Returns the number of bytes that a rank sends in the best algorithm without
/// in-network reduction.
double getWireBytes(tp::CommunicationKind kind, int64_t groupSize,
                    double bytes);

} // namespace commute::target

#endif // COMMUTE_TARGET_COLLECTIVEMODEL_H
