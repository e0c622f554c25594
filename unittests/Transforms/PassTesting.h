//===- PassTesting.h - what tests of passes share ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_TRANSFORMS_PASSTESTING_H
#define COMMUTE_UNITTESTS_TRANSFORMS_PASSTESTING_H

#include "commute/Equivalence/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

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

/// Whether `after` is proven to compute what `before` does.
inline testing::AssertionResult isProvenEquivalent(mlir::ModuleOp before,
                                                   mlir::ModuleOp after) {
  llvm::Expected<equivalence::VerifyResult> verdict =
      equivalence::verifyEquivalence(before, after, {});
  if (!verdict)
    return testing::AssertionFailure() << llvm::toString(verdict.takeError());
  if (verdict->isEquivalent())
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << verdict->differences.front().message << "\n"
         << print(after);
}

/// Whether a program, which `run` has changed already, stays as it is when it
/// is run once more.
inline testing::AssertionResult
isFixedPoint(mlir::ModuleOp once,
             llvm::function_ref<mlir::LogicalResult(mlir::ModuleOp)> run) {
  mlir::OwningOpRef<mlir::ModuleOp> twice = once.clone();
  if (mlir::failed(run(*twice)))
    return testing::AssertionFailure() << "the second run fails";
  if (isSame(once, *twice))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "once:\n"
                                     << print(once) << "twice:\n"
                                     << print(*twice);
}

} // namespace commute::test

#endif // COMMUTE_UNITTESTS_TRANSFORMS_PASSTESTING_H
