//===- LaneSchedule.h - ops on two lanes, as they are issued --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TARGET_LANESCHEDULE_H
#define COMMUTE_TARGET_LANESCHEDULE_H

#include "commute/Target/PriceModel.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <vector>

namespace commute::target {

/// The two resources of a device, which work concurrently.
enum class Lane { Compute, Communication };

/// An interval in which a lane is busy.
struct LaneEvent {
  Lane lane = Lane::Compute;
  mlir::Operation *op = nullptr;
  /// True for a reordering copy that belongs to a collective.
  bool isCopy = false;
  double startSeconds = 0;
  double seconds = 0;
};

/// Returns the operand whose storage an op's results share, or null if they
/// have storage of their own.
mlir::Value getSharedOperand(mlir::Operation *op, const OpPrice &price);

/// Issues ops in order. An op starts when its lane is free and its operands are
/// available, so a collective overlaps with the ops after it, up to the first
/// one (apart from views) that uses its result.
class LaneSchedule {
public:
  /// When a value is available.
  struct Readiness {
    double seconds = 0;
    /// The reordering copy that is pending before the first use, and the
    /// collective that it belongs to.
    double unpackSeconds = 0;
    mlir::Operation *unpackOp = nullptr;
  };
  /// Tells the readiness of values that no issued op defines; nullopt for those
  /// that are available from the beginning.
  using Outside = std::function<std::optional<Readiness>(mlir::Value)>;

  /// Both lanes are free from the beginning.
  LaneSchedule() = default;
  LaneSchedule(double computeFrom, double communicationFrom, Outside outside)
      : freeSeconds{computeFrom, communicationFrom},
        outside(std::move(outside)) {}

  /// Makes `value` stand for `other`, where ops use that.
  void substitute(mlir::Value other, mlir::Value value) {
    substitutes[other] = value;
  }
  void issue(mlir::Operation *op, const OpPrice &price);
  /// Returns the time at which all of these are available, after pending
  /// reordering copies.
  double waitFor(mlir::ValueRange values);

  /// The time from which a lane is free.
  double getFree(Lane lane) const {
    return freeSeconds[static_cast<unsigned>(lane)];
  }
  std::optional<Readiness> findReadiness(mlir::Value value) const;
  std::vector<LaneEvent> takeEvents() { return std::move(events); }

private:
  /// The value that stands for another one.
  mlir::Value resolve(mlir::Value value) const;
  /// The readiness that a value shares with those that it is a view of; null if
  /// nothing is known of it.
  Readiness *find(mlir::Value value);
  /// Occupies a lane, no earlier than `earliest`, and returns the end time.
  double occupy(Lane lane, mlir::Operation *op, double earliest, double seconds,
                bool isCopy = false);

  double freeSeconds[2] = {0, 0};
  Outside outside;
  llvm::DenseMap<mlir::Value, mlir::Value> substitutes;
  std::vector<Readiness> storages;
  llvm::DenseMap<mlir::Value, unsigned> storageOf;
  std::vector<LaneEvent> events;
};

} // namespace commute::target

#endif // COMMUTE_TARGET_LANESCHEDULE_H
