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

/// A pass that failed, by an error of its own.
struct PassFailure {
  std::string pass;
  /// Where and why.
  std::string message;
  /// A file with the module and the passes that show the failure; empty where
  /// none could be written.
  std::string reproducer;
  /// False if the pass did what it cannot do in a program that differs between
  /// ranks.
  bool isDefect = true;

  /// A sentence for the user, without the pass.
  std::string describe() const;
};

struct PassRun {
  /// As `buildPipeline` takes them.
  std::string passes;
  PassSettings settings;
  /// The file for the reproducer of the n-th failure, from 1; no reproducers
  /// without.
  std::function<std::string(unsigned)> getReproducer;
  /// Called before the passes run anew: remarks made until then do not hold.
  std::function<void()> onRestart;
  /// Where passes with laws note what they decided; null for nowhere. Cleared
  /// before the passes run anew.
  DecisionRecord *record = nullptr;
};

/// Runs passes over a module, which `original` is a copy of. The module is
/// verified after each. Ops that nobody reads are erased first, unless no pass
/// rewrites anything. A failed pass costs what it would have done, not the
/// run: the module is restored and the others run anew, as if the pass had not
/// been named. The error is for a wrong pass or option, and for a module that
/// contradicts itself.
llvm::Expected<std::vector<PassFailure>>
runPasses(mlir::ModuleOp module, mlir::ModuleOp original, const PassRun &run);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PASSDRIVER_H
