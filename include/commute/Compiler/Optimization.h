//===- Optimization.h - a module through passes and proof -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_OPTIMIZATION_H
#define COMMUTE_COMPILER_OPTIMIZATION_H

#include "commute/Equivalence/Verify.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Transforms/PassDriver.h"

#include "mlir/IR/OwningOpRef.h"

namespace commute::compiler {

struct OptimizationOptions {
  /// "a,b{option=value}"; empty for all passes.
  std::string passes;
  PassSettings settings;
  /// Proves the result equivalent.
  bool verifies = true;
  equivalence::VerifyOptions proof;
  /// The file for the reproducer of the n-th failed pass, from 1.
  std::function<std::string(unsigned)> getReproducer;
  /// Told what begins: "optimizing", "verifying".
  std::function<void(llvm::StringRef)> onStage;
};

/// Finds what is wrong with options before anything is read: an unknown target,
/// pass or option of a pass.
llvm::Error checkOptions(const OptimizationOptions &options);

/// What has become of a module.
struct Optimization {
  enum class Outcome {
    /// No pass changed it.
    Unchanged,
    /// It was changed, and proven equivalent where that was asked for.
    Changed,
    /// Nothing is proven as long as nobody states the members of its groups:
    /// `reason` says how.
    NeedsGroups,
    /// It cannot be compared with what it was: `reason` says why.
    CannotBeVerified,
    /// The proof exceeds its budget.
    NotProven,
    /// It computes something else: a defect of Commute.
    Different,
  };
  Outcome outcome = Outcome::Unchanged;
  std::string reason;
  /// Passes that failed, and were left out.
  std::vector<PassFailure> failures;
  /// Of what was compared.
  std::optional<equivalence::VerifyResult> verification;
  /// The module as it was.
  mlir::OwningOpRef<mlir::ModuleOp> original;
};

/// Runs passes over `module` and compares it with what it was. Remarks go to
/// `remarks`, which has to be attached to the module's context. The error is
/// for wrong options, and for a module that contradicts itself.
llvm::Expected<Optimization> optimize(mlir::ModuleOp module,
                                      const OptimizationOptions &options,
                                      report::RemarkCollector &remarks);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_OPTIMIZATION_H
