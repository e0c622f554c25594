//===- LockstepAlgebra.cpp - what one rank sends and receives ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/LockstepAlgebra.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;

FailureOr<SmallVector<AlgebraValue>>
LockstepAlgebra::exchange(Operation *, tp::GroupAttr group,
                          ArrayRef<AlgebraValue> toMembers) {
  if (nextExchange < exchanges.size() && exchanges[nextExchange].isComplete)
    return exchanges[nextExchange++].fromMembers;
  if (nextExchange == exchanges.size())
    exchanges.push_back({group, SmallVector<AlgebraValue>(toMembers), {}});
  waiting = true;
  return failure();
}

FailureOr<int64_t> LockstepAlgebra::getPosition(tp::GroupAttr group) {
  std::optional<int64_t> position = group.getPosition(rank);
  if (!position)
    return failure();
  return *position;
}
