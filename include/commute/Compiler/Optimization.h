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
  /// Prove that the result is equivalent.
  bool verifies = true;
  /// Returns the program that a reader makes of the optimized module once it is
  /// written (see WrittenProgram.h), which is then compared with the original.
  /// Empty if the module itself is the result.
  std::function<llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>()>
      readWritten;
  equivalence::VerifyOptions proof;
  /// Accept a proof that rests on integers or orders that were drawn.
  bool allowsDrawn = false;
  /// Returns the path of the reproducer of the n-th failed pass, counted
  /// from 1.
  std::function<std::string(unsigned)> getReproducer;
  /// Called at the start of each stage: "optimizing", "verifying".
  std::function<void(llvm::StringRef)> onStage;
};

/// Checks options before any input is read. Returns an error for an unknown
/// target, pass or option of a pass.
llvm::Error checkOptions(const OptimizationOptions &options);

/// The result of `optimize`.
struct Optimization {
  enum class Outcome {
    /// No pass changed the module.
    Unchanged,
    /// The module was changed, and proven equivalent if requested.
    Changed,
    /// The module uses a value before it has arrived, so it has no defined
    /// values, and no pass ran. `reason` names the value.
    ReadsEarly,
    /// No proof is possible until the members of the program's groups are
    /// stated. `reason` says how to state them.
    NeedsGroups,
    /// The module cannot be compared with the original. `reason` says why.
    CannotBeVerified,
    /// The proof exceeds its budget.
    NotProven,
    /// The module computes different values, which is a bug in Commute.
    Different,
  };
  Outcome outcome = Outcome::Unchanged;
  std::string reason;
  /// Passes that failed and were skipped.
  std::vector<PassFailure> failures;
  /// If passes changed the module: the defaults that they may rest on, because
  /// nothing states otherwise (InputPlacements::describeDefaults).
  std::vector<std::string> assumptions;
  /// The result of the comparison, if there was one.
  std::optional<equivalence::VerifyResult> verification;
  /// The module before optimization.
  mlir::OwningOpRef<mlir::ModuleOp> original;
};

/// Runs passes over `module` and compares the result, as it is written, with
/// the original. Remarks go to `remarks`, which must be attached to the
/// module's context, and say that a module that reads early is left alone.
/// Returns an error for invalid options, for a module whose statements
/// contradict each other, and for a result that cannot be written.
llvm::Expected<Optimization> optimize(mlir::ModuleOp module,
                                      const OptimizationOptions &options,
                                      report::RemarkCollector &remarks);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_OPTIMIZATION_H
