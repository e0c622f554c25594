//===- MergedRanks.cpp - one module for the graphs of all ranks -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RankMerger.h"

#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Dialect/NodeName.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

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
  auto isSmaller = [](tp::GroupAttr a, tp::GroupAttr b) {
    return a.getSize() < b.getSize();
  };
  for (tp::GroupAttr group : analysis::getGroups(programs[0].getModule()))
    if (group.hasKnownMembers() &&
        llvm::all_of(programs, [&](const LoadedProgram &program) {
          return group.getPosition(program.rank).has_value();
        }))
      groups.insert(llvm::upper_bound(groups, group, isSmaller), group);
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

bool compiler::areAlike(Operation *a, Operation *b) {
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
  auto selected =
      select(values, ops[0]->getLoc()).getDefiningOp<tp::RankSelectOp>();
  assert(selected && "only slices become shards");
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
  call->insertOperands(call->getNumOperands(), select(values, call.getLoc()));
  call->setAttr(tp::TPDialect::argumentsOfRanksAttrName,
                builder.getArrayAttr(texts));
  call.setArguments(all);
}

//===----------------------------------------------------------------------===//
// Merge
//===----------------------------------------------------------------------===//

llvm::Error RankMerger::run() {
  for (size_t rank = 0; rank < programs.size(); ++rank) {
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
  // Each rank has a program of its own.
  module->setAttr(tp::TPDialect::rankSpecificAttrName,
                  UnitAttr::get(module.getContext()));
  for (LoadedProgram &other : programs.drop_front())
    other.imported.module = {};
  return llvm::Error::success();
}

llvm::Error compiler::mergeRanks(MutableArrayRef<LoadedProgram> programs) {
  llvm::Error error = RankMerger(programs).run();
  if (!error)
    return error;
  // Of programs that do not fit together, say first that the ranks would wait
  // for each other, or exchange the wrong data.
  for (const LoadedProgram &program : programs)
    if (llvm::Error other = checkInterfaces(program, programs[0])) {
      llvm::consumeError(std::move(other));
      return error;
    }
  if (llvm::Error disagreement = checkCollectives(programs)) {
    llvm::consumeError(std::move(error));
    return disagreement;
  }
  return error;
}
