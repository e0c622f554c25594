//===- SharedMemory.cpp - values that lie in one memory ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

SharedMemory::SharedMemory(func::FuncOp function) {
  llvm::copy_if(
      function.getOps<tp::CallOp>(), std::back_inserter(writers),
      [](tp::CallOp call) { return !call.getMutatedOperands().empty(); });
  if (writers.empty())
    return;
  for (BlockArgument argument : function.getArguments())
    homes[argument] = {{argument, true}};
  for (Operation &op : function.getBody().front()) {
    auto strides = dyn_cast<tp::StrideOpInterface>(op);
    bool mayShare = strides && strides.mayShareMemory();
    bool isView =
        isa<tp::BitcastOp, tp::PermuteOp, tp::SliceOp, tp::BroadcastOp,
            tp::RankSliceOp, tp::WaitOp, tp::RegionMarkerOp>(op);
    for (Value result : op.getResults()) {
      auto &own = homes[result];
      if (!isView)
        own.push_back({result, true});
      if (!mayShare)
        continue;
      for (Value operand : op.getOperands())
        for (Home home : getHomes(operand))
          homes[result].push_back({home.owner, isView && home.isCertain});
    }
  }
}

const SmallVector<SharedMemory::Home, 1> &
SharedMemory::getHomes(Value value) const {
  return homes.find(value)->second;
}

SharedMemory::Sharing SharedMemory::isWritten(tp::CallOp call,
                                              Value value) const {
  Sharing sharing = No;
  for (int64_t index : call.getMutatedOperands()) {
    Value written = call.getOperands()[index];
    if (written == value)
      return Certainly;
    for (const Home &home : getHomes(written))
      for (const Home &own : getHomes(value)) {
        if (own.owner != home.owner)
          continue;
        if (own.isCertain && home.isCertain)
          return Certainly;
        sharing = Possibly;
      }
  }
  return sharing;
}

bool SharedMemory::mayBeWritten(Value value) const {
  return llvm::any_of(
      writers, [&](tp::CallOp call) { return isWritten(call, value) != No; });
}
