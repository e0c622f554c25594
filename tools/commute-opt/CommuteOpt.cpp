//===- CommuteOpt.cpp - pass driver for .mlir files -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/Passes.h"
#include "commute/Transforms/TestPasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<commute::tp::TPDialect, mlir::func::FuncDialect>();
  mlir::registerTransformsPasses();
  commute::registerCommutePasses();
  commute::registerCommuteTestPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Commute's passes on the tp dialect\n", registry));
}
