//===- EqualOps.cpp - ops that compute the same values ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/EqualOps.h"

using namespace mlir;
using namespace commute::analysis;

EqualOpTable::Key EqualOpTable::makeKey(Operation *op) const {
  Key key{op, {}};
  for (Value operand : op->getOperands()) {
    Value first = firstOfValue.lookup(operand);
    key.operands.push_back(first ? first : operand);
  }
  return key;
}

void EqualOpTable::equate(Operation *op, Operation *first) {
  for (auto [value, same] :
       llvm::zip_equal(op->getResults(), first->getResults())) {
    Value known = firstOfValue.lookup(same);
    firstOfValue[value] = known ? known : same;
  }
}
