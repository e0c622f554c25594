//===- PassTesting.h - what tests of passes share ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_TRANSFORMS_PASSTESTING_H
#define COMMUTE_UNITTESTS_TRANSFORMS_PASSTESTING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/PassManager.h"

#include <cstdlib>
#include <string>

namespace commute::test {

/// The number in an environment variable, by which campaigns are longer than
/// the slice of them in `make test`.
inline uint64_t getNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

inline mlir::LogicalResult runPass(mlir::ModuleOp module,
                                   std::unique_ptr<mlir::Pass> pass) {
  mlir::PassManager manager(module.getContext());
  manager.addNestedPass<mlir::func::FuncOp>(std::move(pass));
  return manager.run(module);
}

inline std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

inline bool isSame(mlir::ModuleOp a, mlir::ModuleOp b) {
  return mlir::OperationEquivalence::isEquivalentTo(
      a, b, mlir::OperationEquivalence::IgnoreLocations);
}

} // namespace commute::test

#endif // COMMUTE_UNITTESTS_TRANSFORMS_PASSTESTING_H
