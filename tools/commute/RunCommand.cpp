//===- RunCommand.cpp - commute run -----------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "JsonOutput.h"
#include "OptionParsers.h"
#include "ProgramOptions.h"
#include "Progress.h"
#include "RunReport.h"
#include "SafeOutput.h"
#include "commute/Compiler/LoadedProgram.h"

#include "commute/Report/RemarkCollector.h"
#include "commute/Runtime/MpiWorld.h"
#include "commute/Runtime/ProgramInputs.h"
#include "commute/Runtime/Run.h"

#include "llvm/Support/CommandLine.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace cl = llvm::cl;

/// Each rank is a thread with its own stack.
static constexpr size_t maxThreadRanks = 256;

namespace {
enum class WeightSource { Archive, Seeded };

class RunCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  llvm::Error checkOptions() const;
  llvm::Error checkWorld(llvm::ArrayRef<int64_t> world) const;
  llvm::Expected<runtime::ProgramInputs>
  openInputs(const LoadedProgram &file, mlir::func::FuncOp function) const;
  /// Returns the outcomes of all ranks. Under mpirun (`processes`), the first
  /// process returns those of all processes, and the others return none.
  llvm::Expected<std::vector<runtime::RankOutcome>>
  runOnRanks(const runtime::RunnableProgram &program,
             const runtime::ProgramInputs &inputs,
             runtime::MpiWorld *processes) const;
  llvm::Error writeOutputs(llvm::ArrayRef<runtime::RankOutcome> outcomes) const;

  cl::SubCommand command{"run", "Run a graph on several ranks: threads, or "
                                "processes under mpirun"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore, cl::sub(command),
                               cl::desc("IN")};
  NumberOption<int64_t> ranks{
      "ranks", cl::sub(command), cl::value_desc("N"), cl::init(0),
      cl::desc("Number of ranks (default: those of the graph's groups)")};
  cl::opt<std::string> inputFile{
      "inputs", cl::sub(command), cl::value_desc("F.safetensors"),
      cl::desc("Tensors for inputs, named NAME for all ranks or rank0.NAME for "
               "one; other inputs are random")};
  cl::opt<std::string> outputFile{
      "outputs", cl::sub(command), cl::value_desc("F.safetensors"),
      cl::desc("Write all outputs, named rank0.output0, rank0.output1, ...")};
  NumberOption<uint64_t> seed{"seed", cl::sub(command), cl::value_desc("S"),
                              cl::init(0),
                              cl::desc("Seed of the random inputs")};
  ChoiceOption<WeightSource> weights{
      "weights",
      cl::sub(command),
      cl::value_desc("archive|seeded"),
      cl::init(WeightSource::Archive),
      cl::desc("Source of parameters and buffers: the archive, the same on all "
               "ranks, or that of each rank, and random where there are none "
               "(archive, the default); or random, according to the placements "
               "(seeded)"),
      cl::values(clEnumValN(WeightSource::Archive, "archive", ""),
                 clEnumValN(WeightSource::Seeded, "seeded", ""))};
  NumberOption<int64_t> timeout{
      "timeout", cl::sub(command), cl::value_desc("SECONDS"), cl::init(300),
      cl::desc("Longest time that a rank waits for the others (default: 300)")};
  NumberOption<int64_t> threads{
      "threads", cl::sub(command), cl::value_desc("T"), cl::init(0),
      cl::desc(
          "Kernel threads per rank (default: an equal share of the cores)")};
  NumberOption<int64_t> repeat{
      "repeat", cl::sub(command), cl::value_desc("K"), cl::init(1),
      cl::desc("Run K times and report the shortest time")};
  cl::opt<bool> printsElements{
      "print-elements", cl::sub(command),
      cl::desc("Print all elements of the outputs and nothing else")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
  ProgramOptions options{command};
};
} // namespace

/// Returns "node (model.py:12)", or the position in the file for textual
/// modules.
static std::string describe(mlir::Location location) {
  std::string node, file;
  unsigned line = 0;
  report::describeLocation(location, node, file, line);
  std::string place = file.empty() ? "" : file + ":" + std::to_string(line);
  if (node.empty())
    return place.empty() ? "an unnamed value" : place;
  return place.empty() ? node : node + " (" + place + ")";
}

llvm::Error RunCommand::checkOptions() const {
  constexpr int64_t largest = 1 << 30;
  for (const auto *option : {&timeout, &threads, &repeat}) {
    bool mayBeZero = option == &threads;
    if (*option < (mayBeZero ? 0 : 1) || *option > largest)
      return llvm::createStringError(
          "--" + option->ArgStr + "=" + llvm::Twine(int64_t(*option)) +
          ": expected a number from " + (mayBeZero ? "0" : "1") + " to " +
          llvm::Twine(largest));
  }
  return llvm::Error::success();
}

llvm::Error RunCommand::checkWorld(llvm::ArrayRef<int64_t> world) const {
  if (ranks.getNumOccurrences() == 0 || ranks == int64_t(world.size()))
    return llvm::Error::success();
  return llvm::createStringError("--ranks=" + llvm::Twine(int64_t(ranks)) +
                                 ": the groups of the graph have " +
                                 llvm::Twine(world.size()) +
                                 (world.size() == 1 ? " rank" : " ranks") +
                                 "; --group states the members of a group");
}

llvm::Expected<runtime::ProgramInputs>
RunCommand::openInputs(const LoadedProgram &file,
                       mlir::func::FuncOp function) const {
  runtime::InputSources sources;
  sources.seed = seed;
  if (!inputFile.empty()) {
    llvm::Expected<runtime::SafetensorsFile> opened =
        runtime::SafetensorsFile::open(inputFile);
    if (!opened)
      return opened.takeError();
    sources.file = std::move(*opened);
  }
  if (weights == WeightSource::Archive)
    if (llvm::Error error = sources.addWeights(file.getArchives()))
      return std::move(error);
  return runtime::ProgramInputs::create(function, std::move(sources));
}

llvm::Expected<std::vector<runtime::RankOutcome>>
RunCommand::runOnRanks(const runtime::RunnableProgram &program,
                       const runtime::ProgramInputs &inputs,
                       runtime::MpiWorld *processes) const {
  runtime::RunOptions runOptions;
  runOptions.symbols = inputs.getSymbols();
  runOptions.timeout = std::chrono::seconds(int64_t(timeout));
  runOptions.threadsPerRank = threads;
  runOptions.repetitions = repeat;
  auto getInput = [&](unsigned argument, int64_t rank) {
    return inputs.get(argument, rank);
  };
  if (processes)
    return runtime::runOnProcesses(program, *processes, getInput, runOptions);
  return runtime::runOnThreads(program, inputs.getWorld(), getInput,
                               runOptions);
}

llvm::Error
RunCommand::writeOutputs(llvm::ArrayRef<runtime::RankOutcome> outcomes) const {
  std::vector<runtime::NamedTensor> tensors;
  for (const runtime::RankOutcome &outcome : outcomes)
    for (auto [index, output] : llvm::enumerate(outcome.outputs))
      if (output)
        tensors.push_back({"rank" + std::to_string(outcome.rank) + ".output" +
                               std::to_string(index),
                           output});
  return runtime::writeSafetensors(outputFile, tensors);
}

llvm::Expected<ExitCode> RunCommand::run() {
  if (llvm::Error error = checkOptions())
    return std::move(error);
  std::vector<std::string> read(inputs.begin(), inputs.end());
  read.push_back(inputFile);
  if (llvm::Error error = checkOverwrite("--outputs", outputFile, read))
    return std::move(error);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<LoadedProgram> file = options.read(inputs, context);
  if (!file)
    return file.takeError();
  warnAboutConstants(*file);
  llvm::Expected<mlir::func::FuncOp> function = getMain(*file);
  if (!function)
    return function.takeError();
  llvm::Expected<runtime::RunnableProgram> program =
      runtime::RunnableProgram::create(*function, describe);
  if (!program)
    return program.takeError();
  llvm::Expected<runtime::ProgramInputs> tensors = openInputs(*file, *function);
  if (!tensors)
    return tensors.takeError();
  llvm::ArrayRef<int64_t> world = tensors->getWorld();
  if (llvm::Error error = checkWorld(world))
    return std::move(error);

  std::unique_ptr<runtime::MpiWorld> processes;
  if (runtime::MpiWorld::isStartedByMpi()) {
    auto joined =
        runtime::MpiWorld::join(world, std::chrono::seconds(int64_t(timeout)));
    if (!joined)
      return joined.takeError();
    processes = std::move(*joined);
  } else if (world.size() > maxThreadRanks) {
    return llvm::createStringError(
        file->origin + ": the groups of the graph have " +
        llvm::Twine(world.size()) + " ranks; up to " +
        llvm::Twine(maxThreadRanks) +
        " run as threads of one process, and more under mpirun");
  }
  Progress stage("running on " + std::to_string(world.size()) + " ranks");
  // From here on, ranks use the context concurrently.
  context.enableMultithreading();
  llvm::Expected<std::vector<runtime::RankOutcome>> outcomes =
      runOnRanks(*program, *tensors, processes.get());
  if (!outcomes) {
    // Exit with PropertyFails, because the program is valid but does not run.
    // Write the message at once: several processes may be writing.
    safeErrs() << "commute: error: " + file->origin + ": " +
                      llvm::toString(outcomes.takeError()) + "\n";
    if (processes)
      processes->abort(PropertyFails);
    return PropertyFails;
  }
  if (outcomes->empty())
    return Success;
  if (!outputFile.empty())
    if (llvm::Error error = writeOutputs(*outcomes))
      return std::move(error);
  if (printsElements) {
    printElements(*outcomes, dataOuts());
    return Success;
  }
  RunSummary summary = summarize(*outcomes, tensors->getAssumptions());
  if (json)
    printJson(toJson(summary));
  else
    print(summary, safeOuts());
  return Success;
}

std::unique_ptr<Command> tool::createRunCommand() {
  return std::make_unique<RunCommand>();
}
