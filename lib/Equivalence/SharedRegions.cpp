//===- SharedRegions.cpp - what two programs do alike -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SharedRegions.h"

#include "OpNumbering.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/ResolvedPrograms.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <map>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

bool equivalence::areIdentical(func::FuncOp first, func::FuncOp second) {
  Block &a = first.getBody().front(), &b = second.getBody().front();
  if (a.getArgumentTypes() != b.getArgumentTypes() ||
      a.getOperations().size() != b.getOperations().size())
    return false;
  OpNumbering ops;
  DenseMap<Value, Value> counterpart;
  for (auto [x, y] : llvm::zip_equal(a.getArguments(), b.getArguments()))
    counterpart[x] = y;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    if (x.getName() != y.getName() ||
        x.getNumOperands() != y.getNumOperands() ||
        x.getNumResults() != y.getNumResults() ||
        ops.getFunction(&x) != ops.getFunction(&y))
      return false;
    for (auto [p, q] : llvm::zip_equal(x.getOperands(), y.getOperands()))
      if (counterpart.lookup(p) != q)
        return false;
    for (auto [p, q] : llvm::zip_equal(x.getResults(), y.getResults()))
      counterpart[p] = q;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Returns true if an op is a function of its operands that is the same on all
/// ranks.
static bool isPlainFunction(Operation *op) {
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         !isa<tp::CallOp, tp::GroupOpInterface, tp::WaitOp, tp::RegionMarkerOp>(
             op) &&
         !op->hasTrait<OpTrait::IsTerminator>();
}

static bool isInteger(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<IntegerType>(type.getElementType());
}

namespace {
/// Numbers for the ops of both programs.
struct Numbering {
  OpNumbering ops;
  std::map<std::vector<unsigned>, unsigned> constants;
  DenseMap<Value, std::optional<unsigned>> known;

  /// Returns the number of a value that is computed from constants alone.
  std::optional<unsigned> find(Value value);
};

/// Some ops of a program, in its order, that no path leaves and enters again.
struct SharedRegion {
  SmallVector<Operation *> ops;
  /// What the ops use of others, in the order of use.
  llvm::SetVector<Value> inputs;
  /// Equal for regions that are the same function of their inputs.
  std::vector<unsigned> key;
};

/// Finds the regions of a program that follow from orders.
class RegionFinder {
public:
  explicit RegionFinder(func::FuncOp function);
  std::vector<SharedRegion> find(Numbering &numbering);

private:
  /// Adds ops to a group until no path leaves and enters it again. Returns
  /// false if the group meets another one, which it was joined with.
  bool close(unsigned group);
  std::optional<SharedRegion> describe(ArrayRef<unsigned> members,
                                       Numbering &numbering);

  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> positions;
  /// By position, the group of an op.
  std::vector<std::optional<unsigned>> groupOf;
  llvm::EquivalenceClasses<unsigned> groups;
};
} // namespace

std::optional<unsigned> Numbering::find(Value value) {
  if (auto own = known.find(value); own != known.end())
    return own->second;
  std::optional<unsigned> number;
  Operation *op = value.getDefiningOp();
  if (op && isPlainFunction(op) && op->getNumResults() == 1) {
    std::vector<unsigned> key = {ops.getFunction(op)};
    bool isConstant = true;
    for (Value operand : op->getOperands()) {
      std::optional<unsigned> own = find(operand);
      isConstant = isConstant && own;
      key.push_back(own.value_or(0));
    }
    if (isConstant)
      number =
          constants.try_emplace(std::move(key), constants.size()).first->second;
  }
  known[value] = number;
  return number;
}

RegionFinder::RegionFinder(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    positions[&op] = ops.size();
    ops.push_back(&op);
  }
  groupOf.resize(ops.size());
  // An op is part of a region if it sorts, or reads integers or truth values
  // that one in the region computes.
  for (auto [position, op] : llvm::enumerate(ops)) {
    auto number = static_cast<unsigned>(position);
    auto join = [&](unsigned other) {
      if (groupOf[number])
        groups.unionSets(*groupOf[number], other);
      groupOf[number] = groups.getLeaderValue(other);
    };
    if (isa<tp::SortOp>(op)) {
      groups.insert(number);
      groupOf[number] = number;
    }
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && isInteger(operand) && groupOf[positions.lookup(source)] &&
          !op->hasTrait<OpTrait::IsTerminator>())
        join(*groupOf[positions.lookup(source)]);
  }
}

bool RegionFinder::close(unsigned group) {
  auto isIn = [&](unsigned position) {
    return groupOf[position] &&
           groups.getLeaderValue(*groupOf[position]) == group;
  };
  std::optional<unsigned> begin;
  unsigned end = 0;
  for (unsigned position = 0; position < ops.size(); ++position)
    if (isIn(position)) {
      begin = begin.value_or(position);
      end = position + 1;
    }
  if (!begin)
    return true;
  // Between the first op and the last one, those on a path.
  std::vector<bool> follows(ops.size()), leads(ops.size());
  for (unsigned position = *begin; position < end; ++position) {
    follows[position] = isIn(position);
    for (Value operand : ops[position]->getOperands())
      if (Operation *source = operand.getDefiningOp())
        if (follows[positions.lookup(source)])
          follows[position] = true;
  }
  for (unsigned position = end; position-- > *begin;) {
    leads[position] = isIn(position);
    for (Operation *user : ops[position]->getUsers())
      if (leads[positions.lookup(user)])
        leads[position] = true;
    if (!follows[position] || !leads[position] || isIn(position))
      continue;
    if (groupOf[position]) {
      groups.unionSets(group, *groupOf[position]);
      return false;
    }
  }
  for (unsigned position = *begin; position < end; ++position)
    if (follows[position] && leads[position] && !groupOf[position])
      groupOf[position] = group;
  return true;
}

std::optional<SharedRegion> RegionFinder::describe(ArrayRef<unsigned> members,
                                                   Numbering &numbering) {
  SharedRegion region;
  DenseMap<Value, std::pair<unsigned, unsigned>> made;
  for (unsigned position : members) {
    Operation *op = ops[position];
    if (!isPlainFunction(op))
      return std::nullopt;
    region.key.push_back(numbering.ops.getFunction(op));
    for (Value operand : op->getOperands()) {
      auto known = made.find(operand);
      // Constants are part of the function.
      if (known != made.end()) {
        region.key.push_back(0);
        region.key.push_back(known->second.first);
        region.key.push_back(known->second.second);
        continue;
      }
      if (std::optional<unsigned> constant = numbering.find(operand)) {
        region.key.push_back(2);
        region.key.push_back(*constant);
        continue;
      }
      // Opaque operators are not asked which memory they get.
      if (findAllocation(operand))
        return std::nullopt;
      region.inputs.insert(operand);
      region.key.push_back(1);
      region.key.push_back(llvm::find(region.inputs, operand) -
                           region.inputs.begin());
      auto type =
          reinterpret_cast<uintptr_t>(operand.getType().getAsOpaquePointer());
      region.key.push_back(static_cast<unsigned>(type));
      region.key.push_back(static_cast<unsigned>(uint64_t(type) >> 32));
    }
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      made[result] = {region.ops.size(), static_cast<unsigned>(index)};
    region.ops.push_back(op);
  }
  return region;
}

std::vector<SharedRegion> RegionFinder::find(Numbering &numbering) {
  bool isClosed = false;
  while (!isClosed) {
    isClosed = true;
    std::set<unsigned> leaders;
    for (std::optional<unsigned> group : groupOf)
      if (group)
        leaders.insert(groups.getLeaderValue(*group));
    for (unsigned leader : leaders)
      if (isClosed)
        isClosed = close(leader);
  }
  llvm::MapVector<unsigned, SmallVector<unsigned>> members;
  for (auto [position, group] : llvm::enumerate(groupOf))
    if (group)
      members[groups.getLeaderValue(*group)].push_back(position);
  std::vector<SharedRegion> regions;
  for (const auto &[group, own] : members)
    if (std::optional<SharedRegion> region = describe(own, numbering))
      regions.push_back(std::move(*region));
  return regions;
}

//===----------------------------------------------------------------------===//
// Replacement
//===----------------------------------------------------------------------===//

/// A result of a region: the op and its result.
using Exit = std::pair<unsigned, unsigned>;

/// Calls `visit` with the results that ops outside of a region use, and these
/// ops.
template <typename Visitor>
static void forEachExit(const SharedRegion &region, Visitor visit) {
  llvm::DenseSet<Operation *> own(region.ops.begin(), region.ops.end());
  for (auto [position, op] : llvm::enumerate(region.ops))
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      for (Operation *user : result.getUsers())
        if (!own.contains(user))
          visit(Exit(position, index), user);
}

/// Returns the op before which a region can be called; null if the program
/// would have to be reordered for it.
static Operation *findPlace(const SharedRegion &region) {
  Operation *place = nullptr;
  forEachExit(region, [&](Exit, Operation *user) {
    if (!place || user->isBeforeInBlock(place))
      place = user;
  });
  if (place)
    for (Value input : region.inputs)
      if (Operation *source = input.getDefiningOp();
          source && !source->isBeforeInBlock(place))
        return nullptr;
  return place;
}

static void replace(const SharedRegion &region, const std::set<Exit> &exits,
                    StringRef name) {
  OpBuilder builder(findPlace(region));
  SmallVector<Type> types;
  for (auto [position, index] : exits)
    types.push_back(region.ops[position]->getResult(index).getType());
  // One of PyTorch's own operators: a function of its operands.
  auto call = tp::CallOp::create(builder, region.ops.front()->getLoc(), types,
                                 name, region.inputs.getArrayRef(), "[]");
  for (auto [exit, result] : llvm::zip_equal(exits, call->getResults()))
    region.ops[exit.first]->getResult(exit.second).replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(region.ops))
    op->erase();
}

/// Erases ops that compute what nobody uses.
static void eraseUnused(func::FuncOp function) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (isPlainFunction(&op) && op.use_empty())
      op.erase();
}

bool equivalence::replaceSharedRegions(func::FuncOp first,
                                       func::FuncOp second) {
  struct Shared {
    SmallVector<SharedRegion> regions[2];
    std::set<Exit> exits;
  };
  for (func::FuncOp function : {first, second})
    eraseUnused(function);
  Numbering numbering;
  std::map<std::vector<unsigned>, Shared> shared;
  for (auto [side, function] : llvm::enumerate(std::array{first, second}))
    for (SharedRegion &region : RegionFinder(function).find(numbering)) {
      if (!findPlace(region))
        continue;
      Shared &own = shared[region.key];
      forEachExit(region,
                  [&](Exit exit, Operation *) { own.exits.insert(exit); });
      own.regions[side].push_back(std::move(region));
    }
  unsigned number = 0;
  for (auto &[key, own] : shared) {
    if (own.regions[0].empty() || own.regions[1].empty())
      continue;
    std::string name =
        "torch.ops.aten.shared_region_" + std::to_string(number++) + ".default";
    for (ArrayRef<SharedRegion> regions : own.regions)
      for (const SharedRegion &region : regions)
        replace(region, own.exits, name);
  }
  // Constants that the regions alone used.
  for (func::FuncOp function : {first, second})
    eraseUnused(function);
  return number > 0;
}
