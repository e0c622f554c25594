//===- PriceModel.cpp - cost model of ops -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/PriceModel.h"

#include "FusedKernels.h"

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

/// Returns the number of elements that products of `elementType` write.
/// Products of eight bits and less have wider results.
static double getResultElements(const tp::Work &work, Type elementType) {
  constexpr unsigned narrowestResult = 16;
  unsigned bits = narrowestResult;
  if (elementType.isIntOrFloat())
    bits = std::max(bits, elementType.getIntOrFloatBitWidth());
  return double(work.bytesWritten) * 8 / bits;
}

OpPrice PriceModel::getWorkPrice(const tp::Work &work, Type elementType) const {
  return getKernelPrice(work, elementType, target.memoryEfficiency.value);
}

OpPrice PriceModel::getKernelPrice(const tp::Work &work, Type elementType,
                                   double memoryEfficiency) const {
  OpPrice price;
  if (work == tp::Work())
    return price;
  double arithmetic =
      target.getMatmulSeconds(double(work.matmulFlops), elementType,
                              getResultElements(work, elementType)) +
      double(work.elementwiseFlops) / target.vectorFlopsPerSecond.value;
  double memory = target.getMemorySeconds(double(work.bytesRead) +
                                          double(work.bytesWritten)) *
                  target.memoryEfficiency.value / memoryEfficiency;
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
  double overhead = target.transferOverheadSeconds.value;
  double least = 0;
  double memoryEfficiency = target.memoryEfficiency.value;
  if (auto costs = target.fusedOps.find(communication.kind);
      costs != target.fusedOps.end()) {
    // Launches and signals go on beside large pieces; small ones wait for them.
    least = chunks * overhead;
    overhead = costs->second.stepOverheadSeconds.value;
    memoryEfficiency = costs->second.memoryEfficiency.value;
  }
  double chunk =
      getKernelPrice(chunkWork, elementType, memoryEfficiency).computeSeconds;
  price.computeSeconds = chunks * chunk;
  if (group.getSize() > 1)
    price.communicationSeconds =
        getLinkSeconds(communication.kind, group, double(communication.bytes),
                       /*withLatency=*/false);
  // A pipeline of two stages with one piece per chunk: the shorter stage is
  // exposed once. The ranks synchronize before each piece, which is not
  // overlapped.
  price.pipelineSeconds =
      std::min(chunk, price.communicationSeconds / chunks) + chunks * overhead;
  double longer = std::max(price.computeSeconds, price.communicationSeconds);
  price.pipelineSeconds = std::max(price.pipelineSeconds, least - longer);
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
  if (!target.fusesElementwise)
    return 0;
  KernelShare share = findKernelShare(op);
  if (share.isEmpty())
    return 0;
  unsigned key = share.isLaunchedLater ? 3 : 2;
  for (ArrayRef<bool> bits :
       {ArrayRef<bool>(share.isInRegisters), ArrayRef<bool>(share.isUnwritten)})
    for (bool bit : bits)
      key = 2 * key + bit;
  return key;
}

PriceModel::KernelPart PriceModel::removeShared(Operation *op,
                                                tp::Work &work) const {
  if (!target.fusesElementwise)
    return {};
  KernelShare share = findKernelShare(op);
  if (share.isEmpty())
    return {};
  auto getRest = [&](TypeRange types, ArrayRef<bool> isShared, int64_t bytes) {
    double all = 0, shared = 0;
    for (auto [type, isOneShared] : llvm::zip_equal(types, isShared)) {
      double size = double(getBytes(type).value_or(0));
      all += size;
      shared += isOneShared ? size : 0;
    }
    return all > 0 ? static_cast<int64_t>(double(bytes) * (1 - shared / all))
                   : bytes;
  };
  work.bytesRead =
      getRest(op->getOperandTypes(), share.isInRegisters, work.bytesRead);
  work.bytesWritten =
      getRest(op->getResultTypes(), share.isUnwritten, work.bytesWritten);
  return {/*isShared=*/true, share.isLaunchedLater};
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
    Operation *op, const tp::Work &work, KernelPart part,
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
    if (part.isLaunchedLater)
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
  auto workOp = dyn_cast<tp::WorkOpInterface>(op);
  std::optional<tp::Work> work = tp::Work();
  KernelPart part;
  if (workOp) {
    work = workOp.getWork(values);
    if (!work)
      return std::nullopt;
    part = removeShared(op, *work);
  }
  if (auto collective = dyn_cast<tp::CollectiveOpInterface>(op)) {
    std::optional<tp::Communication> communication =
        collective.getCommunication(values);
    if (!communication)
      return std::nullopt;
    return getPrice(op, *work, part, communication);
  }
  if (*work == tp::Work() && !part.isShared && mustCopy(op)) {
    std::optional<int64_t> bytes = getBytes(op->getOperandTypes()[0]);
    if (!bytes)
      return std::nullopt;
    *work = {0, 0, *bytes, *bytes};
  }
  return getPrice(op, *work, part, std::nullopt);
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
  KernelPart part = removeShared(op, *work);
  std::optional<tp::Communication> communication;
  if (isa<tp::CollectiveOpInterface>(op)) {
    communication =
        tp::getShardedCommunication(op, rule, factor, parts, values);
    if (!communication)
      return std::nullopt;
  }
  if (!communication && *work == tp::Work() && !part.isShared && mustCopy(op)) {
    std::optional<int64_t> bytes = getBytes(op->getOperandTypes()[0]);
    if (!bytes)
      return std::nullopt;
    auto cut = static_cast<int64_t>(std::ceil(*bytes / parts));
    *work = {0, 0, cut, cut};
  }
  return getPrice(op, *work, part, communication).getSeconds();
}
