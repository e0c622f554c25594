//===- CommuteReduce.cpp - test case reducer for .mlir files ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// mlir-reduce with the tp dialect, followed by steps that it lacks: results
// that are no longer returned, unused ops and unused inputs. What was done is
// told in words.
//
//===----------------------------------------------------------------------===//

#include "UnusedParts.h"

#include "commute/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

using namespace commute::reduce;

int main(int argc, char **argv) {
  // mlir-reduce changes the arguments.
  ReductionFiles files = ReductionFiles::find(argc, argv);
  mlir::DialectRegistry registry = getDialects();
  commute::registerCommutePasses();
  mlir::MLIRContext context(registry);
  // mlir-reduce tries modules that are illegal, whose errors would only puzzle.
  std::string messages;
  {
    llvm::raw_string_ostream os(messages);
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          os << diagnostic.getLocation() << ": " << diagnostic << '\n';
          return mlir::success();
        });
    if (mlir::failed(mlir::mlirReduceMain(argc, argv, context))) {
      llvm::errs() << messages;
      return 1;
    }
  }
  return mlir::failed(removeUnusedParts(files));
}
