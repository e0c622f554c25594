//===- ReindexMaps.cpp - index maps around a collective ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ReindexMaps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

bool commute::analysis::isReindexing(Operation *op) {
  return isa<tp::ReshapeOp, tp::PermuteOp, tp::SliceOp, tp::ConcatOp,
             tp::BroadcastOp, tp::CopyOp, tp::BitcastOp,
             tp::CompletionOpInterface>(op);
}

std::optional<IndexMap>
commute::analysis::composeIndexMap(Operation *op,
                                   ArrayRef<const IndexMap *> maps,
                                   ArrayRef<SizePolynomial> sizes) {
  using Result = std::optional<IndexMap>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case<tp::CopyOp, tp::BitcastOp, tp::CompletionOpInterface>(
          [&](Operation *) { return *maps[0]; })
      .Case([&](tp::ReshapeOp) { return maps[0]->reshape(sizes); })
      .Case([&](tp::PermuteOp permute) {
        return maps[0]->permute(permute.getPermutation());
      })
      .Case([&](tp::SliceOp slice) {
        const SizePolynomial &size = sizes[slice.getDim()];
        SizePolynomial start = static_cast<int64_t>(slice.getStart());
        return maps[0]->slice(slice.getDim(),
                              slice.getBlocks() ? start * size : start,
                              slice.getStep(), size);
      })
      .Case([&](tp::ConcatOp concat) {
        return IndexMap::concat(maps, concat.getDim());
      })
      .Case([&](tp::BroadcastOp) { return maps[0]->broadcast(sizes); })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Maps of values
//===----------------------------------------------------------------------===//

IndexMap::Sizes ReindexMaps::getSizes(Value value) {
  RankedTensorType type = getTensor(value);
  if (type.hasStaticShape())
    return IndexMap::Sizes(type.getShape());
  IndexMap::Sizes sizes;
  for (const tp::Size &size : symbols.getSizes(type))
    sizes.push_back(SizePolynomial::get(size));
  return sizes;
}

const IndexMap *ReindexMaps::get(Value value) const {
  auto found = maps.find(value);
  return found == maps.end() ? nullptr : &found->second;
}

bool ReindexMaps::add(Operation *op) {
  SmallVector<const IndexMap *> operands;
  for (Value operand : op->getOperands()) {
    const IndexMap *map = get(operand);
    if (!map)
      return false;
    operands.push_back(map);
  }
  Value result = op->getResult(0);
  std::optional<IndexMap> map = composeIndexMap(op, operands, getSizes(result));
  if (map)
    set(result, std::move(*map));
  return map.has_value();
}

void ReindexMaps::follow(Value value) {
  SmallVector<Value> worklist{value};
  // Operands of concatenations that have their maps already.
  llvm::SmallDenseMap<Operation *, unsigned> numReady;
  for (size_t next = 0; next < worklist.size(); ++next)
    for (OpOperand &use : worklist[next].getUses()) {
      Operation *user = use.getOwner();
      if (!isReindexing(user) || user->getBlock() != value.getParentBlock() ||
          ++numReady[user] < user->getNumOperands())
        continue;
      if (add(user))
        worklist.push_back(user->getResult(0));
    }
}

const IndexBox *commute::analysis::findFirstBox(const IndexMap &map) {
  const IndexBox *first =
      llvm::find_if(map.getBoxes(), [](const IndexBox &box) {
        return llvm::all_of(box.offsets, [](const SizePolynomial &offset) {
          return offset.isConstant(0);
        });
      });
  return first == map.getBoxes().end() ? nullptr : first;
}

//===----------------------------------------------------------------------===//
// What may be replaced
//===----------------------------------------------------------------------===//

RankedTensorType
commute::analysis::getDenseType(tp::SymbolSpace &symbols, Type elementType,
                                ArrayRef<SizePolynomial> sizes) {
  tp::Sizes expressions;
  for (const SizePolynomial &size : sizes)
    expressions.push_back(size.getSize());
  return symbols.getType(elementType, expressions,
                         tp::getContiguousStrides(expressions));
}

bool commute::analysis::mayBeDense(Value value, RankedTensorType dense,
                                   tp::SymbolSpace &symbols) {
  if (value.getType() == dense)
    return true;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    auto op = dyn_cast<tp::StrideOpInterface>(user);
    if (!op || isa<tp::CallOp>(user))
      return false;
    SmallVector<tp::StridedShape> before, after;
    for (Value operand : user->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      before.push_back(type ? symbols.getShape(type) : tp::StridedShape());
      after.push_back(operand == value ? symbols.getShape(dense)
                                       : before.back());
    }
    for (OpResult result : user->getResults()) {
      tp::Sizes sizes =
          symbols.getSizes(cast<RankedTensorType>(result.getType()));
      tp::Strides strides =
          op.inferStrides(result.getResultNumber(), before, sizes);
      if (!strides ||
          strides != op.inferStrides(result.getResultNumber(), after, sizes))
        return false;
    }
    return true;
  });
}

SmallVector<Value> commute::analysis::getOrigins(Value value) {
  SmallVector<Value> origins;
  // Every origin is tried, which costs time; known spellings need one or two.
  constexpr size_t maxOrigins = 4;
  while (origins.size() < maxOrigins) {
    Operation *op = value.getDefiningOp();
    if (!op || !isReindexing(op) || op->getNumOperands() != 1 ||
        !value.hasOneUse())
      break;
    value = op->getOperand(0);
    origins.push_back(value);
  }
  return origins;
}

SmallVector<Operation *> commute::analysis::getReindexingBehind(Value value) {
  llvm::SmallSetVector<Operation *, 8> ops;
  auto addReaders = [&](Value read) {
    for (Operation *user : read.getUsers())
      if (user->getBlock() == value.getParentBlock() && isReindexing(user))
        ops.insert(user);
  };
  addReaders(value);
  for (size_t next = 0; next < ops.size(); ++next)
    addReaders(ops[next]->getResult(0));
  return ops.takeVector();
}

SmallVector<Operation *>
commute::analysis::getOpsBetween(Value root, ArrayRef<Value> results) {
  llvm::SetVector<Operation *> ops;
  for (Value result : results)
    ops.insert(result.getDefiningOp());
  for (size_t next = 0; next < ops.size(); ++next)
    for (Value operand : ops[next]->getOperands())
      if (operand != root)
        ops.insert(operand.getDefiningOp());
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted, isBefore);
  return sorted;
}

Operation *commute::analysis::findOtherReader(ArrayRef<Operation *> ops,
                                              ArrayRef<Value> results) {
  llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      if (!llvm::is_contained(results, result))
        for (Operation *user : result.getUsers())
          if (!inside.contains(user))
            return user;
  return nullptr;
}

RankedTensorType commute::analysis::getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Type commute::analysis::getElementType(Value value) {
  return getTensor(value).getElementType();
}

bool commute::analysis::isBefore(Operation *a, Operation *b) {
  return a->isBeforeInBlock(b);
}

bool commute::analysis::moves(Operation *op) {
  auto work = cast<tp::WorkOpInterface>(op).getWork(
      [](StringRef) -> std::optional<int64_t> { return 1; });
  return work && work->bytesRead > 0;
}

bool commute::analysis::isDense(Value value, tp::SymbolSpace &symbols) {
  RankedTensorType type = getTensor(value);
  return tp::isStaticDense(type) ||
         tp::getDensity(symbols.getShape(type)) == tp::Density::Dense;
}
