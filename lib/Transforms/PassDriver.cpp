//===- PassDriver.cpp - runs passes, and runs on without those that fail --===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/PassDriver.h"

#include "PipelineChoice.h"

#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Analysis/Sizes/SymbolicSizes.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/LawPass.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace commute;

std::string PassFailure::describe() const {
  if (!isDefect)
    return message + "; the pass was skipped";
  std::string text = "internal error: " + message + "; the pass was skipped";
  if (!reproducer.empty())
    text += "; please report this error and attach " + reproducer +
            ", which reproduces it";
  return text;
}

/// Finds a collective that only some ranks would run. Of the operands of a
/// tp.rank_select each rank's program computes one, and what computes only the
/// others is not written, unless it is a node of the source graph.
static Operation *findCollectiveOfSomeRanks(func::FuncOp function) {
  if (function.getOps<tp::RankSelectOp>().empty())
    return nullptr;
  SmallVector<int64_t> world =
      analysis::getWorld(function->getParentOfType<ModuleOp>());
  // By op, the ranks that run it.
  DenseMap<Operation *, llvm::BitVector> ranksOf;
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    llvm::BitVector &ranks =
        ranksOf.try_emplace(&op, llvm::BitVector(world.size())).first->second;
    bool isKept = op.hasAttr(tp::TPDialect::namesAttrName) &&
                  !op.hasAttr(tp::TPDialect::variantAttrName);
    if (isKept || op.hasTrait<OpTrait::IsTerminator>() ||
        !isMemoryEffectFree(&op))
      ranks.set();
    for (OpOperand &use : op.getUses()) {
      const llvm::BitVector &ofUser = ranksOf[use.getOwner()];
      auto select = dyn_cast<tp::RankSelectOp>(use.getOwner());
      for (unsigned index : ofUser.set_bits())
        if (!select || select.getGroup().getPosition(world[index]) ==
                           use.getOperandNumber())
          ranks.set(index);
    }
    if (isa<tp::CollectiveOpInterface>(op) && ranks.any() && !ranks.all())
      return &op;
  }
  return nullptr;
}

namespace {
/// Records the first pass that fails, or creates a collective of some ranks.
class FailureFinder : public PassInstrumentation {
public:
  FailureFinder(Pass *&failed, Operation *&partial, std::string &message,
                bool checksRanks)
      : failed(failed), partial(partial), message(message),
        checksRanks(checksRanks) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    auto function = dyn_cast<func::FuncOp>(op);
    if (failed || !checksRanks || !function || function.isExternal())
      return;
    partial = findCollectiveOfSomeRanks(function);
    if (!partial)
      return;
    failed = pass;
    message =
        (partial->getName().getStringRef() + " for " + getNodeName(partial) +
         " would run on some ranks only, because the ranks use different "
         "values")
            .str();
  }

  void runAfterPassFailed(Pass *pass, Operation *op) override {
    // The enclosing pass managers fail after the pass itself.
    if (!failed)
      failed = pass;
  }

private:
  Pass *&failed;
  Operation *&partial;
  std::string &message;
  bool checksRanks;
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
  if (dense && dense.writesIntoOperands())
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

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// How often the default pipeline runs, until it changes nothing: what one
/// run leaves may let the next one rewrite more.
static constexpr unsigned maxRepetitions = 4;

namespace {
class PipelineRun {
public:
  PipelineRun(ModuleOp module, const PassRun &run)
      : module(module), run(run), checksRanks(!hasCollectiveOfSomeRanks()) {}

  enum class Reports { Everything, Rewrites, Nothing };

  /// Runs the passes over the module, which equals `input`, without those that
  /// fail. The error is about an option.
  llvm::Error execute(ModuleOp input, Reports reports);
  std::vector<PassFailure> takeFailures() { return std::move(failures); }

private:
  bool hasCollectiveOfSomeRanks() {
    return llvm::any_of(
        module.getOps<func::FuncOp>(), [](func::FuncOp function) {
          return !function.isExternal() && findCollectiveOfSomeRanks(function);
        });
  }
  llvm::Expected<std::vector<ChosenStep>> getSteps();
  /// Returns the index of the step that failed, if one has.
  llvm::Expected<std::optional<size_t>> attempt(ArrayRef<ChosenStep> steps,
                                                Reports reports);

  ModuleOp module;
  const PassRun &run;
  /// False for a text module that has such collectives from the beginning; it
  /// is not written for each rank.
  bool checksRanks;
  /// Passes that have failed.
  llvm::StringSet<> excluded;
  std::vector<PassFailure> failures;
  std::shared_ptr<std::vector<RewriteComponent>> components;
};
} // namespace

llvm::Expected<std::vector<ChosenStep>> PipelineRun::getSteps() {
  if (run.passes.empty()) {
    llvm::Expected<PipelineChoice> choice =
        choosePipeline(module, run.settings, excluded);
    if (!choice)
      return choice.takeError();
    components = std::move(choice->components);
    return std::move(choice->steps);
  }
  llvm::Expected<std::vector<PassStep>> planned =
      planPipeline(run.passes, run.settings);
  if (!planned)
    return planned.takeError();
  std::vector<ChosenStep> steps;
  for (PassStep &step : *planned)
    if (!excluded.contains(step.name))
      steps.push_back({std::move(step), nullptr});
  return steps;
}

llvm::Expected<std::optional<size_t>>
PipelineRun::attempt(ArrayRef<ChosenStep> steps, Reports reports) {
  MLIRContext *context = module.getContext();
  PassManager manager(context);
  OpPassManager &functions = manager.nest<func::FuncOp>();
  if (llvm::Error error = addPasses(
          functions, llvm::map_to_vector(steps, [](const ChosenStep &chosen) {
            return chosen.step;
          })))
    return std::move(error);
  for (auto [pass, chosen] : llvm::zip_equal(functions.getPasses(), steps)) {
    if (reports == Reports::Nothing)
      getPipelinePass(pass)->setTrial();
    if (LawPass *laws = getLawPass(pass)) {
      laws->setRecord(reports == Reports::Everything ? run.record : nullptr);
      laws->setListener(chosen.scope.get());
      laws->setReportsRefusals(reports == Reports::Everything);
    }
  }
  Pass *failed = nullptr;
  Operation *partial = nullptr;
  std::string message;
  manager.addInstrumentation(
      std::make_unique<FailureFinder>(failed, partial, message, checksRanks));
  std::string reproducer =
      run.getReproducer ? run.getReproducer(failures.size() + 1) : "";
  if (!reproducer.empty())
    manager.enableCrashReproducerGeneration(reproducer);
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
  if (mlir::succeeded(manager.run(module)) && !failed)
    return std::nullopt;
  // The passes are in the order of the steps.
  auto passes = functions.getPasses();
  auto place =
      llvm::find_if(passes, [&](Pass &pass) { return &pass == failed; });
  if (place == passes.end())
    return llvm::createStringError("a pass failed: " + message);
  size_t index = std::distance(passes.begin(), place);
  failures.push_back({steps[index].step.name, message,
                      llvm::sys::fs::exists(reproducer) ? reproducer : "",
                      /*isDefect=*/!partial});
  return index;
}

llvm::Error PipelineRun::execute(ModuleOp input, Reports reports) {
  while (true) {
    llvm::Expected<std::vector<ChosenStep>> steps = getSteps();
    if (!steps)
      return steps.takeError();
    llvm::Expected<std::optional<size_t>> failed = attempt(*steps, reports);
    if (!failed)
      return failed.takeError();
    if (!*failed)
      return llvm::Error::success();
    excluded.insert((*steps)[**failed].step.name);
    restore(module, input);
    if (reports != Reports::Everything)
      continue;
    if (run.record)
      run.record->clear();
    if (run.onRestart)
      run.onRestart();
  }
}

llvm::Expected<std::vector<PassFailure>>
commute::runPasses(ModuleOp module, ModuleOp original, const PassRun &run) {
  if (llvm::Error error = planPipeline(run.passes, run.settings).takeError())
    return std::move(error);
  if (llvm::Error error = checkStatements(module))
    return std::move(error);
  // The input of the passes, if it differs from the original.
  OwningOpRef<ModuleOp> read;
  if (eraseUnread(module))
    read = module.clone();
  PipelineRun pipeline(module, run);
  ModuleOp input = read ? *read : original;
  using Reports = PipelineRun::Reports;
  if (llvm::Error error = pipeline.execute(input, Reports::Everything))
    return std::move(error);
  if (run.passes.empty()) {
    OwningOpRef<ModuleOp> before;
    for (unsigned index = 1; index < maxRepetitions && !areSame(input, module);
         ++index) {
      before = module.clone();
      input = *before;
      // Some rewrites are taken back by the last pass. They are reported only
      // if others are not.
      if (llvm::Error error = pipeline.execute(input, Reports::Nothing))
        return std::move(error);
      if (areSame(input, module))
        break;
      restore(module, input);
      if (llvm::Error error = pipeline.execute(input, Reports::Rewrites))
        return std::move(error);
    }
  }
  // Return the original program if no pass changed it.
  if (read && areSame(*read, module))
    restore(module, original);
  return pipeline.takeFailures();
}
