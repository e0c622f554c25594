//===- fuzz_program.cpp - hostile exported programs -----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What parses must be given back byte for byte, and must survive being written
// anew: all nodes rendered from their structs, and all names changed.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace commute::archive;

static void require(bool condition, const char *message) {
  if (!condition)
    llvm::report_fatal_error(message);
}

static std::unique_ptr<Program> parseAgain(std::string text) {
  auto program = parseProgram(std::move(text), "output");
  if (!program)
    llvm::report_fatal_error(program.takeError());
  return std::move(*program);
}

static void checkIdentity(const Program &program) {
  ProgramEdits edits;
  for (size_t i = 0; i < program.graph.nodes.size(); ++i)
    edits.keepNode(i);
  require(edits.changesNothing(program), "keeping all nodes is a change");
  require(edits.apply(program) == program.document->text(),
          "the unchanged program is written differently");
}

/// Everything rendered from the structs is read as it was, and rendered the
/// same again.
static void checkRendering(const Program &program) {
  auto render = [](const Program &source) {
    ProgramEdits edits;
    for (const Node &node : source.graph.nodes)
      edits.addNode(node);
    for (const auto &[name, meta] : source.graph.tensorValues)
      edits.addTensorValue(name, meta);
    return edits.apply(source);
  };
  std::string text = render(program);
  std::unique_ptr<Program> again = parseAgain(text);
  require(again->graph.nodes.size() == program.graph.nodes.size(),
          "rendering loses nodes");
  require(again->graph.tensorValues.size() == program.graph.tensorValues.size(),
          "rendering loses tensor values");
  require(render(*again) == text, "rendering twice gives different text");
}

/// All values that nodes define get a prefix, and all uses follow.
static void checkRenaming(Program &program) {
  constexpr llvm::StringLiteral prefix = "renamed_";
  llvm::DenseMap<llvm::StringRef, llvm::StringRef> newNames;
  ProgramEdits edits;
  for (const Node &node : program.graph.nodes)
    for (const Argument &output : node.outputs)
      output.forEachValue([&](const Argument &value) {
        newNames[value.text] = program.strings.save(prefix + value.text);
      });
  // The result must not meet a name that is there already.
  for (const auto &[oldName, newName] : newNames)
    if (newNames.contains(newName) ||
        program.graph.tensorValues.contains(newName) ||
        llvm::any_of(program.graph.inputs, [&](const Argument &input) {
          return input.namesValue() && input.text == newName;
        }))
      return;

  auto follow = [&](const Argument &value,
                    llvm::SmallVectorImpl<ProgramEdits::Rename> &renames) {
    if (auto found = newNames.find(value.text); found != newNames.end())
      renames.push_back({value.nameSpan, found->second});
  };
  for (auto [index, node] : llvm::enumerate(program.graph.nodes)) {
    llvm::SmallVector<ProgramEdits::Rename> renames;
    for (const NamedArgument &input : node.inputs)
      input.value.forEachValue(
          [&](const Argument &value) { follow(value, renames); });
    for (const Argument &output : node.outputs)
      output.forEachValue(
          [&](const Argument &value) { follow(value, renames); });
    edits.keepNode(index, renames);
  }
  llvm::SmallVector<ProgramEdits::Rename> outer;
  for (const Argument &value : program.outerNames)
    follow(value, outer);
  for (const ProgramEdits::Rename &rename : outer)
    edits.rename(rename);
  for (const auto &[name, meta] : program.graph.tensorValues) {
    auto found = newNames.find(name);
    if (found == newNames.end())
      continue;
    edits.removeTensorValue(name);
    edits.addTensorValue(found->second, meta);
  }
  std::unique_ptr<Program> again = parseAgain(edits.apply(program));
  for (const auto &[oldName, newName] : newNames)
    require(!again->graph.tensorValues.contains(oldName),
            "a name has not been changed");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  auto program = parseProgram(std::move(text), "input");
  if (!program) {
    llvm::consumeError(program.takeError());
    return 0;
  }
  checkIdentity(**program);
  checkRendering(**program);
  checkRenaming(**program);
  return 0;
}
