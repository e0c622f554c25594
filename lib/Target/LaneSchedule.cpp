//===- LaneSchedule.cpp - ops on two lanes, as they are issued ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/LaneSchedule.h"

using namespace mlir;
using namespace commute;
using namespace commute::target;

Value target::getSharedOperand(Operation *op, const OpPrice &price) {
  if (op->getNumOperands() == 0)
    return {};
  if (auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op))
    for (OpOperand &operand : op->getOpOperands())
      if (dense.writesInto(operand))
        return operand.get();
  auto strideOp = dyn_cast<tp::StrideOpInterface>(op);
  bool isView =
      strideOp && strideOp.mayShareMemory() && price.getSeconds() == 0;
  return isView ? op->getOperand(0) : Value();
}

Value LaneSchedule::resolve(Value value) const {
  while (Value other = substitutes.lookup(value))
    value = other;
  return value;
}

LaneSchedule::Readiness *LaneSchedule::find(Value value) {
  value = resolve(value);
  if (auto known = storageOf.find(value); known != storageOf.end())
    return &storages[known->second];
  std::optional<Readiness> readiness = outside ? outside(value) : std::nullopt;
  if (!readiness)
    return nullptr;
  storageOf[value] = storages.size();
  storages.push_back(*readiness);
  return &storages.back();
}

std::optional<LaneSchedule::Readiness>
LaneSchedule::findReadiness(Value value) const {
  auto known = storageOf.find(value);
  if (known == storageOf.end())
    return std::nullopt;
  return storages[known->second];
}

double LaneSchedule::occupy(Lane lane, Operation *op, double earliest,
                            double seconds, bool isCopy) {
  double &free = freeSeconds[static_cast<unsigned>(lane)];
  double start = std::max(earliest, free);
  free = start + seconds;
  events.push_back({lane, op, isCopy, start, seconds});
  return free;
}

double LaneSchedule::waitFor(ValueRange values) {
  double ready = 0;
  for (Value value : values) {
    Readiness *storage = find(value);
    if (!storage)
      continue;
    if (storage->unpackSeconds > 0) {
      storage->seconds =
          occupy(Lane::Compute, storage->unpackOp, storage->seconds,
                 storage->unpackSeconds, /*isCopy=*/true);
      storage->unpackSeconds = 0;
    }
    ready = std::max(ready, storage->seconds);
  }
  return ready;
}

void LaneSchedule::issue(Operation *op, const OpPrice &price) {
  Value shared = getSharedOperand(op, price);
  if (shared) {
    bool isKnown = find(shared);
    shared = resolve(shared);
    if (!isKnown) {
      storageOf[shared] = storages.size();
      storages.emplace_back();
    }
    for (Value result : op->getResults())
      storageOf[result] = storageOf.lookup(shared);
  }
  if (price.getSeconds() == 0)
    return;
  double ready = waitFor(op->getOperands());
  double end = 0;
  if (price.overlaps()) {
    // Wait until both lanes are free, and occupy both until the end.
    double start = std::max({ready, freeSeconds[0], freeSeconds[1]});
    occupy(Lane::Compute, op, start, price.computeSeconds);
    occupy(Lane::Communication, op, start, price.communicationSeconds);
    end = start + price.getSeconds();
    freeSeconds[0] = freeSeconds[1] = end;
  } else if (price.communicationSeconds > 0) {
    if (price.packSeconds > 0)
      ready = occupy(Lane::Compute, op, ready, price.packSeconds,
                     /*isCopy=*/true);
    end = occupy(Lane::Communication, op, ready, price.communicationSeconds);
  } else {
    end = occupy(Lane::Compute, op, ready, price.computeSeconds);
  }
  Readiness readiness{end, price.unpackSeconds, op};
  for (Value result : op->getResults()) {
    auto [known, isNew] = storageOf.try_emplace(result, storages.size());
    if (isNew)
      storages.push_back(readiness);
    else
      storages[known->second] = readiness;
  }
}
