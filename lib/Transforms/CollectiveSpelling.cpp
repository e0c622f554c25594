//===- CollectiveSpelling.cpp - how a collective was spelled ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectiveSpelling.h"

#include "commute/Analysis/ReindexedCollectives.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace commute;

namespace {

constexpr StringLiteral spellingAttrName = "tp.spelling";

/// One op of a spelling, as an attribute holds it.
struct SpelledOp {
  StringAttr name;
  /// Positions in the spelling; -1 is the input.
  DenseI64ArrayAttr operands;
  DictionaryAttr attributes;
  TypeAttr type;
  LocationAttr location;
  /// The location of the op in front of it that is no part of the spelling.
  /// Null where there is none.
  LocationAttr place;

  Attribute toAttribute() const;
  static std::optional<SpelledOp> read(Attribute attribute);
};

struct Spelling {
  TypeAttr inputType;
  SmallVector<SpelledOp> ops;

  static std::optional<Spelling> read(Operation *collective);
};

/// A spelling that has been built.
struct RestoredOps {
  SmallVector<Operation *> ops;
  /// Where among them the collective is.
  size_t collective = 0;
  Value getResult() const { return ops.back()->getResult(0); }
};

} // namespace

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

Attribute SpelledOp::toAttribute() const {
  Builder builder(name.getContext());
  NamedAttrList list;
  list.append("op", name);
  list.append("operands", operands);
  list.append("attributes", attributes);
  list.append("type", type);
  list.append("location", location);
  if (place)
    list.append("place", place);
  return list.getDictionary(name.getContext());
}

std::optional<SpelledOp> SpelledOp::read(Attribute attribute) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  if (!entry)
    return std::nullopt;
  SpelledOp op;
  op.name = entry.getAs<StringAttr>("op");
  op.operands = entry.getAs<DenseI64ArrayAttr>("operands");
  op.attributes = entry.getAs<DictionaryAttr>("attributes");
  op.type = entry.getAs<TypeAttr>("type");
  op.location = entry.getAs<LocationAttr>("location");
  op.place = entry.getAs<LocationAttr>("place");
  if (!op.name || !op.operands || !op.attributes || !op.type || !op.location)
    return std::nullopt;
  return op;
}

std::optional<Spelling> Spelling::read(Operation *collective) {
  auto attribute = collective->getAttrOfType<DictionaryAttr>(spellingAttrName);
  if (!attribute)
    return std::nullopt;
  Spelling spelling;
  spelling.inputType = attribute.getAs<TypeAttr>("input");
  auto ops = attribute.getAs<ArrayAttr>("ops");
  if (!spelling.inputType || !ops || ops.empty())
    return std::nullopt;
  for (Attribute entry : ops) {
    std::optional<SpelledOp> op = SpelledOp::read(entry);
    if (!op)
      return std::nullopt;
    spelling.ops.push_back(*op);
  }
  return spelling;
}

void commute::noteSpelling(Operation *collective, ArrayRef<Operation *> ops,
                           Value input) {
  Builder builder(collective->getContext());
  llvm::DenseMap<Value, int64_t> positions{{input, -1}};
  llvm::SmallPtrSet<Operation *, 16> own(ops.begin(), ops.end());
  // The collective stands where the one it is made from stood.
  own.insert(collective);
  SmallVector<Attribute> entries;
  for (auto [index, op] : llvm::enumerate(ops)) {
    SpelledOp entry;
    entry.name = builder.getStringAttr(op->getName().getStringRef());
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands())
      operands.push_back(positions.at(operand));
    entry.operands = builder.getDenseI64ArrayAttr(operands);
    entry.attributes = op->getAttrDictionary();
    entry.type = TypeAttr::get(op->getResult(0).getType());
    entry.location = op->getLoc();
    Operation *before = op->getPrevNode();
    while (before && own.contains(before))
      before = before->getPrevNode();
    if (before && !isa<UnknownLoc>(before->getLoc()))
      entry.place = before->getLoc();
    entries.push_back(entry.toAttribute());
    positions[op->getResult(0)] = index;
  }
  NamedAttrList spelling;
  spelling.append("input", TypeAttr::get(input.getType()));
  spelling.append("ops", builder.getArrayAttr(entries));
  collective->setAttr(spellingAttrName,
                      spelling.getDictionary(collective->getContext()));
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The value that a spelling begins with: the collective's operand, or what
/// that is reshaped from.
static Value findInput(Operation *collective, Type type) {
  Value operand = collective->getOperand(0);
  if (operand.getType() == type)
    return operand;
  auto reshape = operand.getDefiningOp<tp::ReshapeOp>();
  return reshape && reshape.getInput().getType() == type ? reshape.getInput()
                                                         : Value();
}

/// Builds the ops, those behind the collective in front of `behind`; nullopt
/// where they are not well-formed.
static std::optional<RestoredOps> build(const Spelling &spelling,
                                        Operation *collective,
                                        Operation *behind, Value input) {
  RestoredOps restored;
  auto giveUp = [&]() -> std::optional<RestoredOps> {
    for (Operation *op : llvm::reverse(restored.ops))
      op->erase();
    return std::nullopt;
  };
  // What does not verify is no error of the program's.
  ScopedDiagnosticHandler handler(collective->getContext(),
                                  [](Diagnostic &) { return success(); });
  OpBuilder builder(collective);
  bool hasCollective = false;
  for (auto [index, entry] : llvm::enumerate(spelling.ops)) {
    OperationState state(entry.location, entry.name.getValue());
    for (int64_t position : entry.operands.asArrayRef()) {
      if (position < -1 || position >= static_cast<int64_t>(index))
        return giveUp();
      state.operands.push_back(
          position < 0 ? input : restored.ops[position]->getResult(0));
    }
    state.addTypes(entry.type.getValue());
    state.addAttributes(entry.attributes.getValue());
    if (!state.name.isRegistered() || state.operands.empty())
      return giveUp();
    Operation *op = builder.create(state);
    restored.ops.push_back(op);
    bool isCollective = op->getName() == collective->getName();
    if ((!isCollective && !analysis::isReindexing(op)) ||
        (isCollective && hasCollective) || failed(verify(op)))
      return giveUp();
    if (isCollective) {
      hasCollective = true;
      restored.collective = index;
      builder.setInsertionPoint(behind);
    }
  }
  if (!hasCollective)
    return giveUp();
  return restored;
}

/// Whether the ops that were built are the collective that they shall replace.
static bool isSame(const RestoredOps &restored, Operation *collective,
                   Value input) {
  Operation *op = restored.ops[restored.collective];
  analysis::ReindexRefusal refusal;
  std::optional<analysis::ReindexedCollective> found;
  int64_t axis;
  if (auto gather = dyn_cast<tp::AllGatherOp>(op)) {
    auto now = cast<tp::AllGatherOp>(collective);
    if (gather.getGroup() != now.getGroup() ||
        gather.getAsync() != now.getAsync())
      return false;
    axis = now.getGatherAxis();
    found = analysis::findReindexedGather(gather, refusal);
  } else {
    auto scatter = cast<tp::ReduceScatterOp>(op);
    auto now = cast<tp::ReduceScatterOp>(collective);
    if (scatter.getGroup() != now.getGroup() ||
        scatter.getAsync() != now.getAsync() ||
        scatter.getReduction() != now.getReduction())
      return false;
    axis = now.getScatterAxis();
    found = analysis::findReindexedScatter(scatter, refusal);
  }
  return found && found->input == input && found->axis == axis &&
         found->inputType == collective->getOperand(0).getType() &&
         found->resultType == collective->getResult(0).getType() &&
         llvm::is_contained(found->results, restored.getResult());
}

//===----------------------------------------------------------------------===//
// Replacing
//===----------------------------------------------------------------------===//

SpellingRestorer::SpellingRestorer(Block &block) {
  for (Operation &op : block)
    places[op.getLoc()] = &op;
}

void SpellingRestorer::erase(Operation *op) {
  if (auto place = places.find(op->getLoc());
      place != places.end() && place->second == op)
    places.erase(place);
  op->erase();
}

/// The op in front of which nothing that makes `value` may be missing.
static Operation *getFirstUser(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first;
}

Operation *SpellingRestorer::restore(Operation *collective) {
  std::optional<Spelling> spelling = Spelling::read(collective);
  if (!spelling)
    return nullptr;
  Value input = findInput(collective, spelling->inputType.getValue());
  if (!input)
    return nullptr;
  // A spelling that ends behind the collective takes the wait with it.
  Value replaced = collective->getResult(0);
  bool takesWait = llvm::any_of(spelling->ops, [](const SpelledOp &op) {
    return op.name.getValue() == tp::WaitOp::getOperationName();
  });
  Operation *wait = nullptr;
  if (takesWait) {
    wait = replaced.hasOneUse() ? *replaced.user_begin() : nullptr;
    if (!isa_and_present<tp::WaitOp>(wait) ||
        wait->getBlock() != collective->getBlock())
      return nullptr;
    replaced = wait->getResult(0);
  }
  // Where the types differ, a reshape behind it is part of what was made.
  Type resultType = spelling->ops.back().type.getValue();
  Operation *reshape = nullptr;
  tp::SymbolSpace symbols(collective->getContext());
  auto getSizes = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? symbols.getSizes(tensor) : tp::Sizes();
  };
  if (getSizes(resultType) != getSizes(replaced.getType())) {
    reshape = replaced.hasOneUse() ? *replaced.user_begin() : nullptr;
    if (!isa_and_present<tp::ReshapeOp>(reshape) ||
        reshape->getResult(0).getType() != resultType)
      return nullptr;
    replaced = reshape->getResult(0);
  }
  Operation *behind = wait ? wait : collective->getNextNode();
  std::optional<RestoredOps> restored =
      build(*spelling, collective, behind, input);
  if (!restored)
    return nullptr;
  if (!isSame(*restored, collective, input)) {
    for (Operation *op : llvm::reverse(restored->ops))
      op->erase();
    return nullptr;
  }

  replaced.replaceAllUsesWith(restored->getResult());
  Value operand = collective->getOperand(0);
  for (Operation *old : {reshape, wait, collective})
    if (old)
      erase(old);
  if (operand != input && operand.use_empty())
    erase(operand.getDefiningOp());

  // Back to their places, as far as these are still there.
  Operation *firstUser = getFirstUser(restored->getResult());
  Operation *previous = input.getDefiningOp();
  for (auto [index, op] : llvm::enumerate(restored->ops)) {
    bool isFixed = index == restored->collective || isa<tp::WaitOp>(op);
    LocationAttr place = spelling->ops[index].place;
    Operation *anchor = place ? places.lookup(place) : nullptr;
    Operation *limit = index < restored->collective
                           ? restored->ops[restored->collective]
                           : firstUser;
    bool fits = anchor && anchor->getBlock() == op->getBlock() &&
                (!limit || anchor->isBeforeInBlock(limit));
    // Behind what stood in front of it, and behind what it may read.
    if (previous && (!fits || !previous->isBeforeInBlock(anchor)))
      anchor = previous;
    if (!isFixed && (fits || (anchor && !anchor->isBeforeInBlock(op))))
      op->moveAfter(anchor);
    previous = op;
  }
  for (Operation *op : restored->ops)
    places[op->getLoc()] = op;
  return restored->ops[restored->collective];
}
