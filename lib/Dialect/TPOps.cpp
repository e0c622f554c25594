//===- TPOps.cpp - the generated parts of the tp ops ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The semantics of ops are in other files, grouped by how the ops treat
// dimensions: ElementwiseOps, RowwiseOps, MatmulOps, ReindexOps, CollectiveOps,
// FusedOps, CallOp.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace commute::tp;

#define GET_OP_CLASSES
#include "commute/Dialect/TPOps.cpp.inc"

void TPDialect::registerOps() {
  addOperations<
#define GET_OP_LIST
#include "commute/Dialect/TPOps.cpp.inc"
      >();
}
