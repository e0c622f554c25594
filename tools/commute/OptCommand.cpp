//===- OptCommand.cpp - commute opt -----------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "JsonOutput.h"
#include "OptimizationSummary.h"
#include "OutputSettings.h"
#include "ProgramOptions.h"
#include "Progress.h"
#include "ProofOptions.h"
#include "ReportFile.h"
#include "SafeOutput.h"

#include "commute/Compiler/Explanation.h"
#include "commute/Compiler/Optimization.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/VerificationReport.h"
#include "commute/Compiler/WrittenProgram.h"
#include "commute/Report/AlikeSites.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/BuryPointer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class OptCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  OptimizationOptions getOptimizationOptions(Policy chosenPolicy,
                                             bool isForPyTorch) const;
  /// Prints why a result is not written. Returns the exit code; Success if the
  /// result may be written.
  llvm::Expected<ExitCode> judge(const Optimization &optimization,
                                 const LoadedProgram &file,
                                 const report::RemarkCollector &remarks) const;
  /// Returns true if the output is a folder with the archives of all ranks, and
  /// false if it is one file. The error says what is wrong with its name.
  llvm::Expected<bool> writesFolder() const;
  llvm::Error writeReport(const report::RemarkCollector &remarks,
                          const LoadedProgram &file,
                          const Optimization &optimization,
                          const PassSettings &settings) const;
  /// Prints the remarks and the proof.
  void printWork(const report::RemarkCollector &remarks,
                 const Optimization &optimization, llvm::raw_ostream &os) const;
  void printSummary(const report::RemarkCollector &remarks,
                    const LoadedProgram &file, const Optimization &optimization,
                    const WriteSummary &summary) const;

  cl::SubCommand command{"opt", "Optimize a graph"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore, cl::sub(command),
                               cl::desc("IN")};
  cl::opt<std::string> output{
      "o", cl::Required, cl::sub(command), cl::value_desc("OUT"),
      cl::desc("Output file; a folder for the archives of all ranks")};
  cl::opt<std::string> passes{
      "passes", cl::sub(command), cl::value_desc("a,b,..."),
      cl::desc("Passes to run, in this order, with options in braces: a{x=1} "
               "(default: all; see commute passes)")};
  cl::opt<std::string> policy{
      "policy", cl::sub(command), cl::value_desc("always|profitable"),
      cl::init("profitable"),
      cl::desc("Apply every legal rewrite, or those that pay (default)")};
  cl::opt<std::string> target{
      "target", cl::sub(command), cl::value_desc("NAME|FILE"),
      cl::init("h100x8"),
      cl::desc("Machine to price for (default: h100x8; see commute targets)")};
  cl::opt<bool> exactRounding{"exact-rounding", cl::sub(command),
                              cl::desc("Split and join matrix products only "
                                       "where no sum changes its order")};
  cl::opt<bool> noVerify{
      "no-verify", cl::sub(command),
      cl::desc("Do not prove the result equivalent, and do not read it back "
               "before it is written (each pass is still checked to leave a "
               "legal module)")};
  cl::opt<bool> allowUnproven{
      "allow-unproven", cl::sub(command),
      cl::desc("Write the result even if the proof exceeds its budget")};
  cl::opt<bool> allowDrawn{
      "allow-drawn", cl::sub(command),
      cl::desc("Write the result even if the proof rests on integers or orders "
               "that were drawn at random")};
  cl::opt<std::string> reportFile{
      "report", cl::sub(command), cl::value_desc("FILE.html"),
      cl::desc("Write the step before and after, the rewrites, the "
               "refusals and the proof as an HTML page")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
  cl::opt<bool> force{"force", cl::sub(command),
                      cl::desc("Write even if OUT is the input")};
  ProgramOptions options{command};
  ProofOptions proof{command};
};
} // namespace

/// The number of nodes in the graph that was read.
static std::optional<size_t> getNumNodes(const LoadedProgram &file) {
  std::vector<const archive::ProgramArchive *> archives = file.getArchives();
  if (archives.empty())
    return std::nullopt;
  return archives.front()->program->graph.nodes.size();
}

OptimizationOptions
OptCommand::getOptimizationOptions(Policy chosenPolicy,
                                   bool isForPyTorch) const {
  OptimizationOptions result;
  result.passes = passes;
  result.settings = {chosenPolicy, target, exactRounding, isForPyTorch};
  result.verifies = !noVerify;
  result.allowsDrawn = allowDrawn;
  result.getReproducer = [&](unsigned number) {
    return output + (number > 1 ? "." + std::to_string(number) : "") +
           ".reproducer.mlir";
  };
  return result;
}

llvm::Expected<ExitCode>
OptCommand::judge(const Optimization &optimization, const LoadedProgram &file,
                  const report::RemarkCollector &remarks) const {
  using Outcome = Optimization::Outcome;
  switch (optimization.outcome) {
  case Outcome::Unchanged:
  case Outcome::Changed:
    return Success;
  case Outcome::ReadsEarly:
    return llvm::createStringError(file.origin + ": " + optimization.reason);
  case Outcome::NeedsGroups:
    return llvm::createStringError(
        file.origin +
        ": the result cannot be proven equivalent: " + optimization.reason);
  case Outcome::CannotBeVerified:
    return llvm::createStringError(
        file.origin +
        ": the result could not be verified: " + optimization.reason +
        "; nothing was written (--no-verify writes it unverified)");
  case Outcome::NotProven:
    if (allowUnproven)
      return Success;
    // What was found is worth reading all the same.
    if (!json && output != "-") {
      printWork(remarks, optimization, safeOuts());
      printTable(measure(file, optimization, target), std::nullopt,
                 std::nullopt, safeOuts());
    }
    safeErrs() << "commute: the result is not proven equivalent: "
               << *optimization.verification->notProven
               << "; nothing was written ("
               << describeRemedy(*optimization.verification) << ")\n";
    return NotDecided;
  case Outcome::Different:
    break;
  }
  safeErrs() << "commute: internal error: the optimized graph is not "
                "equivalent; nothing was written\n";
  print(*optimization.verification, safeErrs());
  std::string reproducer = output + ".reproducer.mlir";
  if (!llvm::errorToBool(
          llvm::writeToOutput(reproducer, [&](llvm::raw_ostream &os) {
            optimization.original.get().print(os);
            return llvm::Error::success();
          })))
    safeErrs() << reproducer << " contains the input: please report this\n";
  return InternalError;
}

llvm::Error OptCommand::writeReport(const report::RemarkCollector &remarks,
                                    const LoadedProgram &file,
                                    const Optimization &optimization,
                                    const PassSettings &settings) const {
  llvm::Expected<target::Target> machine = target::loadTarget(target);
  if (!machine)
    return machine.takeError();
  ReportFile page("opt", std::move(*machine));
  page.addProgram("before", file.origin, *optimization.original, file);
  page.addProgram("after", output, file.getModule(), file);
  if (optimization.verification)
    page.addProof(*optimization.verification);
  page.addRemarks(remarks);
  // The passes run again; their remarks are those that were already collected.
  (*optimization.original)->getContext()->setRemarkEngine(nullptr);
  ExplanationOptions explanationOptions;
  explanationOptions.passes = passes;
  explanationOptions.settings = settings;
  llvm::Expected<Explanation> explanation =
      explain(*optimization.original, explanationOptions);
  if (!explanation)
    return explanation.takeError();
  page.addExplanation(*explanation);
  return page.write(reportFile, "commute opt " + file.origin);
}

void OptCommand::printWork(const report::RemarkCollector &remarks,
                           const Optimization &optimization,
                           llvm::raw_ostream &os) const {
  if (isVerbose())
    remarks.print(os);
  else
    report::printFolded(remarks.getEntries(), os);
  if (optimization.verification) {
    os << "proof: ";
    print(*optimization.verification, os);
    return;
  }
  // There are none of a module that is unchanged.
  for (const std::string &assumption : optimization.assumptions)
    os << "assumed (not stated): " << assumption << '\n';
}

/// Returns what is known of the written program.
static std::string describeVerdict(const Optimization &optimization) {
  if (!optimization.verification)
    return "written, not verified";
  const equivalence::VerifyResult &result = *optimization.verification;
  if (result.notProven)
    return "written, although it is not proven equivalent";
  std::string text = "equivalent on " + std::to_string(result.numRanks) +
                     (result.numRanks == 1 ? " rank" : " ranks");
  if (result.drawn)
    text += ", as far as drawings show";
  return text;
}

void OptCommand::printSummary(const report::RemarkCollector &remarks,
                              const LoadedProgram &file,
                              const Optimization &optimization,
                              const WriteSummary &summary) const {
  // With -o -, standard output is the graph itself.
  bool isData = output == "-";
  llvm::raw_ostream &os = isData ? safeErrs() : safeOuts();
  if (isQuiet() && !json)
    return;
  OptimizationFigures figures = measure(file, optimization, target);
  std::optional<size_t> numNodes = getNumNodes(file);
  if (json) {
    llvm::json::Object object{
        {"input", file.origin},
        {"output", output.getValue()},
        {"nodes_after", static_cast<int64_t>(summary.numNodes)},
        {"unchanged", summary.isUnchanged},
        {"remarks", remarks.toJson()}};
    if (optimization.verification)
      object["verification"] = toJson(*optimization.verification);
    object["assumptions"] = llvm::json::Array(optimization.assumptions);
    object["notes"] = llvm::json::Array(file.distributed.notes);
    addTo(object, figures);
    if (numNodes)
      object["nodes_before"] = static_cast<int64_t>(*numNodes);
    if (!file.ranks.empty())
      object["ranks"] = static_cast<int64_t>(file.ranks.size());
    printJson(std::move(object), isData ? safeErrs() : dataOuts());
    return;
  }
  printWork(remarks, optimization, os);
  using Outcome = Optimization::Outcome;
  if (!summary.isUnchanged && optimization.outcome != Outcome::Unchanged &&
      optimization.outcome != Outcome::ReadsEarly) {
    printTable(figures, numNodes, summary.numNodes, os);
    if (figures.replicated && figures.replicated->isMost()) {
      os << describe(*figures.replicated) << '\n';
      for (const std::string &note : file.distributed.notes)
        os << note << '\n';
    }
    os << output << ": " << describeVerdict(optimization) << '\n';
    return;
  }
  os << output << ": the graph is unchanged, " << summary.numNodes
     << (numNodes ? " nodes" : " ops");
  if (!file.ranks.empty())
    os << ", on each of " << file.ranks.size() << " ranks";
  os << '\n';
  for (const std::string &reason :
       explainUnchanged(file, inputs, figures, remarks))
    os << "  " << reason << '\n';
}

llvm::Expected<bool> OptCommand::writesFolder() const {
  llvm::StringRef path = output;
  if (!areOfRanks(inputs)) {
    llvm::Expected<FileKind> kind = getFileKind(path);
    return kind ? llvm::Expected<bool>(false) : kind.takeError();
  }
  if (path == "-" || path.ends_with(".mlir") || path.ends_with(".mlirbc"))
    return false;
  if (path.ends_with(".pt2"))
    return llvm::createStringError(
        path + ": expected a folder, because the archives of all ranks are "
               "given; name a folder, or give a single archive as input");
  return true;
}

llvm::Expected<ExitCode> OptCommand::run() {
  // First check what would otherwise fail only at the end.
  if (llvm::Error error = checkOverwrite("-o", output, inputs, force))
    return std::move(error);
  if (llvm::Error error = checkOverwrite("--report", reportFile, inputs))
    return std::move(error);
  llvm::Expected<bool> isFolder = writesFolder();
  if (!isFolder)
    return isFolder.takeError();
  llvm::Expected<Policy> chosenPolicy = parsePolicy(policy);
  if (!chosenPolicy)
    llvm::consumeError(chosenPolicy.takeError());
  // A pass with an upstream rule has it as an option of its own.
  if (!chosenPolicy || *chosenPolicy == Policy::Upstream)
    return llvm::createStringError("--policy=" + policy +
                                   ": expected always or profitable");
  OptimizationOptions optimizationOptions = getOptimizationOptions(
      *chosenPolicy, *isFolder || output.getValue().ends_with(".pt2"));
  if (llvm::Error error = proof.apply(optimizationOptions.proof))
    return std::move(error);
  if (llvm::Error error = checkOptions(optimizationOptions))
    return std::move(error);
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>> vocabulary =
      options.loadVocabulary();
  if (!vocabulary)
    return vocabulary.takeError();

  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  report::RemarkCollector remarks;
  if (failed(remarks.attach(*context)))
    return InternalError;
  llvm::Expected<LoadedProgram> file =
      options.read(inputs, **vocabulary, *context);
  if (!file)
    return file.takeError();
  remarks.removeRepeated();
  warnAboutConstants(*file);
  std::unique_ptr<Progress> stage;
  optimizationOptions.onStage = [&](llvm::StringRef name) {
    // End the previous stage first.
    stage.reset();
    stage = std::make_unique<Progress>(name.str(),
                                       /*draws=*/name != "verifying");
  };
  // The proof is that of the archives as they are read again.
  EditsOfRanks edits;
  if (optimizationOptions.settings.isForPyTorch && hasGraphs(*file))
    optimizationOptions.readWritten = [&] {
      return readWritten(*file, **vocabulary, edits);
    };
  llvm::Expected<Optimization> optimization =
      optimize(file->getModule(), optimizationOptions, remarks);
  stage.reset();
  if (!optimization)
    return optimization.takeError();
  for (const PassFailure &failure : optimization->failures)
    safeErrs() << "commute: " << failure.pass << ": " << failure.describe()
               << '\n';
  llvm::Expected<ExitCode> verdict = judge(*optimization, *file, remarks);
  if (!verdict || *verdict != Success)
    return verdict;

  stage = std::make_unique<Progress>("writing " + output);
  llvm::Expected<WriteSummary> summary =
      *isFolder ? writeRankFiles(*file, output, **vocabulary, edits)
                : writeProgramFile(*file, output, **vocabulary,
                                   edits.empty() ? nullptr : edits.data());
  stage.reset();
  if (!summary)
    return summary.takeError();
  if (!reportFile.empty())
    if (llvm::Error error = writeReport(remarks, *file, *optimization,
                                        optimizationOptions.settings))
      return std::move(error);
  printSummary(remarks, *file, *optimization, *summary);
  // Do not free large graphs before exit, which would take a tenth of the total
  // time.
  llvm::BuryPointer(std::make_unique<LoadedProgram>(std::move(*file)));
  llvm::BuryPointer(optimization->original.release().getOperation());
  llvm::BuryPointer(std::move(context));
  return Success;
}

std::unique_ptr<Command> tool::createOptCommand() {
  return std::make_unique<OptCommand>();
}
