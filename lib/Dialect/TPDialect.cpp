//===- TPDialect.cpp - the tp dialect ---------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute::tp;

#include "commute/Dialect/TPDialect.cpp.inc"
#include "commute/Dialect/TPInterfaces.cpp.inc"

void TPDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
}
