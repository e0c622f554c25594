//===- CollectiveSpelling.cpp - how a collective was spelled ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectiveSpelling.h"

#include "ResultTypes.h"

#include "commute/Analysis/Collectives/ChainedCollectives.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace commute;

namespace {

/// An attribute of collectives: the ops of the source that the collective was
/// recognized from.
constexpr StringLiteral spellingAttrName = "tp.spelling";

/// One op of a spelling, as stored in the attribute.
struct SpelledOp {
  StringAttr name;
  /// Positions in the spelling; -1 is the input.
  DenseI64ArrayAttr operands;
  DictionaryAttr attributes;
  /// Null if there are none.
  DictionaryAttr discardableAttributes;
  TypeAttr type;
  LocationAttr location;
  /// The location of the closest preceding op outside the spelling; null if
  /// there is none.
  LocationAttr place;

  /// Whether it waits for an asynchronous op.
  bool completes() const {
    std::optional<RegisteredOperationName> kind =
        RegisteredOperationName::lookup(name.getValue(), name.getContext());
    return kind && kind->hasInterface<tp::CompletionOpInterface>();
  }
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
  /// The collectives among them, in order: more than one of a chain.
  SmallVector<Operation *> collectives;
  Value getResult() const { return ops.back()->getResult(0); }
};

} // namespace

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

template <size_t size>
static void lookUp(MLIRContext *context,
                   const std::array<StringLiteral, size> &names,
                   std::array<StringAttr, size> &keys) {
  assert(llvm::is_sorted(names) && "a dictionary is sorted by its keys");
  for (auto [key, name] : llvm::zip_equal(keys, names))
    key = StringAttr::get(context, name);
}

/// Null values are left out.
template <size_t size>
static DictionaryAttr getDictionary(MLIRContext *context,
                                    const std::array<StringAttr, size> &keys,
                                    const std::array<Attribute, size> &values) {
  SmallVector<NamedAttribute, size> entries;
  for (auto [key, value] : llvm::zip_equal(keys, values))
    if (value)
      entries.emplace_back(key, value);
  return DictionaryAttr::getWithSorted(context, entries);
}

SpellingWriter::SpellingWriter(MLIRContext *context) {
  lookUp<7>(context,
            {"attributes", "discardable", "location", "op", "operands", "place",
             "type"},
            opKeys);
  lookUp<2>(context, {"input", "ops"}, spellingKeys);
}

std::optional<SpelledOp> SpelledOp::read(Attribute attribute) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  if (!entry)
    return std::nullopt;
  SpelledOp op;
  op.name = entry.getAs<StringAttr>("op");
  op.operands = entry.getAs<DenseI64ArrayAttr>("operands");
  op.attributes = entry.getAs<DictionaryAttr>("attributes");
  op.discardableAttributes = entry.getAs<DictionaryAttr>("discardable");
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

void SpellingWriter::write(Operation *collective, ArrayRef<Operation *> ops,
                           Value input) const {
  MLIRContext *context = collective->getContext();
  Builder builder(context);
  llvm::DenseMap<Value, int64_t> positions{{input, -1}};
  llvm::SmallPtrSet<Operation *, 16> own(ops.begin(), ops.end());
  // The new collective replaces the original one at the same position.
  own.insert(collective);
  SmallVector<Attribute> entries;
  for (auto [index, op] : llvm::enumerate(ops)) {
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands())
      operands.push_back(positions.at(operand));
    Operation *before = op->getPrevNode();
    while (before && own.contains(before))
      before = before->getPrevNode();
    Attribute place;
    if (before && !isa<UnknownLoc>(before->getLoc()))
      place = before->getLoc();
    // One dictionary of all attributes would have to be sorted.
    Attribute attributes = op->getPropertiesAsAttribute();
    DictionaryAttr discardable = op->getDiscardableAttrDictionary();
    entries.push_back(getDictionary<7>(
        context, opKeys,
        {attributes ? attributes : builder.getDictionaryAttr({}),
         discardable.empty() ? Attribute() : discardable, op->getLoc(),
         op->getName().getIdentifier(), builder.getDenseI64ArrayAttr(operands),
         place, TypeAttr::get(op->getResult(0).getType())}));
    positions[op->getResult(0)] = index;
  }
  collective->setAttr(spellingAttrName,
                      getDictionary<2>(context, spellingKeys,
                                       {TypeAttr::get(input.getType()),
                                        builder.getArrayAttr(entries)}));
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The input of a spelling: the collective's operand, or the value that the
/// operand is a reshape of.
static Value findInput(Operation *collective, Type type) {
  Value operand = collective->getOperand(0);
  if (operand.getType() == type)
    return operand;
  auto reshape = operand.getDefiningOp<tp::ReshapeOp>();
  return reshape && reshape.getInput().getType() == type ? reshape.getInput()
                                                         : Value();
}

/// Builds the ops in a separate block, where they can be verified; nullopt if
/// they are malformed.
static std::optional<RestoredOps> build(const Spelling &spelling,
                                        Operation *collective, Block &block) {
  RestoredOps restored;
  // A spelling that does not verify is ignored; it is not a user error.
  ScopedDiagnosticHandler handler(collective->getContext(),
                                  [](Diagnostic &) { return success(); });
  OpBuilder builder(collective->getContext());
  builder.setInsertionPointToEnd(&block);
  for (auto [index, entry] : llvm::enumerate(spelling.ops)) {
    OperationState state(entry.location, entry.name.getValue());
    for (int64_t position : entry.operands.asArrayRef()) {
      if (position < -1 || position >= static_cast<int64_t>(index))
        return std::nullopt;
      state.operands.push_back(position < 0
                                   ? Value(block.getArgument(0))
                                   : restored.ops[position]->getResult(0));
    }
    state.addTypes(entry.type.getValue());
    state.addAttributes(entry.attributes.getValue());
    if (entry.discardableAttributes)
      state.addAttributes(entry.discardableAttributes.getValue());
    if (!state.name.isRegistered() || state.operands.empty())
      return std::nullopt;
    Operation *op = builder.create(state);
    restored.ops.push_back(op);
    bool isCollective = op->getName() == collective->getName();
    if ((!isCollective && !analysis::isReindexing(op)) || failed(verify(op)))
      return std::nullopt;
    if (isCollective)
      restored.collectives.push_back(op);
  }
  if (restored.collectives.empty())
    return std::nullopt;
  return restored;
}

bool commute::hasSpelling(Operation *collective) {
  return collective->hasAttr(spellingAttrName);
}

std::optional<double>
commute::getChainSeconds(Operation *collective,
                         const target::PriceModel &price) {
  std::optional<Spelling> spelling = Spelling::read(collective);
  if (!spelling)
    return std::nullopt;
  Block block;
  block.addArgument(spelling->inputType.getValue(), collective->getLoc());
  std::optional<RestoredOps> chain = build(*spelling, collective, block);
  if (!chain || chain->collectives.size() < 2)
    return std::nullopt;
  double total = 0;
  for (Operation *op : chain->collectives) {
    std::optional<double> seconds = price.getSeconds(op);
    if (!seconds)
      return std::nullopt;
    total += *seconds;
  }
  return total;
}

/// Whether the restored ops are equivalent to the collective they replace.
static bool isSame(const RestoredOps &restored, Operation *collective,
                   Value input) {
  Operation *op = restored.collectives.back();
  bool isChain = restored.collectives.size() > 1;
  analysis::Legal<analysis::ReindexedCollective> found = analysis::Refusal();
  int64_t axis;
  tp::GroupAttr group;
  if (auto gather = dyn_cast<tp::AllGatherOp>(op)) {
    auto now = cast<tp::AllGatherOp>(collective);
    if (gather.getAsync() != now.getAsync())
      return false;
    axis = now.getGatherAxis();
    group = now.getGroup();
    found = isChain ? analysis::findChainedGather(gather, group)
                    : analysis::findReindexedGather(gather);
  } else {
    auto scatter = cast<tp::ReduceScatterOp>(op);
    auto now = cast<tp::ReduceScatterOp>(collective);
    if (scatter.getAsync() != now.getAsync() ||
        scatter.getReduction() != now.getReduction())
      return false;
    axis = now.getScatterAxis();
    group = now.getGroup();
    found = isChain ? analysis::findChainedScatter(scatter, group)
                    : analysis::findReindexedScatter(scatter);
  }
  return found && found->input == input && found->axis == axis &&
         found->group == group &&
         found->inputType == collective->getOperand(0).getType() &&
         found->resultType == collective->getResult(0).getType() &&
         llvm::is_contained(found->results, restored.getResult());
}

//===----------------------------------------------------------------------===//
// Replacing
//===----------------------------------------------------------------------===//

SpellingRestorer::SpellingRestorer(Block &block) {
  uint64_t position = 0;
  for (Operation &op : block) {
    places[op.getLoc()] = &op;
    positions[&op] = ++position;
  }
}

void SpellingRestorer::erase(Operation *op) {
  if (auto place = places.find(op->getLoc());
      place != places.end() && place->second == op)
    places.erase(place);
  positions.erase(op);
  op->erase();
}

void SpellingRestorer::place(ArrayRef<Operation *> ops, Operation *last,
                             ArrayRef<LocationAttr> inFront,
                             Operation *collective, Operation *wait) {
  auto getPosition = [&](Operation *op) { return positions.lookup(op); };
  uint64_t firstUser = ~uint64_t(0);
  for (Operation *user : ops.back()->getUsers())
    if (uint64_t position = getPosition(user))
      firstUser = std::min(firstUser, position);
  uint64_t limit = getPosition(collective);
  Operation *previous = nullptr;
  for (auto [op, location] : llvm::zip_equal(ops, inFront)) {
    Operation *fixed = nullptr;
    if (op == last)
      fixed = collective;
    else if (auto completion = dyn_cast<tp::CompletionOpInterface>(op);
             completion && completion.getBegun() == last->getResult(0))
      fixed = wait;
    if (fixed) {
      op->moveBefore(fixed);
      positions[op] = getPosition(fixed);
      previous = op;
      limit = firstUser;
      continue;
    }
    // Insert the op after its original predecessor if that still lies between
    // the op's operands and its users.
    Operation *anchor = location ? places.lookup(location) : nullptr;
    Operation *earliest =
        previous ? previous : op->getOperand(0).getDefiningOp();
    bool fits = anchor && getPosition(anchor) < limit &&
                (!earliest || earliest == anchor ||
                 getPosition(earliest) < getPosition(anchor));
    if (!fits)
      anchor = previous;
    if (anchor)
      op->moveAfter(anchor);
    else
      op->moveBefore(collective);
    positions[op] = getPosition(anchor ? anchor : collective);
    previous = op;
  }
  for (Operation *op : ops)
    places[op->getLoc()] = op;
}

SmallVector<Operation *> SpellingRestorer::restore(Operation *collective) {
  std::optional<Spelling> spelling = Spelling::read(collective);
  if (!spelling)
    return {};
  Value input = findInput(collective, spelling->inputType.getValue());
  if (!input)
    return {};
  // If the spelling continues after the collective, it includes the wait.
  Value replaced = collective->getResult(0);
  StringRef kind = collective->getName().getStringRef();
  bool takesWait =
      llvm::any_of(llvm::reverse(spelling->ops),
                   [&, isBehind = true](const SpelledOp &op) mutable {
                     isBehind &= op.name.getValue() != kind;
                     return isBehind && op.completes();
                   });
  Operation *wait = nullptr;
  if (takesWait) {
    wait = replaced.hasOneUse() ? *replaced.user_begin() : nullptr;
    if (!isa_and_present<tp::CompletionOpInterface>(wait) ||
        wait->getBlock() != collective->getBlock())
      return {};
    replaced = wait->getResult(0);
  }
  // If the types differ, normalization added a reshape after the collective.
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
      return {};
    replaced = reshape->getResult(0);
  }
  // Change the program only after the restored ops are known to be equivalent.
  Block block;
  Value argument = block.addArgument(input.getType(), collective->getLoc());
  std::optional<RestoredOps> restored = build(*spelling, collective, block);
  if (!restored || !isSame(*restored, collective, argument))
    return {};

  replaceValue(replaced, restored->getResult());
  argument.replaceAllUsesWith(input);
  SmallVector<LocationAttr> inFront;
  for (const SpelledOp &op : spelling->ops)
    inFront.push_back(op.place);
  place(restored->ops, restored->collectives.back(), inFront, collective, wait);
  Value operand = collective->getOperand(0);
  for (Operation *old : {reshape, wait, collective})
    if (old)
      erase(old);
  if (operand != input && operand.use_empty())
    erase(operand.getDefiningOp());
  return restored->collectives;
}
