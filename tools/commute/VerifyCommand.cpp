//===- VerifyCommand.cpp - commute verify -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "JsonOutput.h"
#include "OptionParsers.h"
#include "PlacementProblems.h"
#include "ProgramOptions.h"
#include "ProofDump.h"
#include "ProofOptions.h"
#include "ReportFile.h"
#include "SafeOutput.h"
#include "Witness.h"
#include "commute/Archive/InputFile.h"
#include "commute/Compiler/LoadedProgram.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/StoredConstants.h"
#include "commute/Compiler/VerificationReport.h"
#include "commute/Refinement/RefinementReport.h"

#include "llvm/Support/CommandLine.h"

#include <ctime>

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class VerifyCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  llvm::Error writeReport(const LoadedProgram &a, const LoadedProgram &b,
                          const equivalence::VerifyResult &result) const;

  cl::SubCommand command{
      "verify", "Check that two graphs compute the same on every rank"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore, cl::sub(command),
                               cl::desc("A B")};
  NumberOption<int64_t> ranks{
      "ranks", cl::sub(command), cl::value_desc("N"), cl::init(0),
      cl::desc("Expect the graphs to run on this many ranks")};
  ChoiceOption<equivalence::Precision> precision{
      "precision",
      cl::sub(command),
      cl::value_desc("algebraic|strict"),
      cl::init(equivalence::Precision::Algebraic),
      cl::desc(
          "How a cast to a narrower float type is treated: as exact, so that "
          "only the algebra is compared (algebraic, the default), or as an "
          "unknown function, which must not move across a sum (strict)"),
      cl::values(clEnumValN(equivalence::Precision::Algebraic, "algebraic", ""),
                 clEnumValN(equivalence::Precision::Strict, "strict", ""))};
  NumberOption<uint64_t> seed{"seed", cl::sub(command), cl::value_desc("S"),
                              cl::init(1),
                              cl::desc("Seed of the random inputs")};
  cl::opt<bool> realSizes{
      "real-sizes", cl::sub(command),
      cl::desc("Evaluate all indices of all dims instead of a sample")};
  cl::opt<bool> showSizes{"show-sizes", cl::sub(command),
                          cl::desc("Print for each size how many indices were "
                                   "evaluated and why these suffice")};
  cl::opt<bool> whole{"whole", cl::sub(command),
                      cl::desc("Evaluate both graphs in full, including "
                               "what they share and regions that repeat")};
  cl::opt<bool> strict{
      "strict", cl::sub(command),
      cl::desc("Graphs that are equal for all integers and orders that were "
               "drawn, but not known to be so for others, are not proven")};
  cl::opt<bool> acceptLayouts{
      "accept-layouts", cl::sub(command),
      cl::desc("Succeed if the values are equal, even if some have another "
               "layout in memory: other strides of an output, an operand of a "
               "collective that may not be dense")};
  cl::opt<std::string> reportFile{
      "report", cl::sub(command), cl::value_desc("FILE.html"),
      cl::desc("Write the verdict, its premises and both programs as an HTML "
               "page")};
  cl::opt<std::string> dumpFolder{
      "dump-proof", cl::sub(command), cl::value_desc("DIR"),
      cl::desc("Write each stage of the proof as text, for those who debug a "
               "verdict: programs, samples, rounds (docs/debug-a-proof.md)")};
  cl::opt<std::string> witnessFolder{
      "witness", cl::sub(command), cl::value_desc("DIR"),
      cl::desc(
          "If the graphs differ, look for inputs of all ranks that show it "
          "in real numbers, and write them and a PyTorch script that "
          "replays them")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
  cl::opt<std::string> reference{
      "reference", cl::sub(command), cl::value_desc("FILE"),
      cl::desc("Check that the ranks compute what this program of one device "
               "computes; the other files are the program of all ranks, or "
               "those of each rank, in order")};
  cl::opt<std::string> relationsFile{
      "relations", cl::sub(command), cl::value_desc("R.json"),
      cl::desc("With --reference: how the ranks' inputs and outputs are made "
               "of those of the reference")};
  cl::opt<bool> showRelations{
      "show-relations", cl::sub(command),
      cl::desc("With --reference: print what each value of the ranks is of the "
               "reference, by source line")};
  ProgramOptions options{command};
  ProofOptions proof{command};

  /// Returns the verdict on a program whose ranks cannot run together, and
  /// other errors.
  llvm::Expected<ExitCode> judge(llvm::Error error) const;
  /// Checks ranks against a reference.
  llvm::Expected<ExitCode> runRefinement();
};
} // namespace

llvm::Error
VerifyCommand::writeReport(const LoadedProgram &a, const LoadedProgram &b,
                           const equivalence::VerifyResult &result) const {
  llvm::Expected<target::Target> target =
      target::loadTarget(target::defaultTargetName);
  if (!target)
    return target.takeError();
  ReportFile page("verify", std::move(*target));
  page.addProgram("first", a.origin, a.getModule(), a);
  page.addProgram("second", b.origin, b.getModule(), b);
  page.addProof(result);
  return page.write(reportFile, "commute verify " + a.origin + " " + b.origin);
}

llvm::Expected<ExitCode> VerifyCommand::runRefinement() {
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>> vocabulary =
      options.loadVocabulary();
  if (!vocabulary)
    return vocabulary.takeError();
  refinement::StatedRelations relations;
  if (!relationsFile.empty()) {
    constexpr uint64_t largestFile = 256 << 20;
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
        archive::readInputFile(relationsFile, largestFile);
    if (!buffer)
      return buffer.takeError();
    llvm::Expected<refinement::StatedRelations> parsed =
        refinement::parseRelations((*buffer)->getBuffer().str(), relationsFile);
    if (!parsed)
      return parsed.takeError();
    relations = std::move(*parsed);
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<LoadedProgram> model =
      options.readReference(reference, **vocabulary, context);
  if (!model)
    return model.takeError();
  stateStoredData(*model);
  llvm::Expected<std::vector<LoadedProgram>> programs = options.readEach(
      inputs, relations.mesh.getGroups(), **vocabulary, context);
  if (!programs)
    return programs.takeError();
  if (programs->size() == 1)
    warnAboutConstants(programs->front());
  double secondsReading = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  refinement::RefineOptions refineOptions;
  refineOptions.proof.precision = precision;
  refineOptions.proof.seed = seed;
  refineOptions.proof.reducesSizes = !realSizes;
  refineOptions.proof.usesRegions = !whole;
  refineOptions.proof.isStrict = strict;
  refineOptions.findsAllRelations = showRelations;
  if (llvm::Error error = proof.apply(refineOptions.proof))
    return std::move(error);
  std::vector<mlir::ModuleOp> modules;
  for (const LoadedProgram &program : *programs) {
    stateStoredData(program);
    modules.push_back(program.getModule());
  }
  llvm::Expected<refinement::RefinementResult> result =
      refinement::refine(model->getModule(), modules, relations, refineOptions);
  if (!result)
    return result.takeError();
  if (!reportFile.empty()) {
    llvm::Expected<target::Target> target =
        target::loadTarget(target::defaultTargetName);
    if (!target)
      return target.takeError();
    ReportFile page("verify", std::move(*target));
    page.addProgram("reference", model->origin, model->getModule(), *model);
    page.addProgram("rank", programs->front().origin,
                    programs->front().getModule(), programs->front());
    page.addProof(*result);
    if (llvm::Error error = page.write(
            reportFile, "commute verify --reference=" + model->origin + " " +
                            programs->front().origin))
      return std::move(error);
  }
  if (json) {
    llvm::json::Object object = toJson(*result);
    (*object.getObject("seconds"))["reading"] = secondsReading;
    printJson(std::move(object));
  } else {
    print(*result, safeOuts());
    if (showRelations)
      printValues(*result, safeOuts());
  }
  switch (result->verdict) {
  case refinement::RefinementResult::Verdict::Refines:
    return Success;
  case refinement::RefinementResult::Verdict::Differs:
  case refinement::RefinementResult::Verdict::Deadlock:
    return PropertyFails;
  case refinement::RefinementResult::Verdict::NotProven:
    return NotDecided;
  }
  llvm_unreachable("a verdict that is not listed");
}

llvm::Expected<ExitCode> VerifyCommand::judge(llvm::Error error) const {
  llvm::Error other = llvm::handleErrors(
      std::move(error), [&](const RanksDisagreeError &disagreement) {
        std::string message = disagreement.message();
        if (!json) {
          safeOuts() << "different: " << message << '\n';
          return;
        }
        mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
        mlir::Location unknown = mlir::UnknownLoc::get(&context);
        equivalence::VerifyResult result;
        result.differences.push_back({message, unknown, unknown});
        printJson(toJson(result));
      });
  if (other)
    return std::move(other);
  return PropertyFails;
}

llvm::Expected<ExitCode> VerifyCommand::run() {
  if (!reference.empty())
    return runRefinement();
  if (!relationsFile.empty() || showRelations)
    return llvm::createStringError(
        "--relations and --show-relations belong to --reference=FILE, the "
        "program of one device");
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>> vocabulary =
      options.loadVocabulary();
  if (!vocabulary)
    return vocabulary.takeError();
  // As many archives of B as of A.
  llvm::ArrayRef<std::string> paths = inputs;
  if (paths.size() % 2 != 0)
    return llvm::createStringError(
        paths.back() +
        (paths.size() == 1
             ? ": there is no program to compare it with; expected A B"
             : ": there are " + llvm::Twine(paths.size()) +
                   " files; expected A B, each a file or a folder, or the "
                   "archives of all ranks of A and then those of B"));
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto read = [&](llvm::ArrayRef<std::string> files) {
    llvm::Expected<LoadedProgram> program =
        options.read(files, **vocabulary, context);
    if (program)
      warnAboutConstants(*program);
    return program;
  };
  llvm::Expected<LoadedProgram> a = read(paths.take_front(paths.size() / 2));
  if (!a)
    return judge(a.takeError());
  llvm::Expected<LoadedProgram> b = read(paths.drop_front(paths.size() / 2));
  if (!b)
    return judge(b.takeError());
  // Processor time: reading does not wait for anything.
  double secondsReading = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  equivalence::VerifyOptions verifyOptions;
  verifyOptions.precision = precision;
  verifyOptions.seed = seed;
  verifyOptions.reducesSizes = !realSizes;
  verifyOptions.usesRegions = !whole;
  verifyOptions.isStrict = strict;
  if (llvm::Error error = proof.apply(verifyOptions))
    return std::move(error);
  ProofDump dump(dumpFolder);
  if (!dumpFolder.empty()) {
    if (llvm::Error error = dump.create())
      return std::move(error);
    verifyOptions.dump = [&](llvm::StringRef stage, llvm::StringRef text) {
      dump.add(stage, text);
    };
    for (const LoadedProgram *program : {&*a, &*b}) {
      std::string text;
      llvm::raw_string_ostream(text) << *program->getModule() << '\n';
      dump.add(program == &*a ? "read-first.mlir" : "read-second.mlir", text);
    }
  }
  llvm::Expected<equivalence::VerifyResult> result =
      equivalence::verifyEquivalence(a->getModule(), b->getModule(),
                                     verifyOptions);
  if (!result)
    return result.takeError();
  if (llvm::Error error = compareConstants(*a, *b, *result))
    return std::move(error);
  if (ranks.getNumOccurrences() > 0 && ranks != result->numRanks)
    return llvm::createStringError(
        "--ranks=" + llvm::Twine(ranks) + ": the groups of the graphs have " +
        llvm::Twine(result->numRanks) +
        " ranks; --group states the members of a group");
  if (!reportFile.empty())
    if (llvm::Error error = writeReport(*a, *b, *result))
      return std::move(error);
  if (verifyOptions.dump) {
    std::string text;
    llvm::raw_string_ostream os(text);
    print(*result, os);
    printExtents(*result, os);
    verifyOptions.dump("verdict.txt", text);
  }
  std::optional<Witness> witness;
  if (!witnessFolder.empty() && !result->differences.empty()) {
    ComparedPrograms compared = {*a, *b, paths.take_front(paths.size() / 2),
                                 paths.drop_front(paths.size() / 2)};
    llvm::Expected<Witness> written =
        writeWitness(compared, *result, witnessFolder);
    if (!written)
      return written.takeError();
    witness = std::move(*written);
  }
  // Warn about placements that conflict with the graph. The verdict holds
  // nevertheless, but such a placement is probably a mistake.
  std::vector<PlacementProblem> problems =
      findPlacementProblems(a->getModule());
  if (json) {
    llvm::json::Object object = toJson(*result);
    if (showSizes)
      object["extents"] = toJson(result->extents);
    object["placement_problems"] = toJson(problems);
    if (witness)
      object["witness"] = toJson(*witness);
    object["seconds"] =
        llvm::json::Object{{"reading", secondsReading},
                           {"sizes", result->secondsForSizes},
                           {"evaluation", result->secondsEvaluating}};
    printJson(std::move(object));
  } else {
    print(*result, safeOuts());
    if (witness)
      print(*witness, safeOuts());
    if (showSizes)
      printExtents(*result, safeOuts());
    if (!problems.empty()) {
      safeOuts()
          << "placements that conflict with operations of the first graph:\n";
      print(problems, safeOuts());
    }
  }
  switch (result->getVerdict()) {
  case equivalence::Verdict::Equivalent:
    return Success;
  case equivalence::Verdict::OtherLayout:
    return acceptLayouts ? Success : PropertyFails;
  case equivalence::Verdict::Different:
    return PropertyFails;
  case equivalence::Verdict::NotProven:
    return NotDecided;
  }
  llvm_unreachable("a verdict that is not listed");
}

std::unique_ptr<Command> tool::createVerifyCommand() {
  return std::make_unique<VerifyCommand>();
}
