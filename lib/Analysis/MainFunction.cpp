//===- MainFunction.cpp - the function that is a program --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/MainFunction.h"

using namespace mlir;
using namespace commute;

func::FuncOp analysis::getMain(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  if (!llvm::hasSingleElement(functions) ||
      !(*functions.begin()).getBody().hasOneBlock())
    return {};
  return *functions.begin();
}
