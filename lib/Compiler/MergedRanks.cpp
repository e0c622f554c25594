//===- MergedRanks.cpp - one module for the graphs of all ranks -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "MergedRanks.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

namespace {

/// A result of a node, identified by its name in the graph.
struct NamedResult {
  StringRef name;
  Value value;
};

class RankMerger {
public:
  explicit RankMerger(MutableArrayRef<LoadedProgram> programs)
      : programs(programs), merged(programs.size()), opsOfNode(programs.size()),
        builder(programs.front().getModule().getContext()) {}

  llvm::Error run();

private:
  using Ops = SmallVector<Operation *>;

  llvm::Error makeError(size_t rank, const Twine &message) const {
    return llvm::createStringError(programs[rank].origin + ": " + message);
  }
  /// Creates an error about a node at which the programs differ.
  llvm::Error makeNodeError(size_t rank, size_t node,
                            const Twine &message) const;

  func::FuncOp getMain(size_t rank) const {
    return analysis::getMain(programs[rank].getModule());
  }
  const archive::Graph &getGraph(size_t rank) const {
    return programs[rank].getGraph()->graph;
  }
  void collectOps(size_t rank);
  void collectGroups();

  /// Returns the merged value for a value of a rank's own module.
  Value lookup(size_t rank, Value value) const {
    return rank == 0 ? value : merged[rank].lookup(value);
  }
  llvm::Error mergeNode(size_t node);
  /// Returns true if the ops of a node correspond one to one in all ranks.
  bool areAligned(size_t node) const;
  llvm::Error mergeOps(size_t node, ArrayRef<Operation *> ops);
  llvm::Error mergeOperands(size_t node, ArrayRef<Operation *> ops);
  void mergeConstants(ArrayRef<Operation *> ops);
  void mergeCalls(ArrayRef<Operation *> ops);
  /// Keeps each variant of a node whose ops differ in more than a constant.
  llvm::Error mergeVariants(size_t node);
  bool areSameVariant(size_t node, size_t first, size_t second) const;
  Ops cloneVariant(size_t node, size_t rank, ArrayRef<NamedResult> ownResults,
                   ArrayRef<NamedResult> firstResults);

  /// Returns a value that is `values[r]` on rank r, created at the builder's
  /// insertion point.
  tp::RankSelectOp select(ArrayRef<Value> values, Location location);
  tp::GroupAttr findGroup(ArrayRef<Value> values) const;
  void noteName(size_t rank, StringRef first, StringRef own) {
    if (first != own && !first.empty())
      programs[rank].ownNames[first] = own.str();
  }

  MutableArrayRef<LoadedProgram> programs;
  /// By rank, the merged values of the values in its module.
  std::vector<DenseMap<Value, Value>> merged;
  /// By rank and node.
  std::vector<std::vector<Ops>> opsOfNode;
  /// Groups that contain all ranks, in ascending order of size.
  SmallVector<tp::GroupAttr> groups;
  std::map<std::vector<const void *>, Value> selects;
  OpBuilder builder;
};

} // namespace

llvm::Error RankMerger::makeNodeError(size_t rank, size_t node,
                                      const Twine &message) const {
  return llvm::createStringError(describeNode(programs[rank], node) + " " +
                                 message + sameNodes);
}

static std::string toText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

//===----------------------------------------------------------------------===//
// Differences
//===----------------------------------------------------------------------===//

void RankMerger::collectOps(size_t rank) {
  DenseMap<StringRef, size_t> nodeOfName;
  for (auto [node, record] : llvm::enumerate(programs[rank].imported.records))
    for (const vocabulary::RootRecord &root : record.roots)
      nodeOfName[root.name] = node;
  std::vector<Ops> &result = opsOfNode[rank];
  result.resize(getGraph(rank).nodes.size());
  // The named ops of a node's record are the last of its ops.
  Ops pending;
  size_t node = 0;
  for (Operation &op : getMain(rank).getBody().front().without_terminator()) {
    pending.push_back(&op);
    StringAttr name = getFirstName(&op);
    if (!name)
      continue;
    node = nodeOfName.lookup(name.getValue());
    result[node].append(pending);
    pending.clear();
  }
  if (!result.empty())
    result[node].append(pending);
}

void RankMerger::collectGroups() {
  auto ranks = llvm::seq<int64_t>(0, programs.size());
  auto isSmaller = [](tp::GroupAttr a, tp::GroupAttr b) {
    return a.getSize() < b.getSize();
  };
  for (tp::GroupAttr group : analysis::getGroups(programs[0].getModule()))
    if (group.hasKnownMembers() && llvm::all_of(ranks, [&](int64_t rank) {
          return group.getPosition(rank).has_value();
        }))
      groups.insert(llvm::upper_bound(groups, group, isSmaller), group);
}

tp::GroupAttr RankMerger::findGroup(ArrayRef<Value> values) const {
  // On a mesh, values usually depend on the position along a single axis.
  for (tp::GroupAttr group : groups) {
    bool fits = true;
    for (auto [rank, value] : llvm::enumerate(values))
      fits &= value == values[group.getMembers(0)[*group.getPosition(rank)]];
    if (fits)
      return group;
  }
  int64_t numRanks = values.size();
  return tp::GroupAttr::get(builder.getContext(), "", numRanks,
                            llvm::to_vector(llvm::seq<int64_t>(0, numRanks)));
}

tp::RankSelectOp RankMerger::select(ArrayRef<Value> values, Location location) {
  tp::GroupAttr group = findGroup(values);
  SmallVector<Value> ofMembers;
  for (int64_t member : group.getMembers(0))
    ofMembers.push_back(values[member]);
  return tp::RankSelectOp::create(builder, location, values.front().getType(),
                                  ofMembers, group);
}

/// The properties of two ops that must be equal, apart from operands.
static DictionaryAttr getComparable(Operation *op) {
  NamedAttrList attributes(op->getAttrDictionary());
  attributes.erase(tp::TPDialect::namesAttrName);
  if (auto constant = dyn_cast<tp::ConstantOp>(op))
    attributes.erase(constant.getValueAttrName());
  else if (auto call = dyn_cast<tp::CallOp>(op))
    attributes.erase(call.getArgumentsAttrName());
  return attributes.getDictionary(op->getContext());
}

static bool areAlike(Operation *a, Operation *b) {
  return a->getName() == b->getName() &&
         a->getNumOperands() == b->getNumOperands() &&
         a->getResultTypes() == b->getResultTypes() &&
         (a->getAttrDictionary() == b->getAttrDictionary() ||
          getComparable(a) == getComparable(b));
}

bool RankMerger::areAligned(size_t node) const {
  ArrayRef<Operation *> first = opsOfNode[0][node];
  return llvm::all_of(opsOfNode, [&](const std::vector<Ops> &ops) {
    return ops[node].size() == first.size() &&
           llvm::equal(first, ops[node], areAlike);
  });
}

llvm::Error RankMerger::mergeNode(size_t node) {
  if (!areAligned(node))
    return mergeVariants(node);
  for (size_t index = 0; index < opsOfNode[0][node].size(); ++index) {
    Ops ops;
    for (const std::vector<Ops> &own : opsOfNode)
      ops.push_back(own[node][index]);
    if (llvm::Error error = mergeOps(node, ops))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error RankMerger::mergeOps(size_t node, ArrayRef<Operation *> ops) {
  if (llvm::Error error = mergeOperands(node, ops))
    return error;
  for (size_t rank = 1; rank < ops.size(); ++rank)
    for (auto [own, first] :
         llvm::zip_equal(ops[rank]->getResults(), ops[0]->getResults())) {
      merged[rank][own] = first;
      noteName(rank, vocabulary::getGraphName(first),
               vocabulary::getGraphName(own));
    }
  auto differIn = [&](StringRef attribute) {
    return llvm::any_of(ops, [&](Operation *op) {
      return op->getAttr(attribute) != ops[0]->getAttr(attribute);
    });
  };
  if (auto constant = dyn_cast<tp::ConstantOp>(ops[0])) {
    if (differIn(constant.getValueAttrName()))
      mergeConstants(ops);
  } else if (auto call = dyn_cast<tp::CallOp>(ops[0])) {
    if (differIn(call.getArgumentsAttrName()))
      mergeCalls(ops);
  }
  return llvm::Error::success();
}

llvm::Error RankMerger::mergeOperands(size_t node, ArrayRef<Operation *> ops) {
  for (OpOperand &operand : ops[0]->getOpOperands()) {
    SmallVector<Value> values;
    std::vector<const void *> key;
    for (auto [rank, op] : llvm::enumerate(ops)) {
      values.push_back(
          lookup(rank, op->getOperand(operand.getOperandNumber())));
      key.push_back(values.back().getAsOpaquePointer());
    }
    if (llvm::all_equal(values))
      continue;
    auto differing = llvm::find_if(
        values, [&](Value value) { return value != values.front(); });
    size_t rank = differing - values.begin();
    // The operands of the return belong to no node.
    auto fail = [&](const Twine &message) {
      return ops[0]->hasTrait<OpTrait::IsTerminator>()
                 ? makeError(rank, "an output " + message + sameNodes)
                 : makeNodeError(rank, node, message);
    };
    std::string own = vocabulary::getGraphName(*differing).str();
    std::string first = vocabulary::getGraphName(values.front()).str();
    auto call = dyn_cast<tp::CallOp>(ops[0]);
    if (call && !call.getMutatedOperands().empty())
      return fail("writes into memory, and uses '" + own + "' where " +
                  programs[0].origin + " uses '" + first + "'");
    if (!llvm::all_of(values, [&](Value value) {
          return isa<RankedTensorType>(value.getType()) &&
                 value.getType() == values.front().getType();
        }))
      return fail("uses '" + own + "' of type " +
                  toText((*differing).getType()) + " where " +
                  programs[0].origin + " uses '" + first + "' of type " +
                  toText(values.front().getType()));
    Value &known = selects[key];
    if (!known) {
      builder.setInsertionPoint(ops[0]);
      known = select(values, ops[0]->getLoc());
    }
    operand.set(known);
  }
  return llvm::Error::success();
}

void RankMerger::mergeConstants(ArrayRef<Operation *> ops) {
  OpResult result = ops[0]->getResult(0);
  DenseMap<Attribute, Value> variants;
  SmallVector<Value> values;
  ops[0]->setAttr(tp::TPDialect::variantAttrName, builder.getUnitAttr());
  builder.setInsertionPointAfter(ops[0]);
  for (Operation *op : ops) {
    tp::ConstantOp constant = cast<tp::ConstantOp>(op);
    Value &variant = variants[constant.getValue()];
    if (!variant && op == ops[0])
      variant = result;
    if (!variant) {
      auto clone = cast<tp::ConstantOp>(builder.clone(*ops[0]));
      clone.setValueAttr(constant.getValue());
      variant = clone.getResult();
    }
    values.push_back(variant);
  }
  tp::RankSelectOp selected = select(values, ops[0]->getLoc());
  result.replaceUsesWithIf(selected.getResult(), [&](OpOperand &use) {
    return use.getOwner() != selected;
  });
  for (size_t rank = 1; rank < ops.size(); ++rank)
    merged[rank][ops[rank]->getResult(0)] = selected.getResult();
  if (std::optional<std::string> text = describeConstants(selected))
    remark::analysis(selected.getLoc(),
                     remark::RemarkOpts::name("of-rank").category("import"))
        << remark::add("a constant of the rank: {0}", *text);
}

void RankMerger::mergeCalls(ArrayRef<Operation *> ops) {
  // The arguments of an opaque op depend on the rank: replace them by a list,
  // and pass the index in the list as an operand.
  auto call = cast<tp::CallOp>(ops[0]);
  SmallVector<Attribute> texts;
  SmallVector<Value> values;
  builder.setInsertionPoint(call);
  std::string all;
  for (Operation *op : ops) {
    Attribute text = cast<tp::CallOp>(op).getArgumentsAttr();
    size_t index = llvm::find(texts, text) - texts.begin();
    if (index < texts.size()) {
      // Two ranks share it.
      for (auto [rank, other] : llvm::enumerate(ops))
        if (cast<tp::CallOp>(other).getArgumentsAttr() == text) {
          values.push_back(values[rank]);
          break;
        }
      continue;
    }
    texts.push_back(text);
    (all += all.empty() ? "" : "\n") += cast<StringAttr>(text).getValue();
    auto number = tp::ConstantOp::create(
        builder, call.getLoc(), RankedTensorType::get({}, builder.getI64Type()),
        builder.getI64IntegerAttr(static_cast<int64_t>(index)));
    number->setAttr(tp::TPDialect::variantAttrName, builder.getUnitAttr());
    values.push_back(number);
  }
  tp::RankSelectOp selected = select(values, call.getLoc());
  call->insertOperands(call->getNumOperands(), selected.getResult());
  call->setAttr(tp::TPDialect::argumentsOfRanksAttrName,
                builder.getArrayAttr(texts));
  call.setArguments(all);
}

//===----------------------------------------------------------------------===//
// Variants of a node
//===----------------------------------------------------------------------===//

static SmallVector<NamedResult> getNamedResults(ArrayRef<Operation *> ops) {
  SmallVector<NamedResult> results;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (StringRef name = vocabulary::getGraphName(result); !name.empty())
        results.push_back({name, result});
  return results;
}

bool RankMerger::areSameVariant(size_t node, size_t first,
                                size_t second) const {
  ArrayRef<Operation *> a = opsOfNode[first][node];
  ArrayRef<Operation *> b = opsOfNode[second][node];
  if (a.size() != b.size())
    return false;
  DenseMap<Value, Value> inner;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    NamedAttrList attributes(x->getAttrDictionary());
    NamedAttrList others(y->getAttrDictionary());
    for (NamedAttrList *list : {&attributes, &others}) {
      list->erase(tp::TPDialect::namesAttrName);
      list->erase(tp::TPDialect::variantAttrName);
    }
    if (!areAlike(x, y) || attributes != others)
      return false;
    for (auto [p, q] : llvm::zip_equal(x->getOperands(), y->getOperands()))
      if (Value own = inner.lookup(q);
          own ? own != p : lookup(first, p) != lookup(second, q))
        return false;
    for (auto [p, q] : llvm::zip_equal(x->getResults(), y->getResults()))
      inner[q] = p;
  }
  return true;
}

RankMerger::Ops RankMerger::cloneVariant(size_t node, size_t rank,
                                         ArrayRef<NamedResult> ownResults,
                                         ArrayRef<NamedResult> firstResults) {
  DenseMap<StringRef, StringRef> firstNames;
  for (auto [own, first] : llvm::zip_equal(ownResults, firstResults))
    firstNames[own.name] = first.name;
  IRMapping mapping;
  Ops clones;
  for (Operation *op : opsOfNode[rank][node]) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, lookup(rank, operand));
    Operation *clone = builder.clone(*op, mapping);
    clone->setAttr(tp::TPDialect::variantAttrName, builder.getUnitAttr());
    if (auto names =
            op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName)) {
      SmallVector<StringRef> renamed;
      for (StringAttr name : names.getAsRange<StringAttr>())
        renamed.push_back(firstNames.lookup(name.getValue()));
      clone->setAttr(tp::TPDialect::namesAttrName,
                     builder.getStrArrayAttr(renamed));
    }
    clones.push_back(clone);
  }
  return clones;
}

llvm::Error RankMerger::mergeVariants(size_t node) {
  std::vector<SmallVector<NamedResult>> results;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    ArrayRef<Operation *> ops = opsOfNode[rank][node];
    results.push_back(getNamedResults(ops));
    bool isPure = llvm::all_of(ops, [](Operation *op) {
      return isMemoryEffectFree(op) && !isa<tp::CollectiveOpInterface>(op);
    });
    bool hasSameTypes =
        results.back().size() == results.front().size() &&
        llvm::all_of(llvm::zip(results.back(), results.front()),
                     [](const auto &pair) {
                       return std::get<0>(pair).value.getType() ==
                              std::get<1>(pair).value.getType();
                     });
    if (!isPure || !hasSameTypes)
      return makeNodeError(
          rank == 0 ? 1 : rank, node,
          Twine("differs from '") + getGraph(0).nodes[node].name + "' of " +
              programs[0].origin +
              (hasSameTypes ? " in what it does to others"
                            : " in the shapes of its results"));
  }
  if (opsOfNode[0][node].empty())
    return makeNodeError(1, node, "has no counterpart");
  // By rank, the rank whose variant of the ops it shares.
  SmallVector<size_t> variantOf;
  std::vector<SmallVector<NamedResult>> variants(programs.size());
  variants[0] = results[0];
  llvm::SmallPtrSet<Operation *, 4> firstOps(llvm::from_range,
                                             opsOfNode[0][node]);
  builder.setInsertionPointAfter(opsOfNode[0][node].back());
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    size_t same = 0;
    while (same < rank &&
           (variantOf[same] != same || !areSameVariant(node, same, rank)))
      ++same;
    variantOf.push_back(same);
    if (same == rank && rank > 0)
      variants[rank] =
          getNamedResults(cloneVariant(node, rank, results[rank], results[0]));
  }
  for (Operation *op : firstOps)
    op->setAttr(tp::TPDialect::variantAttrName, builder.getUnitAttr());
  for (size_t index = 0; index < results[0].size(); ++index) {
    SmallVector<Value> values;
    for (size_t rank = 0; rank < programs.size(); ++rank)
      values.push_back(variants[variantOf[rank]][index].value);
    Value first = values.front();
    tp::RankSelectOp selected = select(values, first.getLoc());
    first.replaceUsesWithIf(selected.getResult(), [&](OpOperand &use) {
      return use.getOwner() != selected && !firstOps.contains(use.getOwner());
    });
    for (size_t rank = 1; rank < programs.size(); ++rank) {
      merged[rank][results[rank][index].value] = selected.getResult();
      noteName(rank, results[0][index].name, results[rank][index].name);
    }
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

llvm::Error RankMerger::run() {
  bool isRankSpecific = true;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    isRankSpecific &= programs[rank].getModule()->hasAttr(
        tp::TPDialect::rankSpecificAttrName);
    if (llvm::Error error = checkRanks(programs[rank], programs[0]))
      return error;
    collectOps(rank);
    for (auto [own, first] : llvm::zip_equal(getMain(rank).getArguments(),
                                             getMain(0).getArguments()))
      merged[rank][own] = first;
  }
  collectGroups();
  for (size_t node = 0; node < getGraph(0).nodes.size(); ++node)
    if (llvm::Error error = mergeNode(node))
      return error;
  Ops returns;
  for (size_t rank = 0; rank < programs.size(); ++rank)
    returns.push_back(getMain(rank).getBody().front().getTerminator());
  if (llvm::Error error = mergeOperands(0, returns))
    return error;
  ModuleOp module = programs[0].getModule();
  module->removeAttr(tp::TPDialect::rankAttrName);
  if (!isRankSpecific)
    module->removeAttr(tp::TPDialect::rankSpecificAttrName);
  for (LoadedProgram &other : programs.drop_front())
    other.imported.module = {};
  return llvm::Error::success();
}

llvm::Error compiler::mergeRanks(MutableArrayRef<LoadedProgram> programs) {
  return RankMerger(programs).run();
}
