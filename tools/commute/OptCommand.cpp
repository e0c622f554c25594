//===- OptCommand.cpp - commute opt -----------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ProgramFile.h"
#include "ProgramOptions.h"
#include "ProofOptions.h"
#include "SafeOutput.h"
#include "VerificationReport.h"

#include "commute/Analysis/InputPlacements.h"
#include "commute/Equivalence/Verify.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Target/Target.h"
#include "commute/Transforms/PassDriver.h"

#include "llvm/Support/BuryPointer.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class OptCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  /// Runs the passes over the program, which `original` is a copy of.
  llvm::Error runPasses(ProgramFile &file, mlir::ModuleOp original,
                        bool isForPyTorch, report::RemarkCollector &remarks);
  /// Compares the program with what it was; prints what is wrong.
  ExitCode verify(mlir::ModuleOp before, mlir::ModuleOp after);
  void printProgress(llvm::StringRef stage) const;
  llvm::Error writeReport(const report::RemarkCollector &remarks,
                          const ProgramFile &file,
                          const WriteSummary &summary) const;
  void printSummary(const report::RemarkCollector &remarks,
                    const ProgramFile &file, const WriteSummary &summary) const;

  /// The verdict, where there was anything to verify.
  std::optional<equivalence::VerifyResult> verification;

  cl::SubCommand command{"opt", "Optimize a graph"};
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::sub(command),
                             cl::desc("IN")};
  cl::opt<std::string> output{"o", cl::Required, cl::sub(command),
                              cl::value_desc("OUT"),
                              cl::desc("Where the result goes")};
  cl::opt<std::string> passes{
      "passes", cl::sub(command), cl::value_desc("a,b,..."),
      cl::desc("The passes to run, in this order (default: all, see commute "
               "passes); options in braces: a{x=1}")};
  cl::opt<std::string> policy{
      "policy", cl::sub(command), cl::value_desc("always|profitable"),
      cl::init("profitable"),
      cl::desc("Apply every legal rewrite, or those that pay (default)")};
  cl::opt<std::string> target{
      "target", cl::sub(command), cl::value_desc("NAME|FILE"),
      cl::init("h100x8"),
      cl::desc("The machine to price for (default: h100x8; see commute "
               "targets)")};
  cl::opt<bool> exactRounding{
      "exact-rounding", cl::sub(command),
      cl::desc("Split and join matrix products only where no sum is made in "
               "another order")};
  cl::opt<bool> noVerify{
      "no-verify", cl::sub(command),
      cl::desc("Neither prove the result equivalent nor read it again before "
               "it is written; that each pass leaves a legal module is checked "
               "all the same")};
  cl::opt<bool> allowUnproven{
      "allow-unproven", cl::sub(command),
      cl::desc("Write the result also where the proof exceeds its budget")};
  cl::opt<std::string> reportFile{"report", cl::sub(command),
                                  cl::value_desc("FILE.html"),
                                  cl::desc("Write all remarks as a page")};
  cl::opt<bool> json{"json", cl::sub(command),
                     cl::desc("Print JSON for machines")};
  cl::opt<bool> quiet{"quiet", cl::sub(command),
                      cl::desc("Print nothing but errors")};
  ProgramOptions options{command};
  ProofOptions proof{command};
};
} // namespace

void OptCommand::printProgress(llvm::StringRef stage) const {
  // For somebody who waits at a terminal; never in a log.
  if (!quiet && !json && llvm::sys::Process::StandardErrIsDisplayed())
    safeErrs() << "commute: " << stage << " ...\n";
}

llvm::Error OptCommand::runPasses(ProgramFile &file, mlir::ModuleOp original,
                                  bool isForPyTorch,
                                  report::RemarkCollector &remarks) {
  PassRun run;
  run.passes = passes;
  run.settings = {policy, target, exactRounding, isForPyTorch};
  run.getReproducer = [&](unsigned number) {
    return output + (number > 1 ? "." + std::to_string(number) : "") +
           ".reproducer.mlir";
  };
  run.onRestart = [&] { remarks.clear(); };
  llvm::Expected<std::vector<PassFailure>> failures =
      commute::runPasses(file.getModule(), original, run);
  if (!failures)
    return failures.takeError();
  for (const PassFailure &failure : *failures) {
    safeErrs() << "commute: " << failure.pass << ": " << failure.describe()
               << '\n';
    remarks.add(report::describeFailure(failure.pass, failure.describe()));
  }
  return llvm::Error::success();
}

/// Whether passes left a module as it was: the same ops with the same
/// attributes and types.
static bool isUnchanged(mlir::ModuleOp before, mlir::ModuleOp after) {
  return mlir::OperationEquivalence::isEquivalentTo(
      before, after, mlir::OperationEquivalence::IgnoreLocations);
}

ExitCode OptCommand::verify(mlir::ModuleOp before, mlir::ModuleOp after) {
  equivalence::VerifyOptions verifyOptions;
  // What the options say was checked before anything was read.
  llvm::cantFail(proof.apply(verifyOptions));
  llvm::Expected<equivalence::VerifyResult> result =
      equivalence::verifyEquivalence(before, after, verifyOptions);
  if (!result) {
    safeErrs() << "commute: the result could not be verified: "
               << llvm::toString(result.takeError())
               << "; nothing was written (--no-verify writes it unverified)\n";
    return PropertyFails;
  }
  if (!result->differences.empty()) {
    safeErrs() << "commute: internal error: the optimized graph is not "
                  "equivalent; nothing was written\n";
    print(*result, safeErrs());
    std::string reproducer = output + ".reproducer.mlir";
    if (!llvm::errorToBool(
            llvm::writeToOutput(reproducer, [&](llvm::raw_ostream &os) {
              before.print(os);
              return llvm::Error::success();
            })))
      safeErrs() << reproducer << " holds the input: please report it\n";
    return InternalError;
  }
  verification = std::move(*result);
  if (verification->isEquivalent() || allowUnproven)
    return Success;
  llvm::errs() << "commute: the result is not proven equivalent: "
               << *verification->notProven
               << "; nothing was written (--allow-unproven writes it, "
                  "--proof-time and --proof-memory give the proof more)\n";
  return NotDecided;
}

llvm::Error OptCommand::writeReport(const report::RemarkCollector &remarks,
                                    const ProgramFile &file,
                                    const WriteSummary &summary) const {
  std::vector<std::pair<std::string, std::string>> facts = {
      {"Input", input},
      {"Output", output},
      {"Nodes after", std::to_string(summary.numNodes)}};
  if (file.archive)
    facts.insert(facts.begin() + 2,
                 {"Nodes before",
                  std::to_string(file.archive->program->graph.nodes.size())});
  std::string page =
      report::renderHtml("Commute: " + input, facts, remarks.getEntries());
  return llvm::writeToOutput(reportFile, [&](llvm::raw_ostream &os) {
    os << page;
    return llvm::Error::success();
  });
}

void OptCommand::printSummary(const report::RemarkCollector &remarks,
                              const ProgramFile &file,
                              const WriteSummary &summary) const {
  // The graph itself may be going to standard output.
  llvm::raw_ostream &os = output == "-" ? safeErrs() : safeOuts();
  if (json) {
    llvm::json::Object object{
        {"input", input.getValue()},
        {"output", output.getValue()},
        {"nodes_after", static_cast<int64_t>(summary.numNodes)},
        {"unchanged", summary.isUnchanged},
        {"remarks", remarks.toJson()}};
    if (verification)
      object["verification"] = toJson(*verification);
    if (file.archive)
      object["nodes_before"] =
          static_cast<int64_t>(file.archive->program->graph.nodes.size());
    os << llvm::formatv("{0:2}", llvm::json::Value(std::move(object))) << '\n';
    return;
  }
  if (quiet)
    return;
  remarks.print(os);
  if (verification) {
    os << "proof: ";
    print(*verification, os);
  }
  os << output << ": ";
  if (summary.isUnchanged)
    os << "the graph is unchanged, " << summary.numNodes << " nodes\n";
  else if (file.archive)
    os << file.archive->program->graph.nodes.size() << " nodes before, "
       << summary.numNodes << " after\n";
  else
    os << summary.numNodes << " ops\n";
}

llvm::Expected<ExitCode> OptCommand::run() {
  // What would fail only at the end is found first.
  llvm::Expected<FileKind> kind = getFileKind(output);
  if (!kind)
    return kind.takeError();
  if (policy != "always" && policy != "profitable")
    return llvm::createStringError("--policy=" + policy +
                                   ": legal are always and profitable");
  equivalence::VerifyOptions budget;
  if (llvm::Error error = proof.apply(budget))
    return std::move(error);
  if (llvm::Expected<target::Target> known = target::loadTarget(target); !known)
    return known.takeError();
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>> vocabulary =
      options.loadVocabulary();
  if (!vocabulary)
    return vocabulary.takeError();

  auto context = std::make_unique<mlir::MLIRContext>(
      mlir::MLIRContext::Threading::DISABLED);
  report::RemarkCollector remarks;
  if (failed(remarks.attach(*context)))
    return InternalError;
  printProgress("reading " + input);
  llvm::Expected<ProgramFile> file =
      readProgramFile(input, **vocabulary, options, *context);
  if (!file)
    return file.takeError();

  printProgress("optimizing");
  mlir::OwningOpRef<mlir::ModuleOp> before =
      mlir::cast<mlir::ModuleOp>(file->getModule()->clone());
  if (llvm::Error error =
          runPasses(*file, *before, *kind == FileKind::Archive, remarks))
    return std::move(error);
  if (!noVerify && !isUnchanged(*before, file->getModule())) {
    if (llvm::Error error = analysis::checkGroupsAreKnown(file->getModule()))
      return llvm::createStringError(
          input + ": the result cannot be proven equivalent: " +
          llvm::toString(std::move(error)));
    printProgress("verifying");
    if (ExitCode verdict = verify(*before, file->getModule());
        verdict != Success)
      return verdict;
  }

  printProgress("writing " + output);
  llvm::Expected<WriteSummary> summary =
      writeProgramFile(*file, output, **vocabulary, !noVerify);
  if (!summary)
    return summary.takeError();
  if (!reportFile.empty())
    if (llvm::Error error = writeReport(remarks, *file, *summary))
      return std::move(error);
  printSummary(remarks, *file, *summary);
  // The process ends here; to free every op and string of a large graph would
  // take a tenth of the whole time.
  llvm::BuryPointer(std::make_unique<ProgramFile>(std::move(*file)));
  llvm::BuryPointer(before.release().getOperation());
  llvm::BuryPointer(std::move(context));
  return Success;
}

std::unique_ptr<Command> tool::createOptCommand() {
  return std::make_unique<OptCommand>();
}
