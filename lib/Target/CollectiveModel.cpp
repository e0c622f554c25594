//===- CollectiveModel.cpp - cost model of collectives ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/CollectiveModel.h"

#include "Interpolation.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute;
using namespace commute::target;

double CollectiveLine::getSeconds(double bytes) const {
  double onLine = latencySeconds + bytes / bytesPerSecond;
  if (points.empty())
    return onLine;
  auto [firstBytes, firstSeconds] = points.front();
  auto [lastBytes, lastSeconds] = points.back();
  if (bytes <= firstBytes)
    return std::min(onLine, firstSeconds);
  if (bytes >= lastBytes)
    return lastSeconds + (bytes - lastBytes) / bytesPerSecond;
  return interpolateLogarithms(points, bytes);
}

void CollectiveModel::add(tp::CommunicationKind kind, CollectiveLine line) {
  assert(llvm::is_sorted(line.points) &&
         llvm::is_sorted(line.points, llvm::less_second()) &&
         "points ascend in bytes and in seconds");
  std::vector<CollectiveLine> &ofKind = lines[kind];
  ofKind.insert(llvm::upper_bound(ofKind, line,
                                  [](const auto &lhs, const auto &rhs) {
                                    return lhs.groupSize < rhs.groupSize;
                                  }),
                std::move(line));
}

llvm::ArrayRef<CollectiveLine>
CollectiveModel::getLines(tp::CommunicationKind kind) const {
  auto found = lines.find(kind);
  if (found == lines.end())
    return {};
  return found->second;
}

double target::getWireBytes(tp::CommunicationKind kind, int64_t groupSize,
                            double bytes) {
  double part = double(groupSize - 1) / double(groupSize);
  bool goesTwice = kind == tp::CommunicationKind::AllReduce;
  return bytes * part * (goesTwice ? 2 : 1);
}

double CollectiveModel::getBySize(tp::CommunicationKind kind, int64_t groupSize,
                                  double bytes,
                                  double (*get)(const CollectiveLine &,
                                                double)) const {
  if (groupSize <= 1)
    return 0;
  llvm::ArrayRef<CollectiveLine> ofKind = getLines(kind);
  if (ofKind.empty())
    ofKind = getLines(tp::CommunicationKind::AllGather);
  const CollectiveLine *above =
      llvm::find_if(ofKind, [&](const CollectiveLine &line) {
        return line.groupSize >= groupSize;
      });
  if (above != ofKind.end() && above->groupSize == groupSize)
    return get(*above, bytes);
  if (above == ofKind.begin() || above == ofKind.end()) {
    const CollectiveLine &nearest =
        above == ofKind.end() ? ofKind.back() : ofKind.front();
    double wireBytes = getWireBytes(kind, groupSize, bytes);
    return get(nearest,
               wireBytes / getWireBytes(kind, nearest.groupSize, /*bytes=*/1));
  }
  const CollectiveLine &below = *(above - 1);
  double secondsBelow = get(below, bytes);
  double secondsAbove = get(*above, bytes);
  // Transfers of no bytes take no time, which has no logarithm.
  if (secondsBelow <= 0 || secondsAbove <= 0)
    return std::max(secondsBelow, secondsAbove);
  return interpolateLogarithms(double(below.groupSize), secondsBelow,
                               double(above->groupSize), secondsAbove,
                               double(groupSize));
}

double CollectiveModel::getSeconds(tp::CommunicationKind kind,
                                   int64_t groupSize, double bytes) const {
  return getBySize(kind, groupSize, bytes,
                   [](const CollectiveLine &line, double lineBytes) {
                     return line.getSeconds(lineBytes);
                   });
}

double CollectiveModel::getTransferSeconds(tp::CommunicationKind kind,
                                           int64_t groupSize,
                                           double bytes) const {
  return getBySize(kind, groupSize, bytes,
                   [](const CollectiveLine &line, double lineBytes) {
                     return lineBytes / line.bytesPerSecond;
                   });
}
