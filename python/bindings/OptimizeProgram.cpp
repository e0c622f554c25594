//===- OptimizeProgram.cpp - a program through the passes, in memory ------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OptimizeProgram.h"

#include "commute/Archive/Program.h"
#include "commute/Equivalence/Verify.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Target/Target.h"
#include "commute/Transforms/PassDriver.h"
#include "commute/Vocabulary/Translation.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <atomic>

using namespace commute;
using namespace commute::python;

namespace {
/// One program on its way there and back.
class Optimizer {
public:
  explicit Optimizer(const OptimizeSettings &settings) : settings(settings) {}

  OptimizedProgram run(std::string text);

private:
  /// What is wrong with program or settings.
  llvm::Error read(std::string text);
  /// Runs the passes over the program, which `original` is a copy of.
  llvm::Error runPasses(mlir::ModuleOp original);
  /// False where the result is not known to be equal, and is to be dropped.
  llvm::Expected<bool> verify(mlir::ModuleOp before);
  llvm::Error write();

  PassSettings getPassSettings() const {
    return {settings.policy, settings.target, /*exactRounding=*/false,
            /*isForPyTorch=*/true};
  }

  const OptimizeSettings &settings;
  vocabulary::Vocabulary vocabulary;
  vocabulary::DistributedContext distributed;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  report::RemarkCollector remarks;
  std::unique_ptr<archive::Program> program;
  vocabulary::ImportedProgram imported;
  /// Why a changed program is not given back.
  std::string dropped;
  OptimizedProgram result;
};
} // namespace

llvm::Error Optimizer::read(std::string text) {
  if (llvm::Expected<target::Target> known =
          target::loadTarget(settings.target);
      !known)
    return known.takeError();
  if (!settings.vocabulary.empty())
    if (llvm::Error error =
            vocabulary.addUserVocabulary(settings.vocabulary, "vocabulary"))
      return error;
  if (!settings.context.empty()) {
    llvm::Expected<vocabulary::DistributedContext> stated =
        vocabulary::parseSidecar(settings.context, "context");
    if (!stated)
      return stated.takeError();
    distributed = std::move(*stated);
  }
  distributed.hasOtherGroups = settings.hasOtherGroups;
  if (llvm::Expected<std::vector<PassStep>> steps =
          planPipeline(settings.passes, getPassSettings());
      !steps)
    return steps.takeError();
  llvm::Expected<std::unique_ptr<archive::Program>> parsed =
      archive::parseProgram(std::move(text), "the graph");
  if (!parsed)
    return parsed.takeError();
  program = std::move(*parsed);
  llvm::Expected<vocabulary::ImportedProgram> read =
      vocabulary::importProgram(*program, vocabulary, distributed, &context);
  if (!read)
    return read.takeError();
  imported = std::move(*read);
  return llvm::Error::success();
}

llvm::Error Optimizer::runPasses(mlir::ModuleOp original) {
  PassRun run;
  run.passes = settings.passes;
  run.settings = getPassSettings();
  // One for each program and process; nothing is there but after a failure.
  run.getReproducer = [](unsigned number) -> std::string {
    llvm::SmallString<128> path;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
    static std::atomic<unsigned> counter = 0;
    llvm::sys::path::append(
        path, "commute-" + std::to_string(llvm::sys::Process::getProcessId()) +
                  "-" + std::to_string(++counter) + ".reproducer.mlir");
    return std::string(path);
  };
  run.onRestart = [&] { remarks.clear(); };
  llvm::Expected<std::vector<PassFailure>> failures =
      commute::runPasses(*imported.module, original, run);
  if (!failures)
    return failures.takeError();
  for (const PassFailure &failure : *failures)
    remarks.add(report::describeFailure(failure.pass, failure.describe()));
  return llvm::Error::success();
}

llvm::Expected<bool> Optimizer::verify(mlir::ModuleOp before) {
  llvm::Expected<equivalence::VerifyResult> verdict =
      equivalence::verifyEquivalence(before, *imported.module, {});
  if (!verdict) {
    dropped = "the graph is left as it was, since the result could not be "
              "verified: " +
              llvm::toString(verdict.takeError());
    return false;
  }
  if (!verdict->differences.empty())
    return llvm::createStringError("the optimized graph is not equivalent: " +
                                   verdict->differences.front().message);
  if (verdict->notProven) {
    dropped = "the graph is left as it was, since the result is not proven: " +
              *verdict->notProven;
    return false;
  }
  return true;
}

llvm::Error Optimizer::write() {
  llvm::Expected<archive::ProgramEdits> edits = vocabulary::exportProgram(
      *imported.module, imported, *program, vocabulary);
  if (!edits)
    return edits.takeError();
  if (!edits->changesNothing(*program))
    result.edits = edits->describe(*program);
  return llvm::Error::success();
}

OptimizedProgram Optimizer::run(std::string text) {
  using Status = OptimizedProgram::Status;
  auto fail = [&](Status status, llvm::Error error) {
    result.status = status;
    result.message = llvm::toString(std::move(error));
    return std::move(result);
  };
  if (failed(remarks.attach(context)))
    return fail(Status::InternalError,
                llvm::createStringError("remarks cannot be collected"));
  if (llvm::Error error = read(std::move(text)))
    return fail(Status::BadInput, std::move(error));
  mlir::OwningOpRef<mlir::ModuleOp> before = imported.module->clone();
  if (llvm::Error error = runPasses(*before))
    return fail(Status::InternalError, std::move(error));
  bool isChanged = !mlir::OperationEquivalence::isEquivalentTo(
      *before, *imported.module, mlir::OperationEquivalence::IgnoreLocations);
  if (isChanged && settings.verify) {
    llvm::Expected<bool> isEqual = verify(*before);
    if (!isEqual)
      return fail(Status::InternalError, isEqual.takeError());
    isChanged = *isEqual;
  }
  if (isChanged)
    if (llvm::Error error = write())
      return fail(Status::InternalError, std::move(error));
  llvm::json::Array all = remarks.toJson();
  if (!dropped.empty())
    all.push_back(llvm::json::Object{{"verdict", "refused"},
                                     {"pass", "verify"},
                                     {"name", "NotVerified"},
                                     {"node", ""},
                                     {"message", dropped}});
  llvm::raw_string_ostream(result.remarks = "")
      << llvm::json::Value(std::move(all));
  return std::move(result);
}

OptimizedProgram python::optimizeProgram(std::string program,
                                         const OptimizeSettings &settings) {
  return Optimizer(settings).run(std::move(program));
}
