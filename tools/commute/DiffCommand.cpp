//===- DiffCommand.cpp - commute diff ---------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "JsonOutput.h"
#include "ProgramOptions.h"
#include "SafeOutput.h"
#include "TextLayout.h"
#include "Units.h"

#include "commute/Compiler/ProgramDiff.h"
#include "commute/Target/Target.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class DiffCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{"diff", "List the ops, collectives and prices that "
                                 "differ between two graphs"};
  cl::list<std::string> inputs{cl::Positional, cl::OneOrMore, cl::sub(command),
                               cl::desc("A B")};
  cl::opt<std::string> target{
      "target", cl::sub(command), cl::value_desc("NAME|FILE"),
      cl::init(target::defaultTargetName.str()),
      cl::desc("Machine to price for (default: h100x8; see commute targets)")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON")};
  ProgramOptions options{command};
};
} // namespace

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Returns, for example, "-12.3 %".
static std::string formatChange(double before, double after) {
  if (before == after)
    return "";
  if (before <= 0)
    return "new";
  return formatSignedPercent(after / before - 1);
}

static void printTotals(const ProgramDiff &diff, llvm::raw_ostream &os) {
  using Align = Table::Align;
  Table table({{""},
               {"A", Align::Right},
               {"B", Align::Right},
               {"change", Align::Right}});
  auto add = [&](std::string what, double before, double after, auto format) {
    table.addRow({std::move(what), format(before), format(after),
                  formatChange(before, after)});
  };
  add("ops", double(diff.numOps[0]), double(diff.numOps[1]),
      [](double number) { return std::to_string(size_t(number)); });
  if (diff.steps[0] && diff.steps[1]) {
    const StepTotals &a = *diff.steps[0], &b = *diff.steps[1];
    add("step on " + diff.target, a.stepSeconds, b.stepSeconds, formatSeconds);
    add("compute", a.computeSeconds, b.computeSeconds, formatSeconds);
    add("communication", a.communicationSeconds, b.communicationSeconds,
        formatSeconds);
    add("exposed communication", a.exposedSeconds, b.exposedSeconds,
        formatSeconds);
    add("sent by each rank", a.wireBytes, b.wireBytes, formatBytes);
    add("activations, at most", a.peakActivationBytes, b.peakActivationBytes,
        formatBytes);
  }
  table.print(2, os);
  if (!diff.unpriced.empty())
    printWrapped("no predictions: " + diff.unpriced, 2, os);
}

static void printCollectives(const ProgramDiff &diff, llvm::raw_ostream &os) {
  if (diff.collectives.empty())
    return;
  using Align = Table::Align;
  Table table({{"collective"},
               {"group"},
               {"A", Align::Right},
               {"B", Align::Right},
               {"operands in A", Align::Right},
               {"operands in B", Align::Right}});
  auto format = [](const CollectiveTotals &totals) {
    return totals.bytes ? formatBytes(*totals.bytes) : "unknown";
  };
  for (const auto &[key, both] : diff.collectives)
    table.addRow({key.first, key.second, std::to_string(both.first.count),
                  std::to_string(both.second.count), format(both.first),
                  format(both.second)});
  os << '\n';
  table.print(2, os);
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

static std::string formatOp(const DiffedOp &op, bool showsStrides) {
  std::string text = op.node;
  if (!op.source.empty())
    text += (text.empty() ? "(" : " (") + op.source + ")";
  text += (text.empty() ? "" : " ") + op.op;
  if (op.types.empty())
    return text;
  return text + " -> " + (showsStrides ? op.types : removeStrides(op.types));
}

static void printChange(const OpChange &change, llvm::raw_ostream &os) {
  using Kind = OpChange::Kind;
  // Strides matter if nothing else differs.
  bool showsStrides =
      change.kind == Kind::Changed && change.before.op == change.after.op &&
      removeStrides(change.before.types) == removeStrides(change.after.types);
  auto print = [&](llvm::StringRef mark, const DiffedOp &op) {
    printWrapped((mark + " " + formatOp(op, showsStrides)).str(), 4, os, 2);
  };
  if (change.kind == Kind::Removed || change.kind == Kind::Changed)
    print("-", change.before);
  if (change.kind == Kind::Added || change.kind == Kind::Changed)
    print("+", change.after);
  if (change.kind == Kind::Moved)
    print(">", change.after);
  if (change.kind == Kind::Rewired)
    print("~", change.after);
}

/// "layers.0, layers.1 ... layers.79".
static std::string formatLayers(llvm::ArrayRef<std::string> layers) {
  if (layers.size() == 1)
    return layers.front().empty() ? "in no layer" : layers.front();
  if (layers.size() < 4)
    return llvm::join(layers, ", ");
  return layers[0] + ", " + layers[1] + " ... " + layers.back();
}

static void printLayers(const ProgramDiff &diff, llvm::raw_ostream &os) {
  // Users of a replaced value differ only because of it.
  using Kind = OpChange::Kind;
  size_t numRewired = diff.count(Kind::Rewired);
  bool showsRewired = numRewired > 0 && diff.count(Kind::Added) == 0 &&
                      diff.count(Kind::Removed) == 0 &&
                      diff.count(Kind::Changed) == 0;
  os << "\nby layer: - only in A, + only in B, > moved"
     << (showsRewired ? ", ~ other operands\n" : "\n");
  for (const LayerDiff &layer : diff.layers) {
    bool hasShown = llvm::any_of(layer.changes, [&](const OpChange &change) {
      return showsRewired || change.kind != Kind::Rewired;
    });
    if (!hasShown)
      continue;
    os << "  " << formatLayers(layer.layers);
    if (layer.layers.size() > 1)
      os << " (" << layer.layers.size() << " layers that change alike)";
    os << '\n';
    for (const OpChange &change : layer.changes)
      if (showsRewired || change.kind != Kind::Rewired)
        printChange(change, os);
  }
  if (numRewired > 0 && !showsRewired)
    os << "  " << numRewired
       << (numRewired == 1 ? " more op uses" : " more ops use")
       << " other values\n";
}

llvm::Expected<ExitCode> DiffCommand::run() {
  llvm::ArrayRef<std::string> paths = inputs;
  if (paths.size() % 2 != 0)
    return llvm::createStringError(
        paths.back() + ": there is no graph to compare it with; expected A B, "
                       "each a file or a folder, or the archives of all ranks "
                       "of A and then those of B");
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<LoadedProgram> a =
      options.read(paths.take_front(paths.size() / 2), context);
  if (!a)
    return a.takeError();
  llvm::Expected<LoadedProgram> b =
      options.read(paths.drop_front(paths.size() / 2), context);
  if (!b)
    return b.takeError();
  llvm::Expected<ProgramDiff> diff = compare(*a, *b, target);
  if (!diff)
    return diff.takeError();
  if (json) {
    llvm::json::Object object = toJson(*diff);
    object["a"] = a->origin;
    object["b"] = b->origin;
    printJson(std::move(object));
  } else {
    llvm::raw_ostream &os = safeOuts();
    os << "A: " << a->origin << "\nB: " << b->origin << "\n\n";
    printTotals(*diff, os);
    printCollectives(*diff, os);
    if (diff->isSame())
      os << "\nthe graphs have the same ops\n";
    else
      printLayers(*diff, os);
  }
  return diff->isSame() ? Success : PropertyFails;
}

std::unique_ptr<Command> tool::createDiffCommand() {
  return std::make_unique<DiffCommand>();
}
