//===- TestPasses.h - passes that show analyses -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_TESTPASSES_H
#define COMMUTE_TRANSFORMS_TESTPASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace commute {

#define GEN_PASS_DECL
#include "commute/Transforms/TestPasses.h.inc"

#define GEN_PASS_REGISTRATION
#include "commute/Transforms/TestPasses.h.inc"

} // namespace commute

#endif // COMMUTE_TRANSFORMS_TESTPASSES_H
