//===- Estimate.cpp - estimated time of one step ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/Estimate.h"

#include "commute/Dialect/SymbolNames.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::target;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

/// Calls `visit` for the types with symbolic sizes of all values.
template <typename Visitor>
static void forEachSymbolicType(func::FuncOp function, Visitor visit) {
  auto visitAll = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        if (!tensor.hasStaticShape())
          visit(tensor);
  };
  visitAll(function.getArgumentTypes());
  function.walk([&](Operation *op) { visitAll(op->getResultTypes()); });
}

std::vector<StringRef> target::getSizeSymbols(func::FuncOp function) {
  llvm::SetVector<StringRef> symbols;
  forEachSymbolicType(function, [&](RankedTensorType type) {
    for (StringAttr symbol : tp::getSymbolNames(type))
      symbols.insert(symbol.getValue());
  });
  return {symbols.begin(), symbols.end()};
}

/// Returns an error that names all sizes without a value.
static llvm::Error checkSizes(func::FuncOp function, const PriceModel &model) {
  std::vector<StringRef> missing = getSizeSymbols(function);
  llvm::erase_if(missing,
                 [&](StringRef symbol) { return bool(model.getSize(symbol)); });
  if (!missing.empty())
    return llvm::createStringError(
        llvm::Twine(missing.size() == 1 ? "the value of size "
                                        : "the values of sizes ") +
        llvm::join(missing, ", ") +
        (missing.size() == 1 ? " is unknown" : " are unknown"));
  Type unnamed;
  forEachSymbolicType(function, [&](RankedTensorType type) {
    tp::SymbolSpace space(function.getContext());
    if (llvm::is_contained(space.getSizes(type), tp::Size()))
      unnamed = type;
  });
  if (unnamed) {
    std::string text;
    llvm::raw_string_ostream(text) << unnamed;
    return llvm::createStringError(
        text +
        " has a size that no symbol names, so no value can be given for it");
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// A memory allocation and the values in it.
struct Storage {
  double bytes = 0;
  /// True if the program allocates it; false for inputs.
  bool isActivation = false;
  /// Index of the last op that uses it.
  size_t lastUse = 0;
};

/// Maps values to their storage.
class StorageMap {
public:
  unsigned add(Value value, double bytes, bool isActivation) {
    storages.push_back({bytes, isActivation});
    indices[value] = storages.size() - 1;
    return storages.size() - 1;
  }
  void share(Value view, Value viewed) {
    if (auto found = indices.find(viewed); found != indices.end())
      indices[view] = unsigned(found->second);
  }
  Storage *find(Value value) {
    auto found = indices.find(value);
    return found == indices.end() ? nullptr : &storages[found->second];
  }
  std::vector<Storage> &getAll() { return storages; }

private:
  std::vector<Storage> storages;
  llvm::DenseMap<Value, unsigned> indices;
};
} // namespace

//===----------------------------------------------------------------------===//
// Simulation
//===----------------------------------------------------------------------===//

namespace {
class Simulation {
public:
  Simulation(func::FuncOp function, const PriceModel &model)
      : function(function), model(model) {}

  llvm::Expected<Estimate> run();

private:
  llvm::Error priceOps();
  void addArguments();
  void placeResults();
  void findPeak();
  void runSchedule();
  double getBytes(Value value) const {
    return double(model.getBytes(value.getType()).value_or(0));
  }

  func::FuncOp function;
  const PriceModel &model;
  StorageMap storages;
  /// Prices of all ops, in program order.
  std::vector<std::pair<Operation *, OpPrice>> prices;
  Estimate result;
};
} // namespace

llvm::Error Simulation::priceOps() {
  auto values = [&](StringRef name) { return model.getSize(name); };
  for (Operation &op : function.getFunctionBody().front()) {
    std::optional<OpPrice> price = model.getPrice(&op);
    if (!price)
      return llvm::createStringError("the sizes at '" +
                                     op.getName().getStringRef() +
                                     "' do not fit in 64 bits");
    prices.emplace_back(&op, *price);
    if (price->getSeconds() == 0)
      continue;
    OpEstimate &entry = result.ops.emplace_back();
    entry.op = &op;
    entry.price = *price;
    tp::Work work = model.getWork(&op).value_or(tp::Work());
    entry.isGuess = !isa<tp::EvaluationOpInterface>(op);
    entry.matmulFlops = double(work.matmulFlops);
    entry.elementwiseFlops = double(work.elementwiseFlops);
    entry.memoryBytes = double(work.bytesRead) + double(work.bytesWritten);
    // A view that had to become a copy.
    if (work == tp::Work())
      entry.memoryBytes = 2 * getBytes(op.getOperand(0));
    if (auto collective = dyn_cast<tp::CollectiveOpInterface>(op)) {
      tp::Communication communication =
          collective.getCommunication(values).value_or(tp::Communication());
      entry.wireBytes = getWireBytes(communication.kind,
                                     collective.getCollectiveGroup().getSize(),
                                     double(communication.bytes));
      if (!communication.chunkWork)
        entry.memoryBytes =
            communication.rearranges ? 2 * double(communication.bytes) : 0;
    }
    result.matmulFlops += entry.matmulFlops;
    result.elementwiseFlops += entry.elementwiseFlops;
    result.memoryBytes += entry.memoryBytes;
    result.wireBytes += entry.wireBytes;
  }
  return llvm::Error::success();
}

void Simulation::addArguments() {
  for (BlockArgument argument : function.getArguments()) {
    double bytes = getBytes(argument);
    storages.add(argument, bytes, /*isActivation=*/false);
    auto kind = function.getArgAttrOfType<StringAttr>(
        argument.getArgNumber(), tp::TPDialect::kindAttrName);
    bool isWeight = kind && (kind.getValue() == "parameter" ||
                             kind.getValue().contains("buffer"));
    (isWeight ? result.weightBytes : result.inputBytes) += bytes;
  }
}

void Simulation::placeResults() {
  for (auto [index, entry] : llvm::enumerate(prices)) {
    auto [op, price] = entry;
    for (Value operand : op->getOperands())
      if (Storage *storage = storages.find(operand))
        storage->lastUse = index;
    Value shared = getSharedOperand(op, price);
    for (Value value : op->getResults()) {
      if (shared)
        storages.share(value, shared);
      else
        // An unused result is freed after its op.
        storages.getAll()[storages.add(value, getBytes(value), true)].lastUse =
            index;
    }
  }
}

void Simulation::findPeak() {
  std::vector<double> freedAfter(prices.size(), 0);
  for (const Storage &storage : storages.getAll())
    if (storage.isActivation)
      freedAfter[storage.lastUse] += storage.bytes;
  double live = 0;
  for (auto [index, entry] : llvm::enumerate(prices)) {
    auto [op, price] = entry;
    if (!getSharedOperand(op, price))
      for (Value value : op->getResults())
        live += getBytes(value);
    // A reordering copy exists in addition to its source.
    double copies = 0;
    if (price.packSeconds > 0)
      copies = getBytes(op->getOperand(0));
    else if (price.unpackSeconds > 0)
      copies = getBytes(op->getResult(0));
    if (live + copies > result.peakActivationBytes) {
      result.peakActivationBytes = live + copies;
      result.peakOp = op;
    }
    live -= freedAfter[index];
  }
}

void Simulation::runSchedule() {
  LaneSchedule schedule;
  for (auto [op, price] : prices) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      result.stepSeconds = std::max({schedule.waitFor(op->getOperands()),
                                     schedule.getFree(Lane::Compute),
                                     schedule.getFree(Lane::Communication)});
    else
      schedule.issue(op, price);
  }
  result.events = schedule.takeEvents();
  for (const LaneEvent &event : result.events)
    (event.lane == Lane::Compute ? result.computeSeconds
                                 : result.communicationSeconds) +=
        event.seconds;
}

llvm::Expected<Estimate> Simulation::run() {
  if (llvm::Error error = checkSizes(function, model))
    return std::move(error);
  if (llvm::Error error = priceOps())
    return std::move(error);
  addArguments();
  placeResults();
  findPeak();
  runSchedule();
  result.exposedSeconds = result.stepSeconds - result.computeSeconds;
  return std::move(result);
}

llvm::Expected<Estimate> target::estimate(func::FuncOp function,
                                          const PriceModel &model) {
  if (!function.getFunctionBody().hasOneBlock())
    return llvm::createStringError(
        "the program branches; only straight-line programs are estimated");
  return Simulation(function, model).run();
}
