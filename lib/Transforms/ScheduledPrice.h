//===- ScheduledPrice.h - what a draft does to the schedule ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_SCHEDULEDPRICE_H
#define COMMUTE_LIB_TRANSFORMS_SCHEDULEDPRICE_H

#include "Draft.h"

#include "commute/Target/LaneSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute {

/// Prices drafts of one round by the schedule of their neighbourhood: the ops
/// from the first one that the draft changes to the first ones that need its
/// results, but at most a fixed number of ops. It begins in the state that the
/// schedule of the whole program has there. What other work hides costs
/// nothing, before or after.
class ScheduledPrices {
public:
  explicit ScheduledPrices(mlir::func::FuncOp function) : function(function) {}

  /// The seconds of the new ops, and those of what the draft replaces: as many
  /// more as the neighbourhood takes longer without it. Unknown if a size has
  /// no value. `getSecondsApart` tells how long an op takes if it is not
  /// replaced, where that is less than its price.
  Price getPrice(const ReplacementDraft &draft, const target::PriceModel &model,
                 llvm::function_ref<std::optional<double>(mlir::Operation *)>
                     getSecondsApart);

private:
  /// False if a size has no value.
  bool scheduleAll(const target::PriceModel &model);

  mlir::func::FuncOp function;
  bool isScheduled = false, isPriced = false;
  std::vector<mlir::Operation *> ops;
  std::vector<target::OpPrice> prices;
  llvm::DenseMap<mlir::Operation *, size_t> places;
  /// By op, the time from which the lanes are free before it.
  std::vector<std::pair<double, double>> freeBefore;
  target::LaneSchedule whole;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_SCHEDULEDPRICE_H
