//===- GraphSummary.cpp - summary of a graph --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GraphSummary.h"

#include "Units.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace commute;
using namespace commute::tool;

template <typename Printable>
static std::string toText(const Printable &value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << value;
  return text;
}

/// Returns "[0, 1, 2, 3]", or all groups of an axis in sequence. For large
/// groups, returns "0-4095".
static std::string getMembers(tp::GroupAttr group) {
  constexpr size_t maxListed = 64;
  if (!group.hasKnownMembers())
    return "unknown";
  if (group.getRanks().size() > maxListed)
    return group.formatMembers();
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t index = 0; index < group.getNumGroups(); ++index) {
    os << (index ? " [" : "[");
    llvm::interleaveComma(group.getMembers(index), os);
    os << ']';
  }
  return text;
}

static void addInputs(func::FuncOp function, GraphSummary &summary) {
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    auto kind = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::kindAttrName);
    ++summary.inputsByKind[kind ? kind.str() : "user"];
    if (function.getArgAttr(index, tp::TPDialect::placementsAttrName))
      continue;
    auto name = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::nameAttrName);
    summary.unplacedInputs.push_back(name ? name.str()
                                          : "#" + std::to_string(index));
  }
}

/// Of the archives of all ranks, the graph shows what differs; of one, the
/// sidecar says so.
static void addConstantsOfRanks(const compiler::LoadedProgram &program,
                                GraphSummary &summary) {
  for (const vocabulary::RankConstant &constant :
       program.distributed.constantsOfRank)
    llvm::raw_string_ostream(summary.constantsOfRanks.emplace_back())
        << constant;
  program.getModule()->walk([&](tp::RankSelectOp op) {
    std::string node, file;
    unsigned line = 0;
    report::describeLocation(op->getLoc(), node, file, line);
    if (!file.empty())
      node += " (" + file + ":" + std::to_string(line) + ")";
    summary.constantsOfRanks.push_back(
        node + ": " +
        compiler::describeConstants(op).value_or("another value on each rank"));
  });
}

GraphSummary tool::summarize(const compiler::LoadedProgram &program) {
  ModuleOp module = program.getModule();
  GraphSummary summary;
  addConstantsOfRanks(program, summary);
  if (auto hints = module->getAttrOfType<DictionaryAttr>(
          tp::TPDialect::symbolHintsAttrName))
    for (NamedAttribute hint : hints)
      summary.symbols[hint.getName().str()] =
          cast<IntegerAttr>(hint.getValue()).getInt();
  auto symbols = [&](StringRef name) -> std::optional<int64_t> {
    auto found = summary.symbols.find(name.str());
    return found == summary.symbols.end() ? std::nullopt
                                          : std::optional(found->second);
  };
  if (auto assumptions =
          module->getAttrOfType<ArrayAttr>(tp::TPDialect::assumptionsAttrName))
    for (StringAttr assumption : assumptions.getAsRange<StringAttr>())
      summary.assumptions.push_back(assumption.str());
  if (auto groups =
          module->getAttrOfType<ArrayAttr>(tp::TPDialect::groupsAttrName))
    for (tp::GroupAttr group : groups.getAsRange<tp::GroupAttr>())
      summary.groups.push_back({group.getName().str(), getMembers(group),
                                group.getSize(), group.hasKnownMembers()});

  summary.placementProblems = findPlacementProblems(module);
  summary.notes = program.distributed.notes;
  // The default target will do: a share of the time is nearly that on others.
  if (func::FuncOp main = analysis::getMain(module))
    summary.replicated = compiler::findReplicatedWork(
        main, target::PriceModel(
                  llvm::cantFail(target::loadTarget(target::defaultTargetName)),
                  target::getStatedSizes(module)));
  module.walk([&](func::FuncOp function) {
    addInputs(function, summary);
    summary.numOutputs += function.getNumResults();
  });
  module.walk([&](Operation *op) {
    if (!isa_and_present<tp::TPDialect>(op->getDialect()))
      return;
    ++summary.numOps;
    if (auto call = dyn_cast<tp::CallOp>(op)) {
      ++(call.runsKernel() ? summary.opaque
                           : summary.withoutKernel)[call.getCallee().str()];
      return;
    }
    ++summary.modelled[op->getName().getStringRef().str()];
    auto collective = dyn_cast<tp::CollectiveOpInterface>(op);
    if (!collective)
      return;
    CollectiveSummary entry;
    entry.kind = op->getName().stripDialect().str();
    std::string file;
    unsigned line = 0;
    report::describeLocation(op->getLoc(), entry.node, file, line);
    if (!file.empty())
      entry.source = file + ":" + std::to_string(line);
    entry.group = collective.getCollectiveGroup().getName().str();
    if (entry.group.empty())
      entry.group = getMembers(collective.getCollectiveGroup());
    entry.groupSize = collective.getCollectiveGroup().getSize();
    entry.type = toText(op->getOperand(0).getType());
    entry.bytes = tp::getNumBytes(op->getOperand(0).getType(), symbols);
    summary.collectives.push_back(std::move(entry));
  });
  return summary;
}

static std::string formatKnownBytes(std::optional<int64_t> bytes) {
  return bytes ? formatBytes(double(*bytes)) : "unknown size";
}

void tool::print(const GraphSummary &summary, llvm::raw_ostream &os) {
  os << summary.numOps << " ops, " << summary.numOutputs << " outputs; inputs:";
  for (const auto &[kind, count] : summary.inputsByKind)
    os << ' ' << count << ' ' << kind;
  os << '\n';
  if (!summary.symbols.empty()) {
    os << "\nsymbolic sizes (with their values at capture):";
    for (const auto &[name, value] : summary.symbols)
      os << ' ' << name << " = " << value;
    os << '\n';
  }
  if (!summary.groups.empty()) {
    os << "\ngroups:\n";
    for (const GroupLine &group : summary.groups) {
      os << "  " << group.name << ": ";
      if (group.isKnown)
        os << "ranks " << group.members << '\n';
      else
        os << group.size
           << " ranks, not stated; pass, for example, --group=" << group.name
           << "=0-" << group.size - 1 << '\n';
    }
  }
  os << "\ncollectives:" << (summary.collectives.empty() ? " none\n" : "\n");
  for (const CollectiveSummary &entry : summary.collectives) {
    os << "  " << entry.kind << "  " << entry.node;
    if (!entry.source.empty())
      os << " (" << entry.source << ")";
    os << "  group " << entry.group << " of " << entry.groupSize << "  "
       << entry.type << ", " << formatKnownBytes(entry.bytes) << '\n';
  }
  os << "\nops:\n";
  for (const auto &[name, count] : summary.modelled)
    os << "  " << llvm::format_decimal(count, 6) << "  " << name << '\n';
  if (!summary.opaque.empty()) {
    os << "\nopaque ops (copied unchanged):\n";
    for (const auto &[name, count] : summary.opaque)
      os << "  " << llvm::format_decimal(count, 6) << "  " << name << '\n';
  }
  if (!summary.constantsOfRanks.empty()) {
    os << "\nconstants of the ranks:\n";
    for (const std::string &constant : summary.constantsOfRanks)
      os << "  " << constant << '\n';
  }
  if (!summary.withoutKernel.empty()) {
    os << "\noperators on sizes, and assertions (copied unchanged):\n";
    for (const auto &[name, count] : summary.withoutKernel)
      os << "  " << llvm::format_decimal(count, 6) << "  " << name << '\n';
  }
  if (!summary.assumptions.empty()) {
    os << "\nsize assumptions:\n";
    for (const std::string &assumption : summary.assumptions)
      os << "  " << assumption << '\n';
  }
  bool hasReplicated =
      summary.replicated && summary.replicated->numReplicatedOps > 0;
  if (hasReplicated || !summary.notes.empty()) {
    os << "\nwork of the ranks:\n";
    if (hasReplicated)
      os << "  " << describe(*summary.replicated) << " on the default target\n";
    for (const std::string &note : summary.notes)
      os << "  " << note << '\n';
  }
  if (!summary.placementProblems.empty()) {
    os << "\nplacements that conflict with operations:\n";
    print(summary.placementProblems, os);
  }
  if (!summary.unplacedInputs.empty() && !summary.groups.empty())
    os << "\nno placement is stated for " << summary.unplacedInputs.size()
       << " inputs (first: " << summary.unplacedInputs.front()
       << "); see --input-placement\n";
}

llvm::json::Object tool::toJson(const GraphSummary &summary) {
  auto toObject = [](const auto &counts) {
    llvm::json::Object object;
    for (const auto &[name, count] : counts)
      object[name] = static_cast<int64_t>(count);
    return object;
  };
  llvm::json::Array collectives;
  for (const CollectiveSummary &entry : summary.collectives) {
    llvm::json::Object object{{"kind", entry.kind},
                              {"node", entry.node},
                              {"source", entry.source},
                              {"group", entry.group},
                              {"group_size", entry.groupSize},
                              {"type", entry.type}};
    if (entry.bytes)
      object["bytes"] = *entry.bytes;
    collectives.push_back(std::move(object));
  }
  llvm::json::Object groups;
  for (const GroupLine &group : summary.groups)
    groups[group.name] = group.members;
  llvm::json::Value replicated = nullptr;
  if (summary.replicated)
    replicated = compiler::toJson(*summary.replicated);
  return llvm::json::Object{
      {"ops", static_cast<int64_t>(summary.numOps)},
      {"outputs", static_cast<int64_t>(summary.numOutputs)},
      {"inputs", toObject(summary.inputsByKind)},
      {"symbols", toObject(summary.symbols)},
      {"groups", std::move(groups)},
      {"collectives", std::move(collectives)},
      {"modelled", toObject(summary.modelled)},
      {"opaque", toObject(summary.opaque)},
      {"constants_of_ranks", llvm::json::Array(summary.constantsOfRanks)},
      {"without_kernel", toObject(summary.withoutKernel)},
      {"assumptions", llvm::json::Array(summary.assumptions)},
      {"replicated", std::move(replicated)},
      {"notes", llvm::json::Array(summary.notes)},
      {"placement_problems", toJson(summary.placementProblems)},
      {"unplaced_inputs", llvm::json::Array(summary.unplacedInputs)}};
}
