//===- EstimateCommand.cpp - commute estimate -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "EstimateReport.h"
#include "JsonOutput.h"
#include "ProgramOptions.h"
#include "ReportFile.h"
#include "SafeOutput.h"

#include "llvm/Support/CommandLine.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class EstimateCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  /// Returns the values of --size.
  llvm::Expected<target::SizeTable> getSizes(const LoadedProgram &file) const;

  cl::SubCommand command{
      "estimate",
      "Predict a step on a target: time, exposed communication, memory"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore, cl::sub(command),
                               cl::desc("IN")};
  cl::opt<std::string> targetName{
      "target", cl::sub(command), cl::value_desc("NAME|FILE"),
      cl::init(target::defaultTargetName.str()),
      cl::desc("Machine (default: h100x8; see 'commute targets')")};
  cl::list<std::string> sizes{
      "size", cl::sub(command), cl::value_desc("SYMBOL=N"),
      cl::desc("Value of a symbolic size (default: its value at capture)")};
  cl::opt<std::string> trace{
      "trace", cl::sub(command), cl::value_desc("F.json"),
      cl::desc("Write a trace for ui.perfetto.dev or chrome://tracing")};
  cl::opt<std::string> reportFile{
      "report", cl::sub(command), cl::value_desc("FILE.html"),
      cl::desc("Write the two lanes and the times of ops as an HTML page")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
  ProgramOptions options{command};
};
} // namespace

llvm::Expected<target::SizeTable>
EstimateCommand::getSizes(const LoadedProgram &file) const {
  target::SizeTable result;
  for (llvm::StringRef size : sizes) {
    auto [symbol, text] = size.split('=');
    constexpr int64_t largest = int64_t(1) << 40;
    int64_t value = 0;
    if (text.getAsInteger(10, value) || value < 1 || value > largest)
      return llvm::createStringError("--size=" + size +
                                     ": expected a symbol and a number from 1 "
                                     "to 2^40: s77=4096");
    if (llvm::Error error = checkSymbol(file, symbol))
      return llvm::createStringError("--size=" + size + ": " +
                                     llvm::toString(std::move(error)));
    result[symbol.str()] = value;
  }
  return result;
}

llvm::Expected<ExitCode> EstimateCommand::run() {
  if (llvm::Error error = checkOverwrite("--trace", trace, inputs))
    return std::move(error);
  llvm::Expected<target::Target> target = target::loadTarget(targetName);
  if (!target)
    return target.takeError();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<LoadedProgram> file = options.read(inputs, context);
  if (!file)
    return file.takeError();
  llvm::Expected<target::SizeTable> values = getSizes(*file);
  if (!values)
    return values.takeError();
  llvm::Expected<StepEstimate> estimate =
      estimateStep(*file, *target, *values, [](llvm::StringRef symbol) {
        return ("with --size " + symbol + "=4096").str();
      });
  if (!estimate)
    return estimate.takeError();
  EstimateSummary &summary = estimate->summary;
  summary.isDefaultTarget = targetName.getNumOccurrences() == 0;
  if (!trace.empty())
    if (llvm::Error error = writeTrace(trace, summary))
      return std::move(error);
  if (!reportFile.empty()) {
    ReportFile page("estimate", *target);
    page.addProgram("program", file->origin, estimate->function, summary);
    if (llvm::Error error =
            page.write(reportFile, "commute estimate " + file->origin))
      return std::move(error);
  }
  if (json) {
    llvm::json::Object object = toJson(summary);
    object["file"] = file->origin;
    printJson(std::move(object));
    return Success;
  }
  safeOuts() << file->origin << ": ";
  print(summary, safeOuts());
  if (!trace.empty())
    safeOuts() << "trace in " << trace << '\n';
  return Success;
}

std::unique_ptr<Command> tool::createEstimateCommand() {
  return std::make_unique<EstimateCommand>();
}
