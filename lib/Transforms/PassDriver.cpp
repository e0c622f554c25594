//===- PassDriver.cpp - runs passes, and runs on without those that fail --===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/PassDriver.h"

#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Analysis/Sizes/SymbolicSizes.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/LawPass.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace commute;

std::string PassFailure::describe() const {
  std::string text = "internal error: " + message + "; the pass was skipped";
  if (!reproducer.empty())
    text += "; please report this error and attach " + reproducer +
            ", which reproduces it";
  return text;
}

namespace {
/// Records the first pass that fails.
class FailureFinder : public PassInstrumentation {
public:
  explicit FailureFinder(Pass *&failed) : failed(failed) {}

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    // The enclosing pass managers fail after the pass itself.
    if (!failed)
      failed = pass;
  }

private:
  Pass *&failed;
};
} // namespace

/// Checks what a program states about its inputs and sizes. No pass can run on
/// a program with invalid statements.
static llvm::Error checkStatements(ModuleOp module) {
  if (llvm::Expected<analysis::SymbolicSizes> sizes =
          analysis::SymbolicSizes::resolve(module);
      !sizes)
    return sizes.takeError();
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    if (llvm::Expected<analysis::InputPlacements> placements =
            analysis::InputPlacements::resolveInAnyWorld(function);
        !placements)
      return placements.takeError();
  return llvm::Error::success();
}

/// Whether an op only computes values and all of them are unused.
static bool isUnread(Operation *op) {
  if (!op->use_empty() || op->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
  if (dense && llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
        return dense.writesInto(operand);
      }))
    return false;
  return isa<tp::CollectiveOpInterface, tp::CompletionOpInterface>(op) ||
         wouldOpBeTriviallyDead(op);
}

/// Erases unused ops; false if there are none. Prices would count them as work,
/// and rewrites would erase only some of them.
static bool eraseUnread(ModuleOp module) {
  bool isChanged = false;
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    for (Block &block : function.getBody())
      for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
        if (isUnread(&op)) {
          op.erase();
          isChanged = true;
        }
  return isChanged;
}

static bool areSame(ModuleOp a, ModuleOp b) {
  return OperationEquivalence::isEquivalentTo(
      a, b, OperationEquivalence::IgnoreLocations);
}

/// Restores a module to `original`.
static void restore(ModuleOp module, ModuleOp original) {
  OwningOpRef<ModuleOp> copy = original.clone();
  module->setAttrs(copy.get()->getAttrDictionary());
  module.getBodyRegion().takeBody(copy->getBodyRegion());
}

llvm::Expected<std::vector<PassFailure>>
commute::runPasses(ModuleOp module, ModuleOp original, const PassRun &run) {
  MLIRContext *context = module.getContext();
  llvm::Expected<std::vector<PassStep>> steps =
      planPipeline(run.passes, run.settings);
  if (!steps)
    return steps.takeError();
  if (llvm::Error error = checkStatements(module))
    return std::move(error);
  // The input of the passes, if it differs from the original.
  OwningOpRef<ModuleOp> read;
  if (eraseUnread(module))
    read = module.clone();
  std::vector<PassFailure> failures;
  while (true) {
    PassManager manager(context);
    OpPassManager &functions = manager.nest<func::FuncOp>();
    if (llvm::Error error = addPasses(functions, *steps))
      return std::move(error);
    for (Pass &pass : functions.getPasses())
      if (LawPass *laws = getLawPass(pass))
        laws->setRecord(run.record);
    Pass *failed = nullptr;
    manager.addInstrumentation(std::make_unique<FailureFinder>(failed));
    std::string reproducer =
        run.getReproducer ? run.getReproducer(failures.size() + 1) : "";
    if (!reproducer.empty())
      manager.enableCrashReproducerGeneration(reproducer);
    std::string message;
    // Refusals are remarks; a diagnostic is an internal error of a pass.
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      if (message.empty()) {
        llvm::raw_string_ostream os(message);
        if (!isa<UnknownLoc>(diagnostic.getLocation()))
          os << diagnostic.getLocation() << ": ";
        os << diagnostic;
      }
      return success();
    });
    if (succeeded(manager.run(module))) {
      // Return the original program if no pass changed it.
      if (read && areSame(*read, module))
        restore(module, original);
      return failures;
    }

    // The passes are in the order of the steps.
    auto passes = functions.getPasses();
    auto place =
        llvm::find_if(passes, [&](Pass &pass) { return &pass == failed; });
    if (place == passes.end())
      return llvm::createStringError("a pass failed: " + message);
    size_t index = std::distance(passes.begin(), place);
    std::string name = (*steps)[index].name;
    failures.push_back(
        {name, message, llvm::sys::fs::exists(reproducer) ? reproducer : ""});
    steps->erase(steps->begin() + index);
    restore(module, read ? *read : original);
    if (run.record)
      run.record->clear();
    if (run.onRestart)
      run.onRestart();
  }
}
