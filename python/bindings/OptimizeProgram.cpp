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
#include "commute/Transforms/Pipeline.h"
#include "commute/Vocabulary/Translation.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

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
  /// What is wrong with the result.
  llvm::Error runPasses();
  /// False where the result is not known to be equal, and is to be dropped.
  llvm::Expected<bool> verify(mlir::ModuleOp before);
  llvm::Error write();

  const OptimizeSettings &settings;
  vocabulary::Vocabulary vocabulary;
  vocabulary::DistributedContext distributed;
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  report::RemarkCollector remarks;
  std::optional<mlir::PassManager> manager;
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
  manager.emplace(&context);
  if (llvm::Error error = buildPipeline(*manager, settings.passes,
                                        {settings.policy, settings.target}))
    return error;
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

llvm::Error Optimizer::runPasses() {
  std::string message;
  // Passes refuse by remarks; a diagnostic is a failure of the pass itself.
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (message.empty()) {
          llvm::raw_string_ostream os(message);
          os << diagnostic.getLocation() << ": " << diagnostic;
        }
        return mlir::success();
      });
  if (succeeded(manager->run(*imported.module)))
    return llvm::Error::success();
  return llvm::createStringError("a pass failed: " + message);
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
  if (!verdict->isEquivalent())
    return llvm::createStringError("the optimized graph is not equivalent: " +
                                   verdict->differences.front().message);
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
  if (llvm::Error error = runPasses())
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
