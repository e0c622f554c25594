//===- PassesCommand.cpp - commute passes -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include "commute/Transforms/Pipeline.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class PassesCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{"passes",
                         "List the passes of opt, with their options"};
  cl::opt<bool> json{"json", cl::sub(command), cl::desc("Print JSON")};
};
} // namespace

llvm::Expected<ExitCode> PassesCommand::run() {
  registerPipelinePasses();
  llvm::json::Array list;
  for (llvm::StringRef name : getPipelinePasses()) {
    const mlir::PassInfo *info = mlir::PassInfo::lookup(name);
    if (json) {
      list.push_back(llvm::json::Object{
          {"name", name}, {"summary", info->getPassDescription()}});
      continue;
    }
    // Wider than any option: MLIR pads a wider one without end.
    info->printHelpStr(/*indent=*/2, /*descIndent=*/40);
  }
  if (json)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(list)))
                 << '\n';
  return Success;
}

std::unique_ptr<Command> tool::createPassesCommand() {
  return std::make_unique<PassesCommand>();
}
