//===- PassesCommand.cpp - commute passes -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "JsonOutput.h"
#include "SafeOutput.h"
#include "TextLayout.h"

#include "commute/Transforms/Pipeline.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class PassesCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{
      "passes", "List what --passes takes: the passes, and their options"};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
};

struct PassOption {
  std::string name;
  /// "true|false", "profitable|always", "N", "NUMBER" or "NAME|FILE".
  std::string values;
  std::string description;
};
} // namespace

/// Returns what MLIR prints about a pass: it offers the options only as text on
/// standard output.
static llvm::Expected<std::string> captureHelp(const mlir::PassInfo &pass) {
  llvm::outs().flush();
  int file = memfd_create("commute", MFD_CLOEXEC);
  int saved = dup(STDOUT_FILENO);
  if (file < 0 || saved < 0 || dup2(file, STDOUT_FILENO) < 0)
    return llvm::createStringError("the options of passes cannot be read");
  // Wider than any option: MLIR pads a wider one without end.
  pass.printHelpStr(/*indent=*/0, /*descIndent=*/60);
  llvm::outs().flush();
  dup2(saved, STDOUT_FILENO);
  close(saved);
  off_t size = lseek(file, 0, SEEK_END);
  std::string text(size, '\0');
  ssize_t numRead = pread(file, text.data(), text.size(), 0);
  close(file);
  text.resize(std::max<ssize_t>(numRead, 0));
  return text;
}

static std::string describeType(llvm::StringRef type) {
  if (type.empty())
    return "true|false";
  if (type == "number")
    return "NUMBER";
  if (type == "string")
    return "NAME|FILE";
  return type == "value" ? "" : "N";
}

/// Parses lines such as "--margin=<number>   - Minimum gain" and "=profitable",
/// which is a value of the option before it.
static std::vector<PassOption> parseOptions(llvm::StringRef text) {
  std::vector<PassOption> options;
  for (llvm::StringRef line : llvm::drop_begin(llvm::split(text, '\n'))) {
    line = line.trim();
    if (line.consume_front("=")) {
      std::string &values = options.back().values;
      values += (values.empty() ? "" : "|") + line.split(' ').first.str();
      continue;
    }
    if (!line.consume_front("--"))
      continue;
    auto [left, description] = line.split(" - ");
    auto [name, type] = left.trim().split('=');
    type.consume_front("<");
    type.consume_back(">");
    options.push_back(
        {name.str(), describeType(type), description.trim().str()});
  }
  return options;
}

llvm::Expected<ExitCode> PassesCommand::run() {
  registerPipelinePasses();
  llvm::json::Array list;
  llvm::raw_ostream &os = safeOuts();
  if (!json)
    printWrapped("--passes takes names in the order in which they run, with "
                 "options in braces: " +
                     llvm::join(getPipelinePasses().take_front(2), ",") +
                     "{pad=true}. Without --passes, all run in this order:",
                 0, os);
  for (llvm::StringRef name : getPipelinePasses()) {
    const mlir::PassInfo *info = mlir::PassInfo::lookup(name);
    llvm::Expected<std::string> help = captureHelp(*info);
    if (!help)
      return help.takeError();
    llvm::json::Array options;
    if (!json)
      os << '\n' << name << "  " << info->getPassDescription() << '\n';
    for (const PassOption &option : parseOptions(*help)) {
      if (json) {
        options.push_back(
            llvm::json::Object{{"name", option.name},
                               {"values", option.values},
                               {"description", option.description}});
        continue;
      }
      os << "  " << option.name << '=' << option.values << '\n';
      printWrapped(option.description, 6, os);
    }
    list.push_back(llvm::json::Object{{"name", name},
                                      {"summary", info->getPassDescription()},
                                      {"options", std::move(options)}});
  }
  if (json)
    printJson(llvm::json::Object{{"passes", std::move(list)}});
  return Success;
}

std::unique_ptr<Command> tool::createPassesCommand() {
  return std::make_unique<PassesCommand>();
}
