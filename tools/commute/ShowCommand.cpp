//===- ShowCommand.cpp - commute show ---------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "GraphSummary.h"
#include "JsonOutput.h"
#include "ProgramOptions.h"
#include "SafeOutput.h"
#include "commute/Compiler/LoadedProgram.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class ShowCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{"show",
                         "Describe a graph: inputs, groups, collectives, ops"};
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::sub(command),
                             cl::desc("IN")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
  ProgramOptions options{command};
};
} // namespace

llvm::Expected<ExitCode> ShowCommand::run() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<LoadedProgram> file = options.read(input.getValue(), context);
  if (!file)
    return file.takeError();
  GraphSummary summary = summarize(*file);
  std::vector<const archive::ProgramArchive *> archives = file->getArchives();
  if (json) {
    llvm::json::Object object = toJson(summary);
    object["file"] = input.getValue();
    if (!archives.empty()) {
      const archive::Program &program = *archives.front()->program;
      object["torch_version"] = program.torchVersion;
      object["nodes"] = static_cast<int64_t>(program.graph.nodes.size());
    }
    if (!file->ranks.empty())
      object["ranks"] = static_cast<int64_t>(file->ranks.size());
    printJson(std::move(object));
    return Success;
  }
  safeOuts() << input;
  if (!archives.empty()) {
    const archive::Program &program = *archives.front()->program;
    safeOuts() << ": " << program.graph.nodes.size() << " nodes, by PyTorch "
               << program.torchVersion << ", schema " << program.schemaMajor
               << '.' << program.schemaMinor;
  }
  if (!file->ranks.empty())
    safeOuts() << ", on each of " << file->ranks.size() << " ranks";
  safeOuts() << '\n';
  print(summary, safeOuts());
  return Success;
}

std::unique_ptr<Command> tool::createShowCommand() {
  return std::make_unique<ShowCommand>();
}
