//===- UnknownResults.cpp - results that cannot be compared -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/UnknownResults.h"

#include "SharedMemory.h"
#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Equivalence/PrimeField.h"
#include "commute/Equivalence/ResolvedPrograms.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

/// Returns the Python line of an op, or its node if it has none.
static std::string describePlace(Location location) {
  std::string node, file;
  unsigned line = 0;
  report::describeLocation(location, node, file, line);
  if (!file.empty())
    return file + ":" + std::to_string(line);
  return node.empty() ? "an unnamed value" : node;
}

Undecided equivalence::describeUndecided(tp::CallOp call) {
  std::string callee = call.getCallee().str();
  std::string name = callee + " (" + describePlace(call.getLoc()) + ")";
  Undecided undecided{"", call.getLoc(), "", ""};
  tp::CallEffects effects = tp::getCallEffects(call);
  undecided.callee = callee;
  if (auto limitation =
          call->getAttrOfType<StringAttr>(tp::limitationAttrName)) {
    undecided.reason = name + " has no description in this form: " +
                       limitation.getValue().str();
    return undecided;
  }
  undecided.reason = name + " has no description";
  auto addEntry = [&](StringRef condition, StringRef content) {
    undecided.entry = "{\"" + callee + "\": " + content.str() + "}";
    undecided.reason += "; " + condition.str() + ", add " + undecided.entry +
                        " to a vocabulary file";
  };
  StringRef sameAs = "{\"same_as\": \"torch.ops...\"}";
  switch (effects) {
  case tp::CallEffects::Communication:
    undecided.reason += ", and communicates";
    if (!StringRef(callee).starts_with("torch.ops._c10d_functional."))
      addEntry("if it is like a known collective", sameAs);
    break;
  case tp::CallEffects::Unknown:
    addEntry("if its results depend on its operands alone",
             "{\"effects\": \"none\"}");
    break;
  default:
    addEntry("if it is like a known operator", sameAs);
  }
  return undecided;
}

Undecided equivalence::describeUndecidedSize(StringRef symbol,
                                             Location location) {
  // The rank follows the name.
  return {"size " + symbol.split('@').first.str() + " depends on values (" +
              describePlace(location) + ")",
          location, "", ""};
}

llvm::json::Object equivalence::toJson(const Undecided &undecided) {
  llvm::json::Object object{
      {"reason", undecided.reason},
      {"at", report::describeLocation(undecided.location)}};
  if (!undecided.callee.empty())
    object["operator"] = undecided.callee;
  if (!undecided.entry.empty())
    object["vocabulary_entry"] =
        llvm::cantFail(llvm::json::parse(undecided.entry));
  return object;
}

std::optional<Undecided> equivalence::findSizeOfValues(func::FuncOp function) {
  for (Operation &op : function.getBody().front())
    if (auto names = op.getAttrOfType<ArrayAttr>(tp::sizesOfValuesAttrName))
      for (StringAttr name : names.getAsRange<StringAttr>())
        return describeUndecidedSize(name, op.getLoc());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Calls and sizes that both programs have
//===----------------------------------------------------------------------===//

UnknownResults::UnknownResults(func::FuncOp first, func::FuncOp second)
    : functions{first, second} {
  areThereAny = llvm::any_of(functions, [](func::FuncOp function) {
    return llvm::any_of(function.getBody().front(), [](Operation &op) {
      return isa<tp::CallOp>(op) || op.hasAttr(tp::sizesOfValuesAttrName);
    });
  });
}

void UnknownResults::note(Operation *op, ArrayRef<RankValues> operands) {
  auto call = dyn_cast<tp::CallOp>(op);
  if (!call && !op->hasAttr(tp::sizesOfValuesAttrName))
    return;
  size_t numRanks = operands.empty() ? 1 : operands.front().size();
  std::vector<uint64_t> &key = keys[op];
  if (call) {
    key = getCallHashes(call, operands, numRanks);
    return;
  }
  key.assign(numRanks, llvm::xxh3_64bits(op->getName().getStringRef()));
  for (const RankValues &operand : operands)
    for (auto [rank, value] : llvm::enumerate(operand))
      key[rank] = PrimeField::mix(value ? getContentHash(value) : 0, key[rank]);
}

void UnknownResults::collect(unsigned program) {
  for (Operation &op : functions[program].getBody().front()) {
    if (auto key = keys.find(&op); key != keys.end())
      keysOf[program].insert(key->second);
    auto names = op.getAttrOfType<ArrayAttr>(tp::sizesOfValuesAttrName);
    auto numbers = op.getAttrOfType<ArrayAttr>(numbersOfSizesAttrName);
    if (!names || !numbers || !keys.contains(&op))
      continue;
    for (auto [index, name, number] :
         llvm::enumerate(names.getAsRange<StringAttr>(),
                         numbers.getAsRange<IntegerAttr>())) {
      Size &size = sizes[program].emplace_back();
      size.symbol = name.str();
      size.number = number.getInt();
      size.op = &op;
      size.key = keys.lookup(&op);
      // One op may determine several sizes.
      size.key.push_back(index);
    }
  }
}

bool UnknownResults::isMatched(unsigned program, Operation *op) const {
  auto own = keys.find(op);
  return own != keys.end() && keysOf[1 - program].count(own->second) > 0;
}

bool UnknownResults::isMatched(unsigned program, const Size &size) const {
  bool isFound = false;
  for (unsigned side : {0, 1})
    for (const Size &other : sizes[side]) {
      if (other.number != size.number)
        continue;
      // Different sizes that are evaluated as one number cannot be told apart.
      if (other.key != size.key)
        return false;
      isFound |= side != program;
    }
  return isFound;
}

//===----------------------------------------------------------------------===//
// Values that depend on unknown results
//===----------------------------------------------------------------------===//

void UnknownResults::find() {
  if (!areThereAny)
    return;
  for (unsigned program : {0, 1})
    collect(program);
  for (unsigned program : {0, 1})
    propagate(program);
}

bool UnknownResults::isUnknown(tp::CallOp call) const {
  // Computations on sizes are as unknown as their operands.
  if (tp::isSizeComputation(call) || tp::isAssertion(call) ||
      call->hasAttr(tp::sizesOfValuesAttrName))
    return false;
  return tp::getCallEffects(call) != tp::CallEffects::Random;
}

void UnknownResults::propagate(unsigned program) {
  func::FuncOp function = functions[program];
  SharedMemory memory(function);
  std::map<std::string, State> ofSymbol;
  // Sizes of which ranks may have different ones, which collectives would see.
  std::set<std::string> ofRanks;
  auto add = [&](Undecided cause) {
    causes.push_back(std::move(cause));
    return static_cast<unsigned>(causes.size() - 1);
  };
  for (const Size &size : sizes[program]) {
    ArrayRef<uint64_t> ranks = ArrayRef(size.key).drop_back();
    if (!llvm::all_equal(ranks))
      ofRanks.insert(size.symbol);
  }
  SmallVector<Value> defined(function.getArguments());
  for (Operation &op : function.getBody().front()) {
    State state;
    for (Value operand : op.getOperands())
      if (const State *own = getState(operand))
        state.add(*own);
    auto call = dyn_cast<tp::CallOp>(op);
    if (call && isMatched(program, &op)) {
      state.call = state.size = none;
      if (isUnknown(call)) {
        // What it depends on beyond is the same in both programs.
        auto [twin, isNew] =
            twins.try_emplace(keys.lookup(&op), callOfTwin.size());
        if (isNew)
          callOfTwin.push_back(&op);
        state.twins.clear();
        state.twins.set(twin->second);
      }
    } else if (call && isUnknown(call))
      state.call = std::min(state.call, add(describeUndecided(call)));
    // The sizes that this op determines.
    if (auto names = op.getAttrOfType<ArrayAttr>(tp::sizesOfValuesAttrName))
      for (StringAttr name : names.getAsRange<StringAttr>()) {
        State &own = ofSymbol[name.str()];
        own.size = add(describeUndecidedSize(name, op.getLoc()));
        auto size = llvm::find_if(sizes[program], [&](const Size &size) {
          return size.symbol == name.getValue();
        });
        if (size == sizes[program].end() || !isMatched(program, *size))
          own.otherSize = own.size;
        state.add(own);
      }
    // The sizes of its results.
    if (auto names = op.getAttrOfType<ArrayAttr>(usedSizesAttrName))
      for (StringAttr name : names.getAsRange<StringAttr>())
        state.add(ofSymbol[name.str()]);
    if (isa<tp::GroupOpInterface>(op)) {
      auto addIfOfRanks = [&](Operation *user) {
        auto names = user->getAttrOfType<ArrayAttr>(usedSizesAttrName);
        if (!names)
          return;
        for (StringAttr name : names.getAsRange<StringAttr>())
          if (ofRanks.count(name.str()))
            state.otherSize =
                std::min(state.otherSize, ofSymbol[name.str()].size);
      };
      addIfOfRanks(&op);
      for (Value operand : op.getOperands())
        if (Operation *definition = operand.getDefiningOp())
          addIfOfRanks(definition);
    }
    if (state.call != none || state.size != none || state.otherSize != none ||
        !state.twins.empty())
      for (Value result : op.getResults())
        states[result] = state;
    llvm::append_range(defined, op.getResults());
    if (call && tp::mayHaveEffects(call))
      ofEffects.add(state);
    // What a call has written is as unknown as its results.
    if (call && !call.getMutatedOperands().empty())
      for (Value value : defined) {
        SharedMemory::Sharing sharing = memory.isWritten(call, value);
        if (sharing == SharedMemory::No)
          continue;
        State &own = states[value];
        own.add(state);
        if (sharing == SharedMemory::Possibly && own.call == none)
          own.call = add(describeUndecided(call));
      }
    if (op.hasTrait<OpTrait::IsTerminator>())
      ofEffects.otherSize = std::min(ofEffects.otherSize, state.otherSize);
  }
}

const UnknownResults::State *UnknownResults::getState(Value value) const {
  auto state = states.find(value);
  return state == states.end() ? nullptr : &state->second;
}

std::optional<Undecided> UnknownResults::getCause(Value value) const {
  const State *state = getState(value);
  unsigned cause = !state                ? none
                   : state->call != none ? state->call
                                         : state->size;
  return cause == none ? std::nullopt : std::optional(causes[cause]);
}

std::optional<Undecided>
UnknownResults::getCause(ArrayRef<Value> ofFirst,
                         ArrayRef<Value> ofSecond) const {
  for (ArrayRef<Value> values : {ofSecond, ofFirst})
    for (Value value : values)
      if (std::optional<Undecided> cause = getCause(value))
        return cause;
  auto collectTwins = [&](ArrayRef<Value> values) {
    llvm::SparseBitVector<> all;
    for (Value value : values)
      if (const State *state = getState(value))
        all |= state->twins;
    return all;
  };
  llvm::SparseBitVector<> first = collectTwins(ofFirst);
  llvm::SparseBitVector<> second = collectTwins(ofSecond);
  for (const auto &[own, other] :
       {std::pair(&second, &first), std::pair(&first, &second)}) {
    llvm::SparseBitVector<> alone = *own - *other;
    if (!alone.empty())
      return describeUndecided(
          cast<tp::CallOp>(callOfTwin[alone.find_first()]));
  }
  // Calls that may communicate are evaluated as different on all ranks and from
  // each other. They need not be.
  tp::CallOp peer;
  bool areSeveral = false;
  for (unsigned twin : first) {
    auto call = cast<tp::CallOp>(callOfTwin[twin]);
    tp::CallEffects effects = tp::getCallEffects(call);
    if (effects != tp::CallEffects::Communication &&
        effects != tp::CallEffects::Unknown)
      continue;
    areSeveral |= peer || keys.lookup(call).size() > 1;
    if (!peer)
      peer = call;
  }
  return areSeveral ? std::optional(describeUndecided(peer)) : std::nullopt;
}

std::optional<Undecided> UnknownResults::findOtherSize() const {
  return ofEffects.otherSize == none
             ? std::nullopt
             : std::optional(causes[ofEffects.otherSize]);
}
