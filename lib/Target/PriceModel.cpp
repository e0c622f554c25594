//===- PriceModel.cpp - cost model of ops -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/PriceModel.h"

#include "ElementwiseKernels.h"

#include "commute/Dialect/SizeAssumption.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::target;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

SizeTable target::getStatedSizes(ModuleOp module) {
  SizeTable sizes;
  if (auto hints = module->getAttrOfType<DictionaryAttr>(
          tp::TPDialect::symbolHintsAttrName))
    for (NamedAttribute hint : hints)
      if (auto value = dyn_cast<IntegerAttr>(hint.getValue()))
        sizes[hint.getName().str()] = value.getInt();
  if (auto assumptions =
          module->getAttrOfType<ArrayAttr>(tp::TPDialect::assumptionsAttrName))
    for (StringAttr text : assumptions.getAsRange<StringAttr>()) {
      llvm::Expected<tp::SizeAssumption> assumption =
          tp::parseSizeAssumption(text.getValue());
      // Ill-formed assumptions are reported where they are used.
      if (!assumption)
        llvm::consumeError(assumption.takeError());
      else if (assumption->kind == tp::SizeAssumption::Kind::Equal)
        sizes[assumption->symbols.front()] = assumption->number;
    }
  return sizes;
}

std::optional<int64_t> PriceModel::getSize(StringRef symbol) const {
  auto found = sizes.find(symbol.str());
  return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> PriceModel::getBytes(Type type) const {
  return tp::getNumBytes(type, [&](StringRef name) { return getSize(name); });
}

//===----------------------------------------------------------------------===//
// Prices of work
//===----------------------------------------------------------------------===//

StringRef target::getName(Bound bound) {
  switch (bound) {
  case Bound::Nothing:
    return "nothing";
  case Bound::Compute:
    return "compute";
  case Bound::Memory:
    return "memory";
  case Bound::Overhead:
    return "overhead";
  case Bound::Communication:
    return "communication";
  }
  llvm_unreachable("unknown bound");
}

double OpPrice::getSeconds() const {
  if (overlaps())
    return std::max(computeSeconds, communicationSeconds) + pipelineSeconds;
  return computeSeconds + packSeconds + communicationSeconds + unpackSeconds;
}

OpPrice PriceModel::getWorkPrice(const tp::Work &work, Type elementType) const {
  OpPrice price;
  if (work == tp::Work())
    return price;
  double arithmetic =
      target.getMatmulSeconds(double(work.matmulFlops), elementType) +
      double(work.elementwiseFlops) / target.vectorFlopsPerSecond.value;
  double memory = target.getMemorySeconds(double(work.bytesRead) +
                                          double(work.bytesWritten));
  double overhead = target.kernelOverheadSeconds.value;
  price.computeSeconds = std::max(arithmetic, memory) + overhead;
  price.bound = std::max(arithmetic, memory) < overhead ? Bound::Overhead
                : arithmetic > memory                   ? Bound::Compute
                                                        : Bound::Memory;
  return price;
}

double PriceModel::getCopySeconds(double bytes) const {
  return target.getMemorySeconds(2 * bytes) +
         target.kernelOverheadSeconds.value;
}

//===----------------------------------------------------------------------===//
// Prices of communication
//===----------------------------------------------------------------------===//

std::pair<int64_t, int64_t> PriceModel::getMachines(tp::GroupAttr group) const {
  auto devices = static_cast<int64_t>(target.devices.value);
  // If the members are unknown, assume the best case: consecutive ranks.
  if (!group.hasKnownMembers())
    return {llvm::divideCeil(group.getSize(), devices),
            std::min(group.getSize(), devices)};
  auto [known, isNew] = machinesOfGroups.try_emplace(group);
  if (isNew) {
    std::map<int64_t, int64_t> membersByMachine;
    int64_t fullest = 0;
    for (int64_t rank : group.getMembers(0))
      fullest = std::max(fullest, ++membersByMachine[rank / devices]);
    known->second = {membersByMachine.size(), fullest};
  }
  return known->second;
}

double PriceModel::getLinkSeconds(tp::CommunicationKind kind,
                                  tp::GroupAttr group, double bytes,
                                  bool withLatency) const {
  int64_t size = group.getSize();
  if (size <= 1)
    return 0;
  auto getInside = [&](int64_t members) {
    return withLatency
               ? target.collectives.getSeconds(kind, members, bytes)
               : target.collectives.getTransferSeconds(kind, members, bytes);
  };
  auto [machines, members] = getMachines(group);
  if (machines == 1 || !target.network)
    return getInside(size);
  // Communicate within each machine, and then between machines, where each
  // device transfers its share.
  double steps =
      double(machines - 1) * (kind == tp::CommunicationKind::AllReduce ? 2 : 1);
  double share = bytes / double(machines * members);
  double between = steps * share / target.network->bytesPerSecond.value;
  if (withLatency)
    between += steps * target.network->latencySeconds.value;
  return getInside(members) + between;
}

OpPrice
PriceModel::getCommunicationPrice(const tp::Communication &communication,
                                  tp::GroupAttr group) const {
  OpPrice price;
  price.bound = Bound::Communication;
  price.communicationSeconds =
      getLinkSeconds(communication.kind, group, double(communication.bytes),
                     /*withLatency=*/true);
  if (communication.rearranges && group.getSize() > 1) {
    bool isBefore = communication.kind != tp::CommunicationKind::AllGather;
    (isBefore ? price.packSeconds : price.unpackSeconds) =
        getCopySeconds(double(communication.bytes));
  }
  return price;
}

double PriceModel::getCommunicationSeconds(tp::CommunicationKind kind,
                                           tp::GroupAttr group, int64_t bytes,
                                           bool rearranges) const {
  return getCommunicationPrice({kind, bytes, rearranges, std::nullopt}, group)
      .getSeconds();
}

OpPrice PriceModel::getPipelinePrice(const tp::Communication &communication,
                                     tp::GroupAttr group,
                                     const tp::Work &chunkWork,
                                     Type elementType) const {
  auto chunks = static_cast<double>(group.getSize());
  OpPrice price;
  double chunk = getWorkPrice(chunkWork, elementType).computeSeconds;
  price.computeSeconds = chunks * chunk;
  if (group.getSize() > 1)
    price.communicationSeconds =
        getLinkSeconds(communication.kind, group, double(communication.bytes),
                       /*withLatency=*/false);
  // A pipeline of two stages with one piece per chunk: the shorter stage is
  // exposed once. The ranks synchronize before each piece, which is not
  // overlapped.
  price.pipelineSeconds = std::min(chunk, price.communicationSeconds / chunks) +
                          chunks * target.transferOverheadSeconds.value;
  price.bound = price.computeSeconds > price.communicationSeconds
                    ? Bound::Compute
                    : Bound::Communication;
  return price;
}

//===----------------------------------------------------------------------===//
// Prices of ops
//===----------------------------------------------------------------------===//

static Type getElementType(Operation *op) {
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        return tensor.getElementType();
  return Float32Type::get(op->getContext());
}

/// Returns true if an op with one operand and one result preserves the order of
/// elements, as a reshape does and a permutation does not.
static bool keepsOrder(Operation *op) {
  auto ruleOp = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruleOp)
    return false;
  tp::DimensionRule rule = ruleOp.getDimensionRule();
  auto getFactors = [](const tp::DimensionRule::TensorFactors &tensor) {
    SmallVector<unsigned> factors;
    for (const tp::DimensionRule::DimFactors &dim : tensor)
      llvm::append_range(factors, dim);
    return factors;
  };
  SmallVector<unsigned> before = getFactors(rule.operands[0]);
  SmallVector<unsigned> shared = getFactors(rule.results[0]);
  llvm::erase_if(shared, [&](unsigned factor) {
    return !llvm::is_contained(before, factor);
  });
  return llvm::is_sorted(shared, [&](unsigned lhs, unsigned rhs) {
    return llvm::find(before, lhs) < llvm::find(before, rhs);
  });
}

bool PriceModel::mustCopy(Operation *op) const {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto before = dyn_cast<RankedTensorType>(op->getOperandTypes()[0]);
  auto after = dyn_cast<RankedTensorType>(op->getResultTypes()[0]);
  if (!before || !after || !before.getEncoding())
    return false;
  // An order-preserving view of all elements has gaps if its operand has gaps.
  tp::SymbolSpace space(op->getContext());
  tp::StridedShape shape = space.getShape(before);
  auto values = [&](StringRef name) { return getSize(name); };
  return tp::getDensity(shape) == tp::Density::Strided &&
         tp::getDensity(space.getShape(after)) == tp::Density::Dense &&
         tp::evaluateNumElements(before, values) ==
             tp::evaluateNumElements(after, values) &&
         keepsOrder(op);
}

double PriceModel::getSeparateShare(Operation *op) const {
  auto values = [&](StringRef name) { return getSize(name); };
  auto workOp = cast<tp::WorkOpInterface>(op);
  std::optional<tp::Work> work = workOp.getWork(values);
  if (!work)
    return 0;
  double streamed = 0;
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      streamed += double(getBytes(type).value_or(0));
  double moved = double(work->bytesRead) + double(work->bytesWritten);
  return moved > streamed ? 1 - streamed / moved : 0;
}

unsigned PriceModel::getKernelKey(Operation *op) const {
  if (!target.fusesElementwise || !isElementwise(op))
    return 0;
  KernelShare share = findKernelShare(op);
  unsigned key = share.isUnwritten ? 3 : 2;
  for (bool isInRegisters : share.isInRegisters)
    key = 2 * key + isInRegisters;
  return key;
}

void PriceModel::removeShared(Operation *op, tp::Work &work) const {
  if (!target.fusesElementwise || !isElementwise(op))
    return;
  KernelShare share = findKernelShare(op);
  double all = 0, inRegisters = 0;
  for (auto [operand, isInRegisters] :
       llvm::zip_equal(op->getOperands(), share.isInRegisters)) {
    double bytes = double(getBytes(operand.getType()).value_or(0));
    all += bytes;
    inRegisters += isInRegisters ? bytes : 0;
  }
  if (all > 0)
    work.bytesRead =
        static_cast<int64_t>(double(work.bytesRead) * (1 - inRegisters / all));
  if (share.isUnwritten)
    work.bytesWritten = 0;
}

std::optional<tp::Work> PriceModel::getWork(Operation *op) const {
  auto workOp = dyn_cast<tp::WorkOpInterface>(op);
  if (!workOp)
    return tp::Work();
  std::optional<tp::Work> work =
      workOp.getWork([&](StringRef name) { return getSize(name); });
  if (work)
    removeShared(op, *work);
  return work;
}

OpPrice PriceModel::getPrice(
    Operation *op, const tp::Work &work,
    const std::optional<tp::Communication> &communication) const {
  if (communication) {
    auto collective = cast<tp::CollectiveOpInterface>(op);
    tp::GroupAttr group = collective.getCollectiveGroup();
    if (communication->chunkWork)
      return getPipelinePrice(*communication, group, *communication->chunkWork,
                              getElementType(op));
    return getCommunicationPrice(*communication, group);
  }
  // Arithmetic overlaps only with memory accesses of its own kernel.
  double share = work.matmulFlops > 0 ? getSeparateShare(op) : 0;
  if (share == 0) {
    OpPrice price = getWorkPrice(work, getElementType(op));
    // The op that writes is the one that launches the kernel.
    if (target.fusesElementwise && work.bytesWritten == 0 && isElementwise(op))
      price.computeSeconds = std::max(
          price.computeSeconds - target.kernelOverheadSeconds.value, 0.0);
    return price;
  }
  tp::Work product = work;
  auto getStreamed = [&](int64_t bytes) {
    return static_cast<int64_t>(double(bytes) * (1 - share));
  };
  product.bytesRead = getStreamed(work.bytesRead);
  product.bytesWritten = getStreamed(work.bytesWritten);
  OpPrice price = getWorkPrice(product, getElementType(op));
  price.computeSeconds +=
      target.getMemorySeconds(
          share * (double(work.bytesRead) + double(work.bytesWritten))) +
      target.kernelOverheadSeconds.value;
  return price;
}

std::optional<OpPrice> PriceModel::getPrice(Operation *op) const {
  auto values = [&](StringRef name) { return getSize(name); };
  std::optional<tp::Work> work = getWork(op);
  if (!work)
    return std::nullopt;
  if (auto collective = dyn_cast<tp::CollectiveOpInterface>(op)) {
    std::optional<tp::Communication> communication =
        collective.getCommunication(values);
    if (!communication)
      return std::nullopt;
    return getPrice(op, *work, communication);
  }
  if (*work == tp::Work() && mustCopy(op)) {
    std::optional<int64_t> bytes = getBytes(op->getOperandTypes()[0]);
    if (!bytes)
      return std::nullopt;
    *work = {0, 0, *bytes, *bytes};
  }
  return getPrice(op, *work, std::nullopt);
}

std::optional<double> PriceModel::getSeconds(Operation *op) const {
  std::optional<OpPrice> price = getPrice(op);
  return price ? std::optional(price->getSeconds()) : std::nullopt;
}

std::optional<double> PriceModel::getShardSeconds(Operation *op,
                                                  const tp::DimensionRule &rule,
                                                  unsigned factor,
                                                  double parts) const {
  auto values = [&](StringRef name) { return getSize(name); };
  if (!isa<tp::WorkOpInterface>(op))
    return 0;
  std::optional<tp::Work> work =
      tp::getShardedWork(op, rule, factor, parts, values);
  if (!work)
    return std::nullopt;
  removeShared(op, *work);
  std::optional<tp::Communication> communication;
  if (isa<tp::CollectiveOpInterface>(op)) {
    communication =
        tp::getShardedCommunication(op, rule, factor, parts, values);
    if (!communication)
      return std::nullopt;
  }
  if (!communication && *work == tp::Work() && mustCopy(op)) {
    std::optional<int64_t> bytes = getBytes(op->getOperandTypes()[0]);
    if (!bytes)
      return std::nullopt;
    auto cut = static_cast<int64_t>(std::ceil(*bytes / parts));
    *work = {0, 0, cut, cut};
  }
  return getPrice(op, *work, communication).getSeconds();
}
