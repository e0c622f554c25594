//===- Exporter.cpp - export of tp modules as PyTorch graphs ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/Translation.h"

#include "ElementTypes.h"
#include "Fingerprint.h"
#include "NodeWriter.h"
#include "OperatorCall.h"
#include "OperatorRanks.h"
#include "Origins.h"
#include "ResultNames.h"
#include "SourceSpelling.h"
#include "SymbolicNumbers.h"
#include "TensorMetadata.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/GroupSpelling.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::Node;
using archive::ProgramEdits;

namespace {

class Exporter : public GraphWriter, public NumberWriter {
public:
  Exporter(func::FuncOp function, const ImportedProgram &imported,
           archive::Program &program, const Vocabulary &vocabulary)
      : function(function), program(program), graph(program.graph),
        vocabulary(vocabulary), writer(*this, vocabulary),
        origins(function, imported, graph), sources(graph, vocabulary),
        metadata(function, program), numbers(function, graph, metadata, *this),
        resultNames(program) {}

  llvm::Expected<ProgramEdits> run();

  // GraphWriter
  StringRef getName(Value value) override;
  StringRef makeName(Value value, StringRef base) override {
    return resultNames.make(value ? getGraphName(value) : "", base);
  }
  const archive::Device &getDevice() override { return metadata.getDevice(); }
  StringRef getGroupArgument() override { return groupArgument; }
  StringRef getProcessGroup(tp::GroupAttr group) override {
    return tp::getGroupSpelling(group, function).processGroup;
  }
  const Node *findExample(StringRef target) override;
  std::optional<Argument> getSize(RankedTensorType type, unsigned dim,
                                  int64_t factor, Location location) override {
    return numbers.get(type, dim, factor, location);
  }
  StringRef save(StringRef text) override { return program.strings.save(text); }
  void add(Node node, ValueRange values, Location location) override;
  void addIntermediate(Node node, StringRef name, RankedTensorType type,
                       Location location) override;

  // NumberWriter
  StringRef findWritten(Value value) override { return names.lookup(value); }
  StringRef makeNumberName(StringRef base) override {
    return makeName(Value(), base);
  }
  void addNumber(Node node, StringRef name, const tp::Size &size,
                 Location location) override;

private:
  /// Returns the source node whose op is unchanged.
  std::optional<Origin> findOrigin(Operation *op) {
    return origins.find(op, [&](Value leaf) { return isAvailable(leaf); });
  }
  bool isAvailable(Value value);
  /// Keeps the source node. Returns false if renaming operands is not enough.
  bool tryKeep(const Origin &origin);
  /// Returns the operands of a node, in order, with their current names.
  /// Returns nullopt if one old name would map to two new names and it is
  /// unknown which operand takes which.
  std::optional<SmallVector<std::pair<const Argument *, StringRef>>>
  getOperandNames(const Node &node, const Origin &origin);
  /// Returns the rank of the value that a name denotes in the new graph so far.
  std::optional<size_t> getRank(StringRef name);
  /// Reports an error for a new node that PyTorch would reject.
  void checkNode(const Node &node, Location location);
  /// Returns true if the operands of a kept node have the types that they had
  /// before.
  bool checkOperands(const Origin &origin,
                     ArrayRef<std::pair<const Argument *, StringRef>> operands);
  /// Writes changed ops as a call of the operator that they were read from, if
  /// they are still what a reader makes of it. Returns false if they are not.
  bool tryWriteAsSource(Operation *op);
  LogicalResult write(Operation *op);
  LogicalResult emit(Operation *op);
  void collectSpelling();
  /// Lets a new node inherit the metadata of the node that it replaces.
  void setOrigin(Node &node, Location location);
  void renameOuter();

  func::FuncOp function;
  archive::Program &program;
  const archive::Graph &graph;
  const Vocabulary &vocabulary;
  NodeWriter writer;
  Origins origins;
  SourceSpelling sources;
  TensorMetadata metadata;
  SymbolicNumbers numbers;
  ProgramEdits edits;

  DenseMap<StringRef, size_t> nodeByName;
  DenseMap<Value, StringRef> names;
  /// Types of the tensors that new nodes return, by name.
  DenseMap<StringRef, RankedTensorType> newTypes;
  ResultNames resultNames;
  /// The source nodes that are kept, with the current names of their operands.
  DenseMap<size_t, SmallVector<std::pair<const Argument *, StringRef>>>
      keptNodes;
  /// New names of kept nodes' results, where they differ from the old ones.
  DenseMap<StringRef, StringRef> keptNames;
  StringRef groupArgument = "group_name";
  /// The first source node of each operator.
  DenseMap<StringRef, const Node *> examples;
};

} // namespace

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

void Exporter::collectSpelling() {
  // PyTorch renamed this argument, and its loader accepts only the current
  // name.
  for (const Node &node : graph.nodes)
    if (node.target.starts_with("torch.ops._c10d_functional.") &&
        node.find("group")) {
      groupArgument = "group";
      return;
    }
}

StringRef Exporter::getName(Value value) {
  auto known = names.find(value);
  if (known != names.end())
    return known->second;
  Operation *op = value.getDefiningOp();
  // An inner op is written only if an op outside its node uses its result.
  if (!op || failed(write(op)))
    return {};
  return names.lookup(value);
}

//===----------------------------------------------------------------------===//
// New nodes
//===----------------------------------------------------------------------===//

void Exporter::setOrigin(Node &node, Location location) {
  auto name = dyn_cast<NameLoc>(location);
  if (!name)
    return;
  auto origin = nodeByName.find(name.getName().getValue());
  if (origin == nodeByName.end())
    return;
  node.origin = origin->second;
  node.metadata = graph.nodes[origin->second].metadata;
}

std::optional<size_t> Exporter::getRank(StringRef name) {
  if (RankedTensorType type = newTypes.lookup(name))
    return type.getRank();
  auto meta = graph.tensorValues.find(name);
  return meta == graph.tensorValues.end()
             ? std::nullopt
             : std::optional(meta->second.sizes.size());
}

void Exporter::checkNode(const Node &node, Location location) {
  std::string problem =
      findRankProblem(node, [&](StringRef name) { return getRank(name); });
  for (const archive::NamedArgument &input : node.inputs)
    input.value.forEachValue([&](const Argument &value) {
      if (!resultNames.isDefined(value.text))
        problem = ("it uses '" + value.text + "' before its definition").str();
    });
  if (!problem.empty())
    emitError(location) << "the new node '" << node.name << "' (" << node.target
                        << ") is not valid: " << problem;
}

void Exporter::add(Node node, ValueRange values, Location location) {
  checkNode(node, location);
  bool requiresGrad = false;
  for (const archive::NamedArgument &input : node.inputs)
    input.value.forEachValue([&](const Argument &value) {
      auto meta = graph.tensorValues.find(value.text);
      requiresGrad |=
          meta != graph.tensorValues.end() && meta->second.requiresGrad;
    });
  size_t index = 0;
  for (const Argument &output : node.outputs)
    output.forEachValue([&](const Argument &result) {
      Value value = values[index++];
      names[value] = result.text;
      resultNames.define(result.text);
      auto type = cast<RankedTensorType>(value.getType());
      newTypes[result.text] = type;
      if (graph.tensorValues.count(result.text))
        edits.removeTensorValue(result.text);
      edits.addTensorValue(result.text, metadata.get(type, requiresGrad));
    });
  setOrigin(node, location);
  edits.addNode(node);
}

void Exporter::addIntermediate(Node node, StringRef name, RankedTensorType type,
                               Location location) {
  checkNode(node, location);
  resultNames.define(name);
  newTypes[name] = type;
  edits.addTensorValue(name, metadata.get(type, /*requiresGrad=*/false));
  setOrigin(node, location);
  edits.addNode(node);
}

void Exporter::addNumber(Node node, StringRef name, const tp::Size &size,
                         Location location) {
  resultNames.define(name);
  edits.addSymIntValue(name, metadata.getSize(size));
  setOrigin(node, location);
  edits.addNode(node);
}

//===----------------------------------------------------------------------===//
// Kept nodes
//===----------------------------------------------------------------------===//

/// Returns true if the value has been written or can be written now: all ops
/// that it still needs are free of side effects and are not collectives.
bool Exporter::isAvailable(Value value) {
  SmallVector<Value> worklist{value};
  llvm::SmallDenseSet<Value> seen;
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    if (names.contains(current) || !seen.insert(current).second)
      continue;
    Operation *op = current.getDefiningOp();
    if (!op || !isMemoryEffectFree(op) || isa<tp::CollectiveOpInterface>(op))
      return false;
    llvm::append_range(worklist, op->getOperands());
  }
  return true;
}

std::optional<SmallVector<std::pair<const Argument *, StringRef>>>
Exporter::getOperandNames(const Node &node, const Origin &origin) {
  SmallVector<std::pair<const Argument *, StringRef>> operands;
  for (const archive::NamedArgument &input : node.inputs)
    input.value.forEachValue([&](const Argument &value) {
      operands.emplace_back(&value, value.text);
    });
  SmallVector<StringRef> leafNames;
  for (Value leaf : origin.leaves) {
    leafNames.push_back(getName(leaf));
    if (leafNames.back().empty())
      return std::nullopt;
  }
  // Usually the node's operands correspond one to one to the op's leaves,
  // because an opaque op has the same operands as its node.
  const auto &before = origin.leafNames;
  bool isSameOrder = llvm::equal(operands, before, [](auto operand, auto name) {
    return operand.second == name;
  });
  if (isSameOrder) {
    for (auto [operand, now] : llvm::zip_equal(operands, leafNames))
      operand.second = now;
    return operands;
  }
  llvm::SmallDenseMap<StringRef, StringRef> renames;
  for (auto [name, now] : llvm::zip_equal(before, leafNames)) {
    auto [it, isNew] = renames.try_emplace(name, now);
    if (!isNew && it->second != now)
      return std::nullopt;
  }
  for (auto &[argument, name] : operands)
    if (auto renamed = renames.find(name); renamed != renames.end())
      name = renamed->second;
  return operands;
}

bool Exporter::checkOperands(
    const Origin &origin,
    ArrayRef<std::pair<const Argument *, StringRef>> operands) {
  const Node &node = graph.nodes[origin.node];
  // The dtype assertion that torch.export inserts after a cast checks only the
  // element type.
  auto call = dyn_cast<tp::CallOp>(origin.ops.front());
  bool readsTypes = call && call.getReadsTypes();
  for (auto [argument, name] : operands) {
    RankedTensorType now = newTypes.lookup(name);
    auto before = graph.tensorValues.find(argument->text);
    if (!now || before == graph.tensorValues.end())
      continue;
    const archive::TensorMeta &meta = before->second;
    auto hasSameSizes = [&] {
      return static_cast<int64_t>(meta.sizes.size()) == now.getRank() &&
             llvm::all_of(llvm::zip(meta.sizes, metadata.getSizes(now)),
                          [&](const auto &pair) {
                            return !tp::areDifferent(
                                metadata.readNumber(std::get<0>(pair)),
                                std::get<1>(pair));
                          });
    };
    if (meta.dtype == getScalarType(now.getElementType()) &&
        (readsTypes || hasSameSizes()))
      continue;
    // The op does not use this operand of its node (full_like uses the shape
    // alone), and can be written without it.
    if (!llvm::is_contained(origin.leafNames, argument->text))
      return false;
    emitError(origin.ops.front()->getLoc())
        << "the node '" << node.name << "' (" << node.target << ") would use '"
        << name << "' of type " << now << " in place of '" << argument->text
        << "', which has a different shape or element type";
    return false;
  }
  return true;
}

bool Exporter::tryKeep(const Origin &origin) {
  const Node &node = graph.nodes[origin.node];
  auto operands = getOperandNames(node, origin);
  if (!operands || !checkOperands(origin, *operands))
    return false;
  auto registerResults = [&] {
    for (Operation *kept : origin.ops)
      for (OpResult result : kept->getResults())
        names[result] =
            keptNames.lookup_or(getGraphName(result), getGraphName(result));
  };
  // The node was kept already, for another of its results (split).
  if (auto kept = keptNodes.find(origin.node); kept != keptNodes.end()) {
    if (kept->second != *operands)
      return false;
    registerResults();
    return true;
  }
  // Names of the node's results may be taken by a node written earlier.
  bool isFree = true;
  for (const Argument &output : node.outputs)
    output.forEachValue([&](const Argument &value) {
      isFree &= !resultNames.isDefined(value.text);
    });
  bool areDefined = llvm::all_of(*operands, [&](const auto &operand) {
    return resultNames.isDefined(operand.second);
  });
  if (!isFree || !areDefined)
    return false;
  SmallVector<ProgramEdits::Rename> edited;
  for (auto [argument, name] : *operands)
    if (name != argument->text)
      edited.push_back({argument->nameSpan, name});
  for (const Argument &output : node.outputs)
    output.forEachValue([&](const Argument &value) {
      auto meta = graph.tensorValues.find(value.text);
      StringRef name = value.text;
      if (resultNames.isNameOfList(name) && meta != graph.tensorValues.end()) {
        name = makeName(Value(), "item");
        keptNames[value.text] = name;
        edited.push_back({value.nameSpan, name});
        edits.addTensorValue(name, meta->second);
      }
      resultNames.define(name);
    });
  llvm::sort(edited, [](const auto &a, const auto &b) {
    return a.span.begin < b.span.begin;
  });
  edits.keepNode(origin.node, edited);
  keptNodes[origin.node] = std::move(*operands);
  registerResults();
  return true;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

const Node *Exporter::findExample(StringRef target) {
  if (examples.empty())
    for (const Node &node : graph.nodes)
      examples.try_emplace(getCalledOperator(node), &node);
  return examples.lookup(target);
}

LogicalResult Exporter::write(Operation *op) {
  // Verify here, because passes may have run without verification.
  if (failed(op->getName().verifyInvariants(op)))
    return failure();
  auto target = op->getAttrOfType<StringAttr>(tp::TPDialect::targetAttrName);
  const OperatorAlias *alias =
      target ? vocabulary.findAlias(target.getValue()) : nullptr;
  const Node *example = alias ? findExample(target.getValue()) : nullptr;
  std::optional<OwnSpelling> own;
  if (example)
    own.emplace(OwnSpelling{target.getValue(), *alias, example});
  const OwnSpelling *outer = writer.exchangeOwn(own ? &*own : nullptr);
  WriteFunction write = graph.holdsFunctions
                            ? vocabulary.findFunctionWriter(op->getName())
                            : nullptr;
  LogicalResult result = write ? write(op, writer) : writer.writeAsOperator(op);
  writer.exchangeOwn(outer);
  // The node has the part of this rank as a constant. What it stands for is
  // known to readers of the module alone.
  if (succeeded(result) && isa<tp::GroupOpInterface>(op) &&
      !isa<tp::CollectiveOpInterface>(op))
    op->setAttr(
        tp::writtenNameAttrName,
        StringAttr::get(op->getContext(), names.lookup(op->getResult(0))));
  return result;
}

bool Exporter::tryWriteAsSource(Operation *op) {
  std::optional<ChangedNode> changed =
      origins.findChanged(op, [&](Value leaf) { return isAvailable(leaf); });
  if (!changed)
    return false;
  const Node &source = graph.nodes[changed->node];
  bool isWritten = llvm::any_of(changed->results, [&](const auto &result) {
    return names.contains(result.second);
  });
  bool returnsTensors =
      llvm::all_of(source.outputs, [](const Argument &output) {
        return output.tag == archive::ArgumentTag::Tensor;
      });
  if (isWritten || !returnsTensors ||
      !sources.isCall(source, changed->operands, changed->results, op))
    return false;
  Node node;
  node.target = source.target;
  node.isSingleTensorReturn = source.isSingleTensorReturn;
  node.inputs = source.inputs;
  bool areKnown = true;
  for (archive::NamedArgument &input : node.inputs)
    input.value.forEachValue([&](Argument &value) {
      if (Value operand = changed->operands.lookup(value.text))
        value.text = getName(operand);
      areKnown &= !value.text.empty() && resultNames.isDefined(value.text);
    });
  if (!areKnown)
    return false;
  StringRef base = source.target.drop_front(strlen("torch.ops."));
  base = base.split('.').second.split('.').first;
  SmallVector<Value> values;
  node.outputs = source.outputs;
  for (Argument &output : node.outputs) {
    values.push_back(changed->results.lookup(output.text));
    output.text = makeName(values.back(), base);
  }
  node.name =
      values.size() == 1 ? node.outputs.front().text : makeName(Value(), base);
  add(std::move(node), values, op->getLoc());
  return true;
}

LogicalResult Exporter::emit(Operation *op) {
  if (op->hasAttr(innerAttrName))
    return success();
  // The op was written already, for another of its results or for a user.
  if (op->getNumResults() > 0 &&
      llvm::all_of(op->getResults(),
                   [&](Value result) { return names.contains(result); }))
    return success();
  if (std::optional<Origin> origin = findOrigin(op))
    if (tryKeep(*origin))
      return success();
  bool isNamed = op->hasAttr(tp::TPDialect::namesAttrName);
  if (isNamed && tryWriteAsSource(op))
    return success();
  // A number is an argument of its users, not a node. It becomes a node only if
  // some user needs its name.
  if (auto constant = dyn_cast<tp::ConstantOp>(op);
      constant && !isNamed &&
      cast<RankedTensorType>(constant.getType()).getRank() == 0)
    return success();
  if (!isNamed && op->use_empty() && isMemoryEffectFree(op))
    return success();
  return write(op);
}

void Exporter::renameOuter() {
  // Collect the returned values, in the order of the outputs that name values.
  auto results =
      cast<func::ReturnOp>(function.getBody().front().getTerminator())
          .getOperands();
  DenseMap<StringRef, StringRef> renames;
  size_t index = 0;
  for (const Argument &output : graph.outputs)
    output.forEachValue([&](const Argument &value) {
      StringRef now = getName(results[index++]);
      if (now != value.text)
        renames[value.text] = now;
    });
  if (renames.empty())
    return;
  for (const Argument &outer : program.outerNames) {
    auto renamed = renames.find(outer.text);
    if (renamed != renames.end())
      edits.rename({outer.nameSpan, renamed->second});
  }
}

llvm::Expected<ProgramEdits> Exporter::run() {
  std::string message;
  ScopedDiagnosticHandler handler(
      function.getContext(), [&](Diagnostic &diagnostic) {
        if (message.empty()) {
          llvm::raw_string_ostream os(message);
          os << diagnostic.getLocation() << ": " << diagnostic;
        }
        return success();
      });
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    nodeByName.try_emplace(node.name, index);
  collectSpelling();
  for (BlockArgument argument : function.getArguments())
    names[argument] = getGraphName(argument);
  if (llvm::any_of(function.getBody().front(), [&](Operation &op) {
        return isa<tp::AllGatherMatmulOp>(op) && !findOrigin(&op);
      }))
    resultNames.reserveListNames();
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(emit(&op)))
      return llvm::createStringError(program.origin + ": " + message);
  renameOuter();
  // Drop the metadata of values that no longer exist.
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    if (!keptNodes.contains(index))
      for (const Argument &output : node.outputs)
        output.forEachValue([&](const Argument &value) {
          if (!resultNames.isDefined(value.text) &&
              graph.tensorValues.count(value.text))
            edits.removeTensorValue(value.text);
        });
  if (!message.empty())
    return llvm::createStringError(program.origin + ": " + message);
  return std::move(edits);
}

llvm::Expected<ProgramEdits>
vocabulary::exportProgram(ModuleOp module, const ImportedProgram &imported,
                          archive::Program &program,
                          const Vocabulary &vocabulary) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  if (!function || !function.getBody().hasOneBlock())
    return llvm::createStringError(program.origin +
                                   ": the module has no function main");
  return Exporter(function, imported, program, vocabulary).run();
}
