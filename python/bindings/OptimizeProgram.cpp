//===- OptimizeProgram.cpp - optimization in memory -----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OptimizeProgram.h"

#include "ProgramState.h"

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Compiler/Optimization.h"
#include "commute/Compiler/VerificationReport.h"
#include "commute/Dialect/CarrierAttributes.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

#include <atomic>

using namespace commute;
using namespace commute::compiler;
using namespace commute::python;

std::string python::getReproducerPath() {
  llvm::SmallString<128> path;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, path);
  static std::atomic<unsigned> counter = 0;
  llvm::sys::path::append(
      path, "commute-" + std::to_string(llvm::sys::Process::getProcessId()) +
                "-" + std::to_string(++counter) + ".reproducer.mlir");
  return std::string(path);
}

static OptimizationOptions getOptions(const OptimizeSettings &settings,
                                      Policy policy) {
  OptimizationOptions options;
  options.passes = settings.passes;
  options.settings = {policy, settings.target, settings.exactRounding,
                      /*isForPyTorch=*/true};
  options.verifies = settings.verify;
  options.proof.maxSeconds = settings.maxSeconds;
  options.proof.maxBytes = settings.maxBytes;
  options.getReproducer = [](unsigned) { return getReproducerPath(); };
  return options;
}

/// Returns why a changed graph is not returned to the caller, or an empty
/// string if it is.
static std::string getRefusal(const Optimization &optimization) {
  using Outcome = Optimization::Outcome;
  constexpr llvm::StringLiteral start = "the graph is unchanged: ";
  switch (optimization.outcome) {
  case Outcome::Unchanged:
  case Outcome::Changed:
  case Outcome::Different:
    return "";
  case Outcome::NeedsGroups:
  case Outcome::CannotBeVerified:
    return (start + "the result could not be verified: " + optimization.reason)
        .str();
  case Outcome::NotProven:
    return (start + "the result is not proven: " +
            *optimization.verification->notProven)
        .str();
  }
  llvm_unreachable("unknown outcome");
}

std::string python::getImpliedGroup(const std::string &target) {
  static const vocabulary::Vocabulary known;
  const vocabulary::OperatorAlias *alias = known.findAlias(target);
  if (!alias)
    return "";
  auto group = alias->constants.find("group_name");
  return group == alias->constants.end() ? "" : group->second.text.str();
}

OptimizedProgram python::optimizeProgram(std::string program,
                                         const OptimizeSettings &settings) {
  using Status = OptimizedProgram::Status;
  using Outcome = Optimization::Outcome;
  auto fail = [](Status status, llvm::Error error) {
    OptimizedProgram result;
    result.status = status;
    result.message = llvm::toString(std::move(error));
    return result;
  };
  llvm::Expected<Policy> policy = parsePolicy(settings.policy);
  if (!policy)
    return fail(Status::BadInput, policy.takeError());
  OptimizationOptions options = getOptions(settings, *policy);
  if (llvm::Error error = checkOptions(options))
    return fail(Status::BadInput, std::move(error));
  vocabulary::Vocabulary vocabulary;
  if (!settings.vocabulary.empty())
    if (llvm::Error error =
            vocabulary.addUserVocabulary(settings.vocabulary, "vocabulary"))
      return fail(Status::BadInput, std::move(error));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  report::RemarkCollector remarks;
  if (failed(remarks.attach(context)))
    return fail(Status::InternalError,
                llvm::createStringError("remarks cannot be collected"));
  llvm::Expected<LoadedProgram> loaded =
      readProgramText({std::move(program), "the graph", settings.context,
                       settings.hasOtherGroups, /*isOfOneRank=*/true},
                      vocabulary, context);
  if (!loaded)
    return fail(Status::BadInput, loaded.takeError());
  loaded->getModule()->setAttr(tp::elementTypeListsAttrName,
                               mlir::UnitAttr::get(&context));
  llvm::Expected<Optimization> optimization =
      optimize(loaded->getModule(), options, remarks);
  if (!optimization)
    return fail(Status::InternalError, optimization.takeError());
  if (optimization->outcome == Outcome::Different)
    return fail(Status::InternalError,
                llvm::createStringError(
                    "the optimized graph is not equivalent: " +
                    optimization->verification->differences.front().message));

  OptimizedProgram result;
  bool isUnprovenButAllowed =
      optimization->outcome == Outcome::NotProven && settings.allowUnproven;
  if (optimization->outcome == Outcome::Changed || isUnprovenButAllowed) {
    llvm::Expected<archive::ProgramEdits> edits = getEdits(*loaded, vocabulary);
    if (!edits)
      return fail(Status::InternalError, edits.takeError());
    if (!edits->changesNothing(*loaded->getGraph()))
      result.edits = edits->describe(*loaded->getGraph());
  }
  if (optimization->verification)
    llvm::raw_string_ostream(result.verification)
        << llvm::json::Value(toJson(*optimization->verification));
  llvm::json::Array all = remarks.toJson();
  if (std::string refusal = getRefusal(*optimization);
      !refusal.empty() && !isUnprovenButAllowed)
    all.push_back(llvm::json::Object{{"verdict", "refused"},
                                     {"pass", "verify"},
                                     {"name", "NotVerified"},
                                     {"node", ""},
                                     {"message", refusal}});
  llvm::raw_string_ostream(result.remarks = "")
      << llvm::json::Value(std::move(all));
  return result;
}
