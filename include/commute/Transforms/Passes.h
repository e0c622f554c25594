//===- Passes.h - Commute's passes ------------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PASSES_H
#define COMMUTE_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/LawPass.h"

namespace commute {

#define GEN_PASS_DECL
#include "commute/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "commute/Transforms/Passes.h.inc"

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PASSES_H
