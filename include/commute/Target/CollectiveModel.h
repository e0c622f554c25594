//===- CollectiveModel.h - how long collectives take ------------*- C++ -*-===//
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

/// One kind of collective in a group of one size: a line, latency plus bytes
/// through the bandwidth, and measured points where the line does not fit (the
/// knee between the two). Bytes are those of the whole tensor.
struct CollectiveLine {
  int64_t groupSize = 0;
  double latencySeconds = 0;
  double bytesPerSecond = 0;
  /// (bytes, seconds), ascending in both.
  std::vector<std::pair<double, double>> points;
  std::string source;

  /// Between points the logarithms are interpolated linearly; below them the
  /// line counts, but no more than the first point; above them the line's slope
  /// from the last point on. Never falls as bytes grow.
  double getSeconds(double bytes) const;
};

/// The collectives of one machine.
class CollectiveModel {
public:
  void add(tp::CommunicationKind kind, CollectiveLine line);
  /// Ascending in the size of the group.
  llvm::ArrayRef<CollectiveLine> getLines(tp::CommunicationKind kind) const;

  /// Seconds for a group of `groupSize`. Between two sizes that are known, the
  /// logarithms are interpolated linearly in that of the size; outside of them
  /// it is the nearest one's time for as many bytes on the wire. An all-to-all
  /// without lines takes what an all-gather to as many bytes does.
  double getSeconds(tp::CommunicationKind kind, int64_t groupSize,
                    double bytes) const;
  /// The same without latency: bytes alone, at the bandwidth.
  double getTransferSeconds(tp::CommunicationKind kind, int64_t groupSize,
                            double bytes) const;

private:
  double getBySize(tp::CommunicationKind kind, int64_t groupSize, double bytes,
                   double (*get)(const CollectiveLine &, double)) const;

  std::map<tp::CommunicationKind, std::vector<CollectiveLine>> lines;
};

/// Bytes that a rank sends in a collective of the best algorithm without help
/// of the network.
double getWireBytes(tp::CommunicationKind kind, int64_t groupSize,
                    double bytes);

} // namespace commute::target

#endif // COMMUTE_TARGET_COLLECTIVEMODEL_H
