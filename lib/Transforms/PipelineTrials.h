//===- PipelineTrials.h - passes run on copies, to compare results --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_PIPELINETRIALS_H
#define COMMUTE_LIB_TRANSFORMS_PIPELINETRIALS_H

#include "PassPrices.h"
#include "RewriteComponents.h"

#include "commute/Transforms/PassTraits.h"
#include "commute/Transforms/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringSet.h"

namespace commute {

/// A pass, and the sites that it may rewrite.
struct ChosenStep {
  PassStep step;
  /// Null for all sites.
  std::shared_ptr<RewriteListener> scope;
};

/// The parts of the default pipeline, and runs of them that report nothing.
class PipelineTrials {
public:
  explicit PipelineTrials(const PassSettings &settings) : settings(settings) {}

  /// Plans the default pipeline without some passes. The error is about an
  /// option.
  llvm::Error plan(const llvm::StringSet<> &excluded);
  /// Loads the prices that programs are compared by. False if a size of the
  /// function has no value.
  bool loadPrices(mlir::func::FuncOp function);

  const PassSettings &getSettings() const { return settings; }
  llvm::StringRef getTargetName() const {
    return prices->getModel().getTarget().name;
  }
  /// The passes that compete, in their default order.
  llvm::ArrayRef<llvm::StringRef> getCompeting() const { return competing; }
  static bool isLocal(llvm::StringRef pass) {
    return findPassTraits(pass)->isLocal;
  }
  bool isPostponed(llvm::StringRef pass) const {
    return llvm::is_contained(settings.postponed, pass);
  }

  /// The steps before those that compete.
  llvm::ArrayRef<PassStep> getHead() const { return head; }
  /// A pass that competes, and what normalizes its result.
  llvm::ArrayRef<PassStep> getSteps(llvm::StringRef pass) const;
  /// Adds the steps after those that compete.
  void appendTail(std::vector<ChosenStep> &steps) const;
  /// All passes in their default order.
  std::vector<ChosenStep> getDefault() const;

  /// Runs steps; nullopt if one fails, else whether one changed anything.
  std::optional<bool> run(mlir::ModuleOp input,
                          llvm::ArrayRef<ChosenStep> steps,
                          RewriteTrials::Recorder *recorder = nullptr) const;
  std::optional<bool> run(mlir::ModuleOp input, llvm::StringRef pass,
                          RewriteTrials::Recorder *recorder = nullptr) const;
  /// The time of a program after the steps that follow those that compete;
  /// nullopt if it has no price.
  std::optional<double> predict(mlir::ModuleOp input) const;

private:
  PassSettings settings;
  std::vector<PassStep> head, tail;
  llvm::SmallVector<llvm::StringRef, 3> competing;
  std::vector<std::vector<PassStep>> stepsOfCompeting;
  std::unique_ptr<PassPrices> prices;
};

/// Adds steps that may rewrite all sites.
void append(std::vector<ChosenStep> &steps, llvm::ArrayRef<PassStep> added);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_PIPELINETRIALS_H
