//===- ProgramDiff.cpp - two programs side by side --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/ProgramDiff.h"

#include "MergedRanks.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Target/Estimate.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;
namespace json = llvm::json;

llvm::StringRef compiler::stringify(OpChange::Kind kind) {
  switch (kind) {
  case OpChange::Kind::Removed:
    return "removed";
  case OpChange::Kind::Added:
    return "added";
  case OpChange::Kind::Changed:
    return "changed";
  case OpChange::Kind::Moved:
    return "moved";
  case OpChange::Kind::Rewired:
    return "rewired";
  }
  llvm_unreachable("all kinds are listed");
}

size_t ProgramDiff::count(OpChange::Kind kind) const {
  size_t result = 0;
  for (const LayerDiff &layer : layers)
    result += layer.layers.size() *
              llvm::count_if(layer.changes, [&](const OpChange &change) {
                return change.kind == kind;
              });
  return result;
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// Returns the layer in the path of a module: "layers.0" of
/// "layers.0.attention"; empty if the path has no number.
static StringRef getNumberedPrefix(StringRef path) {
  for (size_t begin = 0; begin < path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    StringRef part = path.slice(begin, end);
    if (!part.empty() && llvm::all_of(part, llvm::isDigit))
      return path.take_front(end);
    begin = end + 1;
  }
  return "";
}

/// Returns the layer of a node by torch.export's "nn_module_stack", whose
/// entries "key,path,type" are separated by semicolons.
static std::string getLayer(StringRef metadata) {
  llvm::Expected<json::Value> parsed = json::parse(metadata);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return "";
  }
  const json::Object *object = parsed->getAsObject();
  std::optional<StringRef> stack =
      object ? object->getString("nn_module_stack") : std::nullopt;
  if (!stack)
    return "";
  StringRef outermost;
  for (StringRef entry : llvm::split(*stack, ';')) {
    StringRef path = entry.split(',').second.split(',').first;
    if (StringRef layer = getNumberedPrefix(path); !layer.empty())
      return layer.str();
    if (outermost.empty())
      outermost = path;
  }
  return outermost.str();
}

//===----------------------------------------------------------------------===//
// Ops of a program
//===----------------------------------------------------------------------===//

namespace {

struct ListedOp : DiffedOp {
  Operation *operation = nullptr;
  std::string layer;
  /// By which ops of the programs correspond.
  std::string key;
  /// The names of the values that the op uses.
  std::string operands;
  /// True for a helper op, which no node of the graph stands for.
  bool isInner = false;
};

} // namespace

/// The ops of a program, in order.
static std::vector<ListedOp> listOps(const LoadedProgram &program,
                                     func::FuncOp function) {
  llvm::StringMap<std::string> layers;
  if (archive::Program *graph = program.getGraph())
    for (const archive::Node &node : graph->graph.nodes)
      layers[node.name] = getLayer(node.metadata);
  else
    for (const LoadedProgram &rank : ArrayRef(program.ranks).take_front(1))
      if (archive::Program *own = rank.getGraph())
        for (const archive::Node &node : own->graph.nodes)
          layers[node.name] = getLayer(node.metadata);
  std::vector<ListedOp> ops;
  llvm::StringMap<unsigned> seen;
  llvm::DenseMap<Value, std::string> names;
  for (BlockArgument argument : function.getArguments())
    names[argument] = "input " + std::to_string(argument.getArgNumber());
  for (Operation &op : function.getBody().front()) {
    ListedOp entry;
    entry.operation = &op;
    entry.op = getKindName(&op);
    llvm::raw_string_ostream types(entry.types);
    llvm::interleaveComma(op.getResultTypes(), types);
    std::string file;
    unsigned line = 0;
    report::describeLocation(op.getLoc(), entry.node, file, line);
    if (!file.empty())
      entry.source = file + ":" + std::to_string(line);
    entry.layer = layers.lookup(entry.node);
    // Ops that a node expands to share its location.
    entry.isInner = !program.getArchives().empty() &&
                    !op.hasAttr(tp::TPDialect::namesAttrName);
    std::string key = entry.node.empty() ? entry.op + " " + entry.types
                      : entry.isInner    ? entry.node + " " + entry.op
                                         : entry.node;
    entry.key = key + "#" + std::to_string(seen[key]++);
    for (Value operand : op.getOperands())
      entry.operands += names.lookup(operand) + ", ";
    for (OpResult result : op.getResults())
      names[result] =
          entry.key + "." + std::to_string(result.getResultNumber());
    if (!op.hasTrait<OpTrait::IsTerminator>())
      ops.push_back(std::move(entry));
  }
  return ops;
}

/// The number of ops that a person counts.
static size_t countOps(ArrayRef<ListedOp> ops) {
  return llvm::count_if(ops,
                        [](const ListedOp &entry) { return !entry.isInner; });
}

//===----------------------------------------------------------------------===//
// Changes
//===----------------------------------------------------------------------===//

/// Returns which numbers of a sequence of different numbers are in a longest
/// increasing subsequence.
static std::vector<bool> findIncreasing(ArrayRef<size_t> numbers) {
  // By length, the index of the smallest last number.
  std::vector<size_t> lastOfLength;
  std::vector<std::optional<size_t>> previous(numbers.size());
  for (size_t index = 0; index < numbers.size(); ++index) {
    auto place = llvm::partition_point(lastOfLength, [&](size_t last) {
      return numbers[last] < numbers[index];
    });
    if (place != lastOfLength.begin())
      previous[index] = *std::prev(place);
    if (place == lastOfLength.end())
      lastOfLength.push_back(index);
    else
      *place = index;
  }
  std::vector<bool> result(numbers.size());
  if (!lastOfLength.empty())
    for (std::optional<size_t> index = lastOfLength.back(); index;
         index = previous[*index])
      result[*index] = true;
  return result;
}

namespace {
struct PlacedChange {
  std::string layer;
  OpChange change;
};
} // namespace

/// Returns all changes, those of the second program at the place of the op
/// before them.
static std::vector<PlacedChange> findChanges(ArrayRef<ListedOp> first,
                                             ArrayRef<ListedOp> second) {
  llvm::StringMap<size_t> indexInSecond;
  for (auto [index, entry] : llvm::enumerate(second))
    indexInSecond[entry.key] = index;
  std::vector<size_t> positions;
  std::vector<std::optional<size_t>> matchOf(first.size());
  std::vector<bool> isMatched(second.size());
  for (auto [index, entry] : llvm::enumerate(first))
    if (auto found = indexInSecond.find(entry.key);
        found != indexInSecond.end()) {
      matchOf[index] = found->second;
      isMatched[found->second] = true;
      positions.push_back(found->second);
    }
  std::vector<bool> isInOrder = findIncreasing(positions);

  using Kind = OpChange::Kind;
  std::vector<PlacedChange> changes;
  size_t next = 0, numMatched = 0;
  auto addNew = [&](size_t end) {
    for (; next < end; ++next)
      if (!isMatched[next])
        changes.push_back(
            {second[next].layer, {Kind::Added, {}, second[next]}});
  };
  for (auto [index, entry] : llvm::enumerate(first)) {
    if (!matchOf[index]) {
      changes.push_back({entry.layer, {Kind::Removed, entry, {}}});
      continue;
    }
    const ListedOp &other = second[*matchOf[index]];
    bool isMoved = !isInOrder[numMatched++];
    if (!isMoved)
      addNew(*matchOf[index]);
    std::optional<Kind> kind;
    if (entry.op != other.op || entry.types != other.types)
      kind = Kind::Changed;
    else if (isMoved)
      kind = Kind::Moved;
    else if (entry.operands != other.operands)
      kind = Kind::Rewired;
    if (kind)
      changes.push_back({entry.layer, {*kind, entry, other}});
  }
  addNew(second.size());
  return changes;
}

/// Returns a text that is equal for layers that change alike.
static std::string getSignature(ArrayRef<OpChange> changes) {
  std::string text;
  for (const OpChange &change : changes)
    text += (stringify(change.kind) + " " + change.before.op + " " +
             change.before.types + " " + change.before.source + " " +
             change.after.op + " " + change.after.types + " " +
             change.after.source + "\n")
                .str();
  return text;
}

static std::vector<LayerDiff> foldLayers(std::vector<PlacedChange> changes) {
  std::vector<std::pair<std::string, std::vector<OpChange>>> byLayer;
  std::map<std::string, size_t> indexOf;
  for (PlacedChange &change : changes) {
    auto [known, isNew] = indexOf.try_emplace(change.layer, byLayer.size());
    if (isNew)
      byLayer.push_back({change.layer, {}});
    byLayer[known->second].second.push_back(std::move(change.change));
  }
  std::vector<LayerDiff> layers;
  std::map<std::string, size_t> indexOfSignature;
  for (auto &[layer, own] : byLayer) {
    auto [known, isNew] =
        indexOfSignature.try_emplace(getSignature(own), layers.size());
    if (isNew)
      layers.push_back({{layer}, std::move(own)});
    else
      layers[known->second].layers.push_back(layer);
  }
  return layers;
}

//===----------------------------------------------------------------------===//
// Totals
//===----------------------------------------------------------------------===//

/// Adds the collectives of one program to the totals that `select` returns.
template <typename Select>
static void addCollectives(ArrayRef<ListedOp> ops,
                           const target::SizeTable &sizes, ProgramDiff &diff,
                           Select select) {
  auto values = [&](StringRef name) -> std::optional<int64_t> {
    auto found = sizes.find(name.str());
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
  };
  for (const ListedOp &entry : ops) {
    auto collective = dyn_cast<tp::CollectiveOpInterface>(entry.operation);
    if (!collective)
      continue;
    CollectiveTotals &totals = select(
        diff.collectives[{entry.op, collective.getCollectiveGroup().getKey()}]);
    ++totals.count;
    std::optional<int64_t> bytes =
        tp::getNumBytes(entry.operation->getOperand(0).getType(), values);
    if (bytes && totals.bytes)
      *totals.bytes += double(*bytes);
    else
      totals.bytes.reset();
  }
}

static std::optional<StepTotals> predict(func::FuncOp function,
                                         const target::Target &target,
                                         const target::SizeTable &sizes,
                                         std::string &unpriced) {
  for (StringRef symbol : target::getSizeSymbols(function))
    if (!sizes.count(symbol.str())) {
      unpriced = "the value of size " + symbol.str() + " is unknown";
      return std::nullopt;
    }
  target::PriceModel model(target, sizes);
  llvm::Expected<target::Estimate> estimate = target::estimate(function, model);
  if (!estimate) {
    unpriced = llvm::toString(estimate.takeError());
    return std::nullopt;
  }
  return StepTotals{estimate->stepSeconds,
                    estimate->computeSeconds,
                    estimate->communicationSeconds,
                    estimate->exposedSeconds,
                    estimate->wireBytes,
                    estimate->peakActivationBytes};
}

llvm::Expected<ProgramDiff> compiler::compare(const LoadedProgram &first,
                                              const LoadedProgram &second,
                                              llvm::StringRef target) {
  llvm::Expected<target::Target> machine = target::loadTarget(target);
  if (!machine)
    return machine.takeError();
  ProgramDiff diff;
  diff.target = machine->name;
  std::vector<ListedOp> ops[2];
  OwningOpRef<ModuleOp> ofRank[2];
  const LoadedProgram *programs[] = {&first, &second};
  for (unsigned index = 0; index < 2; ++index) {
    const LoadedProgram &program = *programs[index];
    llvm::Expected<func::FuncOp> function = getMain(program);
    if (!function)
      return function.takeError();
    // All ranks run the same ops.
    if (!program.ranks.empty()) {
      ofRank[index] = getModuleOfRank(program.getModule(), 0, {});
      function = *ofRank[index]->getOps<func::FuncOp>().begin();
    }
    target::SizeTable sizes = target::getStatedSizes(program.getModule());
    ops[index] = listOps(program, *function);
    diff.numOps[index] = countOps(ops[index]);
    addCollectives(ops[index], sizes, diff, [&](auto &both) -> auto & {
      return index == 0 ? both.first : both.second;
    });
    std::string unpriced;
    diff.steps[index] = predict(*function, *machine, sizes, unpriced);
    if (!unpriced.empty())
      diff.unpriced = program.origin + ": " + unpriced;
  }
  diff.layers = foldLayers(findChanges(ops[0], ops[1]));
  return diff;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Object toJson(const DiffedOp &op) {
  json::Object object{{"node", op.node}, {"op", op.op}, {"types", op.types}};
  if (!op.source.empty())
    object["source"] = op.source;
  return object;
}

static json::Object toJson(const CollectiveTotals &totals) {
  json::Object object{{"count", static_cast<int64_t>(totals.count)}};
  if (totals.bytes)
    object["bytes"] = *totals.bytes;
  return object;
}

static json::Value toJson(const std::optional<StepTotals> &step) {
  if (!step)
    return nullptr;
  return json::Object{{"step_seconds", step->stepSeconds},
                      {"compute_seconds", step->computeSeconds},
                      {"communication_seconds", step->communicationSeconds},
                      {"exposed_communication_seconds", step->exposedSeconds},
                      {"wire_bytes", step->wireBytes},
                      {"peak_activation_bytes", step->peakActivationBytes}};
}

json::Object compiler::toJson(const ProgramDiff &diff) {
  json::Array layers, collectives;
  for (const LayerDiff &layer : diff.layers) {
    json::Array changes;
    for (const OpChange &change : layer.changes) {
      json::Object entry{{"change", stringify(change.kind)}};
      if (change.kind != OpChange::Kind::Added)
        entry["before"] = ::toJson(change.before);
      if (change.kind != OpChange::Kind::Removed)
        entry["after"] = ::toJson(change.after);
      changes.push_back(std::move(entry));
    }
    layers.push_back(json::Object{{"layers", json::Array(layer.layers)},
                                  {"changes", std::move(changes)}});
  }
  for (const auto &[key, both] : diff.collectives)
    collectives.push_back(json::Object{{"kind", key.first},
                                       {"group", key.second},
                                       {"before", ::toJson(both.first)},
                                       {"after", ::toJson(both.second)}});
  json::Object object{{"same", diff.isSame()},
                      {"target", diff.target},
                      {"ops_before", static_cast<int64_t>(diff.numOps[0])},
                      {"ops_after", static_cast<int64_t>(diff.numOps[1])},
                      {"before", ::toJson(diff.steps[0])},
                      {"after", ::toJson(diff.steps[1])},
                      {"layers", std::move(layers)},
                      {"collectives", std::move(collectives)}};
  if (!diff.unpriced.empty())
    object["unpriced"] = diff.unpriced;
  return object;
}
