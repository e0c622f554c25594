//===- ExplainCommand.cpp - commute explain ---------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "ExplanationReport.h"
#include "JsonOutput.h"
#include "ProgramOptions.h"
#include "Progress.h"
#include "SafeOutput.h"

#include "commute/Support/SimilarWord.h"
#include "commute/Target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class ExplainCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  llvm::Error checkOptions() const;

  cl::SubCommand command{
      "explain", "Say what the passes rewrite, what they refuse and why, and "
                 "what would help"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore, cl::sub(command),
                               cl::desc("IN")};
  cl::opt<std::string> passes{
      "passes", cl::sub(command), cl::value_desc("a,b,..."),
      cl::desc("Passes to run, as in opt (default: all)")};
  cl::opt<std::string> policy{
      "policy", cl::sub(command), cl::value_desc("always|profitable"),
      cl::init("profitable"),
      cl::desc("Apply every legal rewrite, or those that pay (default)")};
  cl::opt<std::string> target{
      "target", cl::sub(command), cl::value_desc("NAME|FILE"),
      cl::init(target::defaultTargetName.str()),
      cl::desc("Machine to price for (default: h100x8; see commute targets)")};
  cl::opt<bool> exactRounding{"exact-rounding", cl::sub(command),
                              cl::desc("Split and join matrix products only "
                                       "where no sum changes its order")};
  cl::opt<std::string> node{
      "node", cl::sub(command), cl::value_desc("NAME"),
      cl::desc("Only nodes of this name; * stands for any text")};
  cl::opt<std::string> pass{"pass", cl::sub(command), cl::value_desc("PASS"),
                            cl::desc("Only the decisions of this pass")};
  cl::opt<bool> refused{"refused", cl::sub(command),
                        cl::desc("Only rewrites that were refused")};
  cl::opt<std::string> why{
      "why", cl::sub(command), cl::value_desc("NODE"),
      cl::desc("Tell every law that was tried at one node, in order")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
  ProgramOptions options{command};
};
} // namespace

llvm::Error ExplainCommand::checkOptions() const {
  if (!pass.empty() && !llvm::is_contained(getPipelinePasses(), pass))
    return llvm::createStringError(
        "--pass=" + pass + ": there is no such pass" +
        describeSimilar(pass, getPipelinePasses()) + "; expected " +
        llvm::join(getPipelinePasses(), ", "));
  return llvm::Error::success();
}

llvm::Expected<ExitCode> ExplainCommand::run() {
  if (llvm::Error error = checkOptions())
    return std::move(error);
  llvm::Expected<Policy> chosenPolicy = parsePolicy(policy);
  if (!chosenPolicy)
    llvm::consumeError(chosenPolicy.takeError());
  if (!chosenPolicy || *chosenPolicy == Policy::Upstream)
    return llvm::createStringError("--policy=" + policy +
                                   ": expected always or profitable");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<LoadedProgram> file = options.read(inputs, context);
  if (!file)
    return file.takeError();
  ExplanationOptions explanationOptions;
  explanationOptions.passes = passes;
  explanationOptions.settings = {*chosenPolicy, target, exactRounding,
                                 /*isForPyTorch=*/!file->getArchives().empty()};
  if (!why.empty())
    explanationOptions.maxTrials = 0;
  auto stage = std::make_unique<Progress>("running the passes");
  explanationOptions.onProgress = [&](double part) { stage->update(part); };
  llvm::Expected<Explanation> explanation =
      explain(file->getModule(), explanationOptions);
  stage.reset();
  if (!explanation)
    return explanation.takeError();
  if (!why.empty()) {
    llvm::Expected<std::vector<DecisionRecord::Site>> story =
        findStory(*explanation, why);
    if (!story)
      return story.takeError();
    if (json)
      printJson(llvm::json::Object{{"file", file->origin},
                                   {"target", explanation->target},
                                   {"story", storyToJson(*story)}});
    else
      printStory(*story, safeOuts());
    return Success;
  }
  if (llvm::Error error = applyFilter({node, pass, refused}, *explanation))
    return std::move(error);
  if (json) {
    llvm::json::Object object = toJson(*explanation);
    object["file"] = file->origin;
    printJson(std::move(object));
  } else {
    print(*explanation, file->origin, safeOuts());
  }
  return Success;
}

std::unique_ptr<Command> tool::createExplainCommand() {
  return std::make_unique<ExplainCommand>();
}
