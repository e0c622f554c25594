//===- ReindexMaps.cpp - index maps around a collective ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/ReindexMaps.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

bool commute::analysis::isReindexing(Operation *op) {
  return isa<tp::ReindexOpInterface>(op);
}

bool commute::analysis::keepsElements(Operation *op) {
  if (!isReindexing(op) || isa<tp::CompletionOpInterface>(op))
    return false;
  Type element = getElementType(op->getResult(0));
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return getElementType(operand) == element;
  });
}

bool commute::analysis::keepsElementsOfOperand(Operation *op) {
  return keepsElements(op) && op->getNumOperands() == 1;
}

namespace {
/// Index maps, numbered from those of an op's operands on. A map that cannot be
/// proven is missing, and so is every map made from it.
class MapAlgebra : public tp::IndexAlgebra {
public:
  explicit MapAlgebra(ArrayRef<const IndexMap *> operands)
      : operands(operands) {}

  std::optional<IndexMap> take(Map map) {
    if (isOperand(map))
      return *operands[unsigned(map)];
    return std::move(made[unsigned(map) - operands.size()]);
  }

  Map reshape(Map input, ArrayRef<tp::Size> sizes) final {
    return apply(input, [&](const IndexMap &map) {
      return map.reshape(getPolynomials(sizes));
    });
  }
  Map permute(Map input, ArrayRef<int64_t> permutation) final {
    return apply(input, [&](const IndexMap &map) {
      return std::optional(map.permute(permutation));
    });
  }
  Map slice(Map input, unsigned dim, const tp::Size &start, int64_t step,
            const tp::Size &size) final {
    return apply(input, [&](const IndexMap &map) {
      return map.slice(dim, SizePolynomial::get(start), step,
                       SizePolynomial::get(size));
    });
  }
  Map concat(ArrayRef<Map> inputs, unsigned dim) final {
    SmallVector<const IndexMap *> maps;
    for (Map input : inputs)
      maps.push_back(find(input));
    if (llvm::is_contained(maps, nullptr))
      return add(std::nullopt);
    return add(IndexMap::concat(maps, dim));
  }
  Map broadcast(Map input, ArrayRef<tp::Size> sizes) final {
    return apply(input, [&](const IndexMap &map) {
      return map.broadcast(getPolynomials(sizes));
    });
  }

private:
  static IndexMap::Sizes getPolynomials(ArrayRef<tp::Size> sizes) {
    IndexMap::Sizes polynomials;
    for (const tp::Size &size : sizes)
      polynomials.push_back(SizePolynomial::get(size));
    return polynomials;
  }
  bool isOperand(Map map) const { return unsigned(map) < operands.size(); }
  /// Null for a map that is missing.
  const IndexMap *find(Map map) const {
    if (isOperand(map))
      return operands[unsigned(map)];
    const std::optional<IndexMap> &found =
        made[unsigned(map) - operands.size()];
    return found ? &*found : nullptr;
  }
  Map add(std::optional<IndexMap> map) {
    made.push_back(std::move(map));
    return Map(operands.size() + made.size() - 1);
  }
  template <typename Function>
  Map apply(Map input, Function function) {
    const IndexMap *map = find(input);
    return add(map ? function(*map) : std::nullopt);
  }

  ArrayRef<const IndexMap *> operands;
  SmallVector<std::optional<IndexMap>, 1> made;
};
} // namespace

std::optional<IndexMap> commute::analysis::composeIndexMap(
    Operation *op, ArrayRef<const IndexMap *> maps, ArrayRef<tp::Size> sizes) {
  auto reindexing = dyn_cast<tp::ReindexOpInterface>(op);
  if (!reindexing)
    return std::nullopt;
  MapAlgebra algebra(maps);
  SmallVector<tp::IndexAlgebra::Map> operands;
  for (unsigned number = 0; number < maps.size(); ++number)
    operands.push_back(tp::IndexAlgebra::Map(number));
  return algebra.take(reindexing.reindex(algebra, operands, sizes));
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
  std::optional<IndexMap> map =
      composeIndexMap(op, operands, symbols.getSizes(getTensor(result)));
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
    // An opaque op may depend on the layout of what it reads.
    if (!op || !isa<tp::EvaluationOpInterface>(user))
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
    // What is before a wait has not arrived.
    if (!op || !isReindexing(op) || isa<tp::CompletionOpInterface>(op) ||
        op->getNumOperands() != 1 || !value.hasOneUse())
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
