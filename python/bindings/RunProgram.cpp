//===- RunProgram.cpp - a run of a program held for Python ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramState.h"

#include "commute/Compiler/RankPrograms.h"
#include "commute/Runtime/ProgramInputs.h"
#include "commute/Runtime/Run.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::python;

static llvm::Expected<runtime::ProgramInputs>
openInputs(const LoadedProgram &file, mlir::func::FuncOp function,
           const RunSettings &settings) {
  runtime::InputSources sources;
  sources.seed = settings.seed;
  if (!settings.inputs.empty()) {
    std::shared_ptr<llvm::MemoryBuffer> buffer =
        llvm::MemoryBuffer::getMemBufferCopy(settings.inputs);
    llvm::Expected<runtime::SafetensorsFile> parsed =
        runtime::SafetensorsFile::parse(buffer, "inputs");
    if (!parsed)
      return parsed.takeError();
    sources.file = std::move(*parsed);
  }
  if (!settings.seedsWeights)
    if (llvm::Error error = sources.addWeights(file.getArchives()))
      return std::move(error);
  return runtime::ProgramInputs::create(function, std::move(sources));
}

static ProgramRun collect(llvm::ArrayRef<runtime::RankOutcome> outcomes,
                          llvm::ArrayRef<std::string> assumptions) {
  ProgramRun result;
  result.assumptions = assumptions.vec();
  for (const runtime::RankOutcome &outcome : outcomes) {
    result.seconds = std::max(result.seconds, outcome.seconds.count());
    std::vector<OutputTensor> &own = result.outputs.emplace_back();
    for (const runtime::TensorValue &value : outcome.outputs) {
      OutputTensor &output = own.emplace_back();
      if (!value)
        continue;
      output.dtype = runtime::getSafetensorsName(value->getKind()).str();
      output.sizes = value->getSizes().vec();
      output.data = value->getSharedData();
      output.numBytes = value->getNumBytes();
    }
  }
  return result;
}

Fallible<ProgramRun> ProgramHandle::run(const RunSettings &settings) const {
  Access access(*this);
  const LoadedProgram &file = access.getFile();
  llvm::Expected<mlir::func::FuncOp> function = getMain(file);
  if (!function)
    return toFailure(function.takeError());
  llvm::Expected<runtime::RunnableProgram> program =
      runtime::RunnableProgram::create(*function, [](mlir::Location location) {
        return report::describeLocation(location);
      });
  if (!program)
    return toFailure(program.takeError());
  llvm::Expected<runtime::ProgramInputs> inputs =
      openInputs(file, *function, settings);
  if (!inputs)
    return toFailure(inputs.takeError());
  // Each rank is a thread with its own stack.
  constexpr size_t maxRanks = 256;
  size_t numRanks = inputs->getWorld().size();
  if (numRanks > maxRanks)
    return Failure{file.origin + ": the groups of the graph have " +
                   std::to_string(numRanks) + " ranks; up to " +
                   std::to_string(maxRanks) +
                   " run as threads of one process, and more by commute run "
                   "under mpirun"};
  runtime::RunOptions options;
  options.symbols = inputs->getSymbols();
  options.timeout = std::chrono::seconds(settings.timeoutSeconds);
  options.threadsPerRank = settings.threadsPerRank;
  // Ranks use the context concurrently.
  mlir::MLIRContext &context = access.getSource().context;
  context.enableMultithreading();
  llvm::Expected<std::vector<runtime::RankOutcome>> outcomes =
      runtime::runOnThreads(
          *program, inputs->getWorld(),
          [&](unsigned argument, int64_t rank) {
            return inputs->get(argument, rank);
          },
          options);
  context.disableMultithreading();
  if (!outcomes)
    return Failure{file.origin + ": " + llvm::toString(outcomes.takeError())};
  return collect(*outcomes, inputs->getAssumptions());
}
