//===- PassDriver.h - runs passes, and runs on without those that fail ----===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PASSDRIVER_H
#define COMMUTE_TRANSFORMS_PASSDRIVER_H

#include "commute/Transforms/DecisionRecord.h"
#include "commute/Transforms/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <vector>

namespace commute {

/// A pass that failed because of an internal error.
struct PassFailure {
  std::string pass;
  /// Where and why.
  std::string message;
  /// The path of a file with the module and the passes that reproduce the
  /// failure; empty if none could be written.
  std::string reproducer;
  /// False if the pass made a rewrite that is impossible in a program that
  /// differs between ranks.
  bool isDefect = true;

  /// Returns a sentence for the user, without the name of the pass.
  std::string describe() const;
};

struct PassRun {
  /// The passes, in the format of `buildPipeline`.
  std::string passes;
  PassSettings settings;
  /// Returns the path of the reproducer of the n-th failure, counted from 1. If
  /// empty, no reproducers are written.
  std::function<std::string(unsigned)> getReproducer;
  /// Called before the passes are run again; earlier remarks are then invalid.
  std::function<void()> onRestart;
  /// Receives the decisions of passes with laws; may be null. Cleared before
  /// the passes are run again.
  DecisionRecord *record = nullptr;
};

/// Runs passes over a module. `original` must be a copy of it. Verifies the
/// module after each pass. First erases ops without users, unless no pass
/// rewrites anything. If a pass fails, restores the module and runs the other
/// passes again, as if the failed pass had not been requested. Returns an error
/// for an invalid pass or option, and for a module whose statements contradict
/// each other.
llvm::Expected<std::vector<PassFailure>>
runPasses(mlir::ModuleOp module, mlir::ModuleOp original, const PassRun &run);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PASSDRIVER_H
