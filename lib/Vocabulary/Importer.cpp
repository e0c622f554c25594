//===- Importer.cpp - import of PyTorch graphs as tp modules ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/StatedPlacements.h"
#include "commute/Vocabulary/Translation.h"

#include "Fingerprint.h"
#include "FunctionArguments.h"
#include "GraphFacts.h"
#include "InPlace.h"
#include "KnownCall.h"
#include "NodeReader.h"
#include "OpaqueCall.h"
#include "OperatorCall.h"
#include "ProgramGroups.h"
#include "Signature.h"
#include "SizesOfValues.h"
#include "SymbolHints.h"
#include "SymbolicExpression.h"
#include "TensorTypes.h"
#include "VocabularyRemarks.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/OpaqueOperators.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using archive::Node;

namespace {

class Importer : public GraphReader {
public:
  Importer(const archive::Program &program, const Vocabulary &vocabulary,
           const DistributedContext &distributed, MLIRContext *context,
           const EditedNodes &edited)
      : program(program), graph(program.graph), vocabulary(vocabulary),
        distributed(distributed), context(context), edited(edited),
        builder(context), symbols(context), rank(distributed.rank),
        isRankSpecific(distributed.isRankSpecific), tensorTypes(graph, symbols),
        groups(distributed, context),
        sizesOfValues(program, *this, symbolHints, context),
        vocabularyRemarks(vocabulary, context) {}

  llvm::Expected<ImportedProgram> run();

  // GraphReader
  Value getValue(StringRef name) override { return values.lookup(name); }
  RankedTensorType getTensorType(StringRef name) override {
    return tensorTypes.get(name);
  }
  bool isUsed(StringRef name) override { return usedNames.contains(name); }
  bool areOnSameDevice(StringRef a, StringRef b) override {
    return ::commute::vocabulary::areOnSameDevice(graph, a, b);
  }
  tp::GroupAttr getGroup(StringRef name, std::string &error) override {
    return groups.get(name, error);
  }
  tp::GroupAttr getGroupOfRanks(ArrayRef<int64_t> ranks) override {
    return groups.getOfRanks(ranks);
  }
  StringRef getGroupLimitation() override { return groups.getLimitation(); }
  tp::SymbolSpace &getSymbols() override { return symbols; }
  tp::Size getNumber(StringRef name) override {
    return ::commute::vocabulary::getNumber(graph, name, symbols);
  }
  bool noteRank(int64_t stated) override {
    if (!rank)
      rank = stated;
    // Ops that state a rank make the graph specific to that rank.
    isRankSpecific = true;
    return rank == stated;
  }

private:
  llvm::Error makeError(const Twine &message) {
    return llvm::createStringError(program.origin + ": " + message);
  }
  /// Creates an error about a statement in the sidecar or on the command line,
  /// which is not the fault of the graph's own record.
  llvm::Error makeStatementError(const Twine &message) {
    return llvm::createStringError(
        StringRef(program.origin).split(": record ").first +
        ": record extra/commute.json or command line: " + message);
  }
  llvm::Error makeNodeError(size_t index, const Twine &message) {
    return makeError("node '" + graph.nodes[index].name + "' (#" +
                     Twine(index) + "): " + message);
  }

  void collectFacts();
  Location getLocation(const Node &node);
  StringAttr getTargetAttr(StringRef target);
  llvm::Error addFunction();
  llvm::Error readNode(size_t index);
  bool hasOneElementType(const Node &node);
  /// Verifies the created ops. Fails with a message if they contradict the
  /// types that the graph states.
  LogicalResult verifyCreated(NodeReader &reader, std::string &message);
  /// Emits a remark that a node becomes opaque because the shapes that the
  /// graph states contradict its operator.
  void remarkMisfit(const Node &node, StringRef message);
  /// Returns why a call of an operator of a vocabulary file is not the call of
  /// the known operator that was read, or an empty string if it is.
  std::string describeUnread(const NodeReader &reader, const Node &node);
  /// Records the fingerprint of a node's op under the name of its first result.
  void addRecord(size_t index, Operation *op, StringRef name);
  void readModelled(size_t index, NodeReader &reader);
  void readOpaque(const Node &node, const OperatorEntry *entry,
                  const OperatorAlias *alias, StringRef limitation);
  llvm::Error addReturn();
  void addModuleAttributes();

  const archive::Program &program;
  const archive::Graph &graph;
  const Vocabulary &vocabulary;
  const DistributedContext &distributed;
  MLIRContext *context;
  const EditedNodes &edited;
  OpBuilder builder;
  tp::SymbolSpace symbols;
  std::optional<int64_t> rank;
  bool isRankSpecific;

  ImportedProgram imported;
  func::FuncOp function;
  DenseMap<StringRef, Value> values;
  TensorTypes tensorTypes;
  /// The attributes of names of operators, by their text in memory, which nodes
  /// of a live graph share.
  DenseMap<std::pair<const char *, size_t>, StringAttr> targetAttrs;
  llvm::DenseSet<StringRef> usedNames;
  /// Values that some node writes into, and values that may alias these.
  llvm::DenseSet<StringRef> mutatedNames;
  ProgramGroups groups;
  SymbolHints symbolHints;
  SizesOfValues sizesOfValues;
  VocabularyRemarks vocabularyRemarks;
};

} // namespace

//===----------------------------------------------------------------------===//
// Graph-wide facts
//===----------------------------------------------------------------------===//

void Importer::collectFacts() {
  for (const Node &node : graph.nodes)
    groups.collect(node, vocabulary);
  usedNames = getUsedNames(graph);
  groups.complete();
  mutatedNames = findMutatedValues(graph, vocabulary);
  symbolHints = collectSymbolHints(graph, symbols);
}

//===----------------------------------------------------------------------===//
// Targets and locations
//===----------------------------------------------------------------------===//

StringAttr Importer::getTargetAttr(StringRef target) {
  StringAttr &attribute = targetAttrs[{target.data(), target.size()}];
  if (!attribute)
    attribute = builder.getStringAttr(target);
  return attribute;
}

Location Importer::getLocation(const Node &node) {
  Location where = UnknownLoc::get(context);
  if (std::optional<archive::SourceLine> line =
          archive::innermostSourceLine(node.stackTrace))
    where = FileLineColLoc::get(builder.getStringAttr(line->file), line->line,
                                /*column=*/0);
  return NameLoc::get(builder.getStringAttr(node.name), where);
}

//===----------------------------------------------------------------------===//
// The function and its arguments
//===----------------------------------------------------------------------===//

llvm::Error Importer::addFunction() {
  Location location = UnknownLoc::get(context);
  imported.module = ModuleOp::create(location);
  SmallVector<const Argument *> inputs;
  SmallVector<const archive::InputSpec *> specs;
  SmallVector<Type> types;
  for (auto [index, input] : llvm::enumerate(graph.inputs)) {
    // Inputs that were specialized to a constant are not values.
    if (!input.namesValue())
      continue;
    inputs.push_back(&input);
    specs.push_back(&program.inputSpecs[index]);
    types.push_back(getValueType(*this, input, context));
  }
  builder.setInsertionPointToEnd(imported.module->getBody());
  function = func::FuncOp::create(builder, location, "main",
                                  builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  SmallVector<DictionaryAttr> inputAttributes;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    BlockArgument argument = entry->getArgument(index);
    argument.setLoc(NameLoc::get(builder.getStringAttr(input->text)));
    values.try_emplace(input->text, argument);
    NamedAttrList attributes;
    attributes.set(tp::TPDialect::nameAttrName,
                   builder.getStringAttr(input->text));
    attributes.set(
        tp::TPDialect::kindAttrName,
        builder.getStringAttr(archive::inputKindName(specs[index]->kind)));
    if (!specs[index]->target.empty())
      attributes.set(tp::TPDialect::parameterAttrName,
                     builder.getStringAttr(specs[index]->target));
    inputAttributes.push_back(attributes.getDictionary(context));
  }
  // Set all attributes at once. Setting those of one argument copies the
  // attributes of all arguments.
  function.setAllArgAttrs(inputAttributes);
  function->setAttr(tp::TPDialect::signatureAttrName,
                    getSignature(program, context));
  builder.setInsertionPointToEnd(entry);
  return llvm::Error::success();
}

llvm::Error Importer::addReturn() {
  SmallVector<Value> results;
  for (const Argument &output : graph.outputs)
    output.forEachValue([&](const Argument &value) {
      results.push_back(values.lookup(value.text));
    });
  func::ReturnOp::create(builder, UnknownLoc::get(context), results);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), ValueRange(results).getTypes()));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// Returns true if the ops built for a node compute all of its used results.
static bool computesUsedResults(NodeReader &reader) {
  for (auto [index, value] : llvm::enumerate(reader.getResults()))
    if (!value && reader.isResultUsed(index))
      return false;
  return true;
}

bool Importer::hasOneElementType(const Node &node) {
  std::optional<archive::ScalarType> common;
  bool isOne = true;
  auto check = [&](const Argument &value) {
    auto meta = graph.tensorValues.find(value.text);
    if (value.tag != ArgumentTag::Tensor || meta == graph.tensorValues.end())
      return;
    isOne &= common.value_or(meta->second.dtype) == meta->second.dtype;
    common = meta->second.dtype;
  };
  for (const archive::NamedArgument &input : node.inputs)
    input.value.forEachValue(check);
  for (const Argument &output : node.outputs)
    output.forEachValue(check);
  return isOne;
}

llvm::Error Importer::readNode(size_t index) {
  const Node &node = graph.nodes[index];
  const OperatorAlias *alias = vocabulary.findAlias(getCalledOperator(node));
  StringRef target = alias ? StringRef(alias->sameAs) : node.target;
  const OperatorEntry *entry = vocabulary.find(target);
  if (alias)
    vocabularyRemarks.noteCall(getCalledOperator(node));

  // Nodes that touch a place (a value that some node writes into, or an alias
  // of one) become opaque calls and are not moved. They are still read, for two
  // reasons: to report their errors, and because passes may treat such a node
  // like any other after copying the place.
  bool touchesPlace = false;
  auto check = [&](const Argument &value) {
    touchesPlace |= mutatedNames.contains(value.text);
  };
  // Nearly every graph is functional.
  if (!mutatedNames.empty()) {
    for (const archive::NamedArgument &input : node.inputs)
      input.value.forEachValue(check);
    for (const Argument &output : node.outputs)
      output.forEachValue(check);
  }

  bool staysOpaque = false;
  for (const Argument &output : node.outputs)
    output.forEachValue([&](const Argument &value) {
      if (edited.added.contains(value.text))
        touchesPlace = false;
      staysOpaque |= edited.opaque.contains(value.text);
    });

  bool isKnown = entry && entry->read &&
                 (alias || hasKnownArguments(node, *entry)) &&
                 (!entry->needsOneElementType || hasOneElementType(node));
  // Own operators are read as calls of the known ones.
  Node known;
  if (isKnown && alias) {
    llvm::Expected<Node> call = getKnownCall(node, *alias);
    if (call) {
      known = std::move(*call);
    } else {
      vocabularyRemarks.remarkUndescribed(getCalledOperator(node),
                                          getLocation(node),
                                          llvm::toString(call.takeError()));
      isKnown = false;
    }
  }
  std::string limitation;
  if (isKnown) {
    NodeReader reader(*this, alias ? known : node, *entry, alias, builder,
                      getLocation(node));
    std::string message;
    bool isRead = succeeded(entry->read(reader)) && computesUsedResults(reader);
    // Any argument that the known operator lacks may change the result, and
    // users of other results need the node itself.
    if (isRead && alias) {
      std::string unread = describeUnread(reader, node);
      isRead = unread.empty();
      if (!isRead)
        vocabularyRemarks.remarkUndescribed(getCalledOperator(node),
                                            getLocation(node), unread);
    }
    if (isRead) {
      bool fits = succeeded(verifyCreated(reader, message));
      if (fits && !touchesPlace && !staysOpaque) {
        readModelled(index, reader);
        return llvm::Error::success();
      }
      // The stated shapes may be stale, because passes of other tools leave the
      // metadata of nodes that they edit. Do not report mismatches in graphs of
      // functions, where they are common: functions accept forms that the
      // operators do not have, and Dynamo records the final state of a tensor,
      // after calls such as `t_`.
      if (!fits && !isFunctionCall(node) && !graph.holdsFunctions)
        remarkMisfit(node, message);
    }
    // No pass changes a node that writes into a place, so its group is not
    // needed.
    bool needsGroup =
        !touchesPlace ||
        getMutatedInputs(node, entry, alias, graph.holdsFunctions).empty();
    if (!reader.getError().empty() && (needsGroup || !reader.isGroupUnknown()))
      return makeNodeError(index, reader.getError());
    reader.eraseCreated();
    limitation = reader.getLimitation().str();
  }
  if (touchesPlace && limitation.empty())
    limitation = "it shares memory with a tensor that the graph changes in "
                 "place";
  readOpaque(node, entry, alias, limitation);
  return llvm::Error::success();
}

std::string Importer::describeUnread(const NodeReader &reader,
                                     const Node &node) {
  if (const archive::NamedArgument *unread = reader.findUnread())
    return ("argument \"" + unread->name + "\" is not described").str();
  std::string problem;
  for (const Argument &output : node.outputs)
    output.forEachValue([&](const Argument &value) {
      if (isUsed(value.text) &&
          !llvm::is_contained(reader.getResultNames(), value.text))
        problem = ("its result '" + value.text + "' is not described").str();
    });
  return problem;
}

void Importer::remarkMisfit(const Node &node, StringRef message) {
  remark::missed(getLocation(node),
                 remark::RemarkOpts::name("does-not-fit").category("import"))
      << remark::add("{0} is not optimized: it contradicts the shapes that the "
                     "graph states: {1}",
                     node.target, message);
}

LogicalResult Importer::verifyCreated(NodeReader &reader,
                                      std::string &message) {
  // Turn the verifier's diagnostic into the message.
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    // The diagnostic does not need the op's name: the remark names the node.
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  return success(llvm::all_of(reader.getCreated(), [](Operation *op) {
    return succeeded(op->getName().verifyInvariants(op));
  }));
}

void Importer::addRecord(size_t index, Operation *op, StringRef name) {
  Fingerprint fingerprint = getFingerprint(op);
  RootRecord root{name, fingerprint.hash, {}};
  for (Value leaf : fingerprint.leaves)
    root.leafNames.push_back(getGraphName(leaf));
  imported.records[index].roots.push_back(std::move(root));
}

void Importer::readModelled(size_t index, NodeReader &reader) {
  const Node &node = graph.nodes[index];
  llvm::SmallMapVector<Operation *, SmallVector<StringRef, 2>, 4> namesOfOp;
  for (auto [name, value] :
       llvm::zip_equal(reader.getResultNames(), reader.getResults())) {
    if (!value)
      continue;
    Operation *op = value.getDefiningOp();
    auto &names = namesOfOp[op];
    names.resize(op->getNumResults());
    names[cast<OpResult>(value).getResultNumber()] = name;
    values.try_emplace(name, value);
  }
  StringAttr target = getTargetAttr(getCalledOperator(node));
  for (Operation *op : reader.getCreated()) {
    auto names = namesOfOp.find(op);
    if (names == namesOfOp.end()) {
      op->setAttr(innerAttrName, builder.getUnitAttr());
      continue;
    }
    // Set both at once: each list of attributes is uniqued.
    NamedAttrList attributes(op->getDiscardableAttrDictionary());
    attributes.set(tp::TPDialect::namesAttrName,
                   builder.getStrArrayAttr(names->second));
    attributes.set(tp::TPDialect::targetAttrName, target);
    op->setDiscardableAttrs(attributes.getDictionary(context));
  }
  sizesOfValues.note(node);
  for (Operation *op : reader.getCreated()) {
    auto names = namesOfOp.find(op);
    if (names != namesOfOp.end())
      addRecord(index, op, names->second.front());
  }
}

void Importer::readOpaque(const Node &node, const OperatorEntry *entry,
                          const OperatorAlias *alias, StringRef limitation) {
  size_t index = &node - graph.nodes.data();
  tp::CallOp call = createOpaqueCall(*this, program, node, entry, alias,
                                     builder, getLocation(node));
  SmallVector<StringRef> names;
  for (const Argument &output : node.outputs)
    output.forEachValue(
        [&](const Argument &value) { names.push_back(value.text); });
  // Identify a node without results by its index: its own name need not be
  // unique.
  if (names.empty())
    names.push_back(builder.getStringAttr("#" + Twine(index)).getValue());
  call->setAttr(tp::TPDialect::namesAttrName, builder.getStrArrayAttr(names));
  if (!limitation.empty())
    call->setAttr(tp::limitationAttrName, builder.getStringAttr(limitation));
  if (!limitation.empty() && limitation == groups.getLimitation())
    remark::missed(getLocation(node),
                   remark::RemarkOpts::name("unknown-ranks").category("import"))
        << remark::add("left alone: {0}", limitation);
  StringRef called = getCalledOperator(node);
  if (StringRef effects = vocabulary.findEffects(called); !effects.empty()) {
    call->setAttr(tp::effectsAttrName, builder.getStringAttr(effects));
    vocabularyRemarks.noteCall(called);
  }
  for (auto [name, value] : llvm::zip(names, call.getOutputs()))
    values.try_emplace(name, value);
  sizesOfValues.note(node);
  addRecord(index, call, names.front());
}

void Importer::addModuleAttributes() {
  ModuleOp module = *imported.module;
  if (ArrayRef<Attribute> all = groups.addStated(); !all.empty())
    module->setAttr(tp::TPDialect::groupsAttrName, builder.getArrayAttr(all));
  if (DictionaryAttr spellings = groups.getSpellings(vocabulary);
      !spellings.empty())
    module->setAttr(tp::groupSpellingsAttrName, spellings);
  if (!groups.getPremise().empty()) {
    remark::analysis(
        UnknownLoc::get(context),
        remark::RemarkOpts::name("group-premise").category("import"))
        << remark::add("assumed: {0}", groups.getPremise());
    module->setAttr(tp::groupPremiseAttrName,
                    builder.getStringAttr(groups.getPremise()));
  }
  // If the groups of other ranks are unknown, the program is that of one rank.
  if (!groups.getLimitation().empty())
    rank = std::nullopt;
  if (rank)
    module->setAttr(tp::TPDialect::rankAttrName,
                    builder.getI64IntegerAttr(*rank));
  if (rank && isRankSpecific)
    module->setAttr(tp::TPDialect::rankSpecificAttrName, builder.getUnitAttr());
  if (!distributed.assumptions.empty()) {
    SmallVector<StringRef> assumptions(distributed.assumptions.begin(),
                                       distributed.assumptions.end());
    module->setAttr(tp::TPDialect::assumptionsAttrName,
                    builder.getStrArrayAttr(assumptions));
  }
  SmallVector<NamedAttribute> ranges;
  for (const auto &[symbol, range] : distributed.sizeRanges)
    ranges.push_back(builder.getNamedAttr(
        symbol, builder.getDenseI64ArrayAttr({range.first, range.second})));
  if (!ranges.empty())
    module->setAttr(tp::sizeRangesAttrName, builder.getDictionaryAttr(ranges));
  SmallVector<NamedAttribute> hints;
  for (const auto &[name, value] : symbolHints)
    hints.push_back(
        builder.getNamedAttr(name, builder.getI64IntegerAttr(value)));
  if (!hints.empty())
    module->setAttr(tp::TPDialect::symbolHintsAttrName,
                    builder.getDictionaryAttr(hints));
}

llvm::Expected<ImportedProgram> Importer::run() {
  context->loadDialect<tp::TPDialect, func::FuncDialect>();
  collectFacts();
  imported.records.resize(graph.nodes.size());
  if (llvm::Error error = addFunction())
    return std::move(error);
  for (const Argument &input : graph.inputs)
    input.forEachValue(
        [&](const Argument &value) { sizesOfValues.noteKnown(value); });
  for (size_t index = 0; index < graph.nodes.size(); ++index)
    if (llvm::Error error = readNode(index))
      return std::move(error);
  if (llvm::Error error = addReturn())
    return std::move(error);
  vocabularyRemarks.remarkUnused();
  llvm::SetVector<tp::GroupAttr> usedGroups;
  usedGroups.insert_range(groups.getRead());
  // Groups without a name (TensorCast's) occur only in collectives.
  imported.module->walk([&](tp::CollectiveOpInterface op) {
    usedGroups.insert(op.getCollectiveGroup());
  });
  SmallVector<StringRef> otherGroups = groups.getNotRead();
  SmallVector<StringRef> otherSymbols =
      llvm::to_vector(llvm::make_first_range(program.rangeConstraints));
  StatedNames names{usedGroups.getArrayRef(), otherGroups, otherSymbols};
  auto check = [&](llvm::Error error) {
    return error ? makeStatementError(llvm::toString(std::move(error)))
                 : llvm::Error::success();
  };
  if (llvm::Error error =
          check(checkStatedGroups(distributed, names, groups.hasUnstated())))
    return std::move(error);
  addModuleAttributes();
  usedGroups.insert_range(groups.getRead());
  names.groups = usedGroups.getArrayRef();
  if (llvm::Error error =
          check(checkStatedAssumptions(*imported.module, distributed, names)))
    return std::move(error);
  if (llvm::Error error =
          check(statePlacements(function, distributed, names, rank)))
    return std::move(error);
  return std::move(imported);
}

llvm::Expected<ImportedProgram>
vocabulary::importProgram(const archive::Program &program,
                          const Vocabulary &vocabulary,
                          const DistributedContext &distributed,
                          MLIRContext *context, const EditedNodes &edited) {
  return Importer(program, vocabulary, distributed, context, edited).run();
}
