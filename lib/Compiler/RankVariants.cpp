//===- RankVariants.cpp - where the graphs of ranks differ ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RankMerger.h"

#include "commute/Dialect/NodeName.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

//===----------------------------------------------------------------------===//
// A value that follows the rank
//===----------------------------------------------------------------------===//

tp::GroupAttr RankMerger::findGroup(ArrayRef<Value> values) const {
  // On a mesh, values usually depend on the position along a single axis.
  for (tp::GroupAttr group : groups) {
    bool fits = true;
    for (auto [program, value] : llvm::zip_equal(programs, values)) {
      int64_t position = *group.getPosition(program.rank);
      fits &= value == values[getIndex(group.getMembers(0)[position])];
    }
    if (fits)
      return group;
  }
  SmallVector<int64_t> all = llvm::map_to_vector(
      programs, [](const LoadedProgram &program) { return program.rank; });
  return tp::GroupAttr::get(builder.getContext(), "", all.size(), all);
}

/// Whether the value of each position in a group is that block of one tensor,
/// and of which tensor along which dim.
static std::optional<std::pair<Value, int64_t>>
findBlocks(ArrayRef<Value> ofMembers) {
  auto first = ofMembers.front().getDefiningOp<tp::SliceOp>();
  if (!first)
    return std::nullopt;
  auto dim = static_cast<int64_t>(first.getDim());
  int64_t size = tp::getTensor(first.getResult()).getDimSize(dim);
  auto count = static_cast<int64_t>(ofMembers.size());
  if (ShapedType::isDynamic(size) ||
      tp::getTensor(first.getInput()).getDimSize(dim) != count * size)
    return std::nullopt;
  for (auto [position, value] : llvm::enumerate(ofMembers)) {
    auto slice = value.getDefiningOp<tp::SliceOp>();
    if (!slice || slice.getInput() != first.getInput() ||
        static_cast<int64_t>(slice.getDim()) != dim || slice.getStep() != 1 ||
        static_cast<int64_t>(slice.getStart()) *
                (slice.getBlocks() ? size : 1) !=
            static_cast<int64_t>(position) * size)
      return std::nullopt;
  }
  return std::pair(first.getInput(), dim);
}

Value RankMerger::select(ArrayRef<Value> values, Location location) {
  tp::GroupAttr group = findGroup(values);
  SmallVector<Value> ofMembers;
  for (int64_t member : group.getMembers(0))
    ofMembers.push_back(values[getIndex(member)]);
  // Passes know what to do with a shard.
  if (auto blocks = findBlocks(ofMembers); blocks && !group.getName().empty()) {
    auto slice = tp::RankSliceOp::create(builder, location, blocks->first,
                                         blocks->second, group);
    if (slice.getResult().getType() == values.front().getType())
      return slice;
    slice.erase();
  }
  return tp::RankSelectOp::create(builder, location, values.front().getType(),
                                  ofMembers, group);
}

//===----------------------------------------------------------------------===//
// Variants of a node
//===----------------------------------------------------------------------===//

static SmallVector<NamedResult> getNamedResults(ArrayRef<Operation *> ops) {
  SmallVector<NamedResult> results;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (StringRef name = vocabulary::getGraphName(result); !name.empty())
        results.push_back({name, result});
  return results;
}

bool RankMerger::areSameVariant(size_t node, size_t first,
                                size_t second) const {
  ArrayRef<Operation *> a = opsOfNode[first][node];
  ArrayRef<Operation *> b = opsOfNode[second][node];
  if (a.size() != b.size())
    return false;
  DenseMap<Value, Value> inner;
  for (auto [x, y] : llvm::zip_equal(a, b)) {
    NamedAttrList attributes(x->getAttrDictionary());
    NamedAttrList others(y->getAttrDictionary());
    for (NamedAttrList *list : {&attributes, &others}) {
      list->erase(tp::TPDialect::namesAttrName);
      list->erase(tp::TPDialect::variantAttrName);
    }
    if (!areAlike(x, y) || attributes != others)
      return false;
    for (auto [p, q] : llvm::zip_equal(x->getOperands(), y->getOperands()))
      if (Value own = inner.lookup(q);
          own ? own != p : lookup(first, p) != lookup(second, q))
        return false;
    for (auto [p, q] : llvm::zip_equal(x->getResults(), y->getResults()))
      inner[q] = p;
  }
  return true;
}

RankMerger::Ops RankMerger::cloneVariant(size_t node, size_t rank,
                                         ArrayRef<NamedResult> ownResults,
                                         ArrayRef<NamedResult> firstResults) {
  DenseMap<StringRef, StringRef> firstNames;
  for (auto [own, first] : llvm::zip_equal(ownResults, firstResults))
    firstNames[own.name] = first.name;
  IRMapping mapping;
  Ops clones;
  for (Operation *op : opsOfNode[rank][node]) {
    for (Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, lookup(rank, operand));
    Operation *clone = builder.clone(*op, mapping);
    clone->setAttr(tp::TPDialect::variantAttrName, builder.getUnitAttr());
    if (auto names =
            op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName)) {
      SmallVector<StringRef> renamed;
      for (StringAttr name : names.getAsRange<StringAttr>())
        renamed.push_back(firstNames.lookup(name.getValue()));
      clone->setAttr(tp::TPDialect::namesAttrName,
                     builder.getStrArrayAttr(renamed));
    }
    clones.push_back(clone);
  }
  return clones;
}

llvm::Error RankMerger::mergeVariants(size_t node) {
  std::vector<SmallVector<NamedResult>> results;
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    ArrayRef<Operation *> ops = opsOfNode[rank][node];
    results.push_back(getNamedResults(ops));
    bool isPure = llvm::all_of(ops, [](Operation *op) {
      return isMemoryEffectFree(op) && !isa<tp::CollectiveOpInterface>(op);
    });
    bool hasSameTypes =
        results.back().size() == results.front().size() &&
        llvm::all_of(llvm::zip(results.back(), results.front()),
                     [](const auto &pair) {
                       return std::get<0>(pair).value.getType() ==
                              std::get<1>(pair).value.getType();
                     });
    if (!isPure || !hasSameTypes)
      return makeNodeError(
          rank == 0 ? 1 : rank, node,
          Twine("differs from '") + getGraph(0).nodes[node].name + "' of " +
              programs[0].origin +
              (hasSameTypes ? " in what it does to others"
                            : " in the shapes of its results"));
  }
  if (opsOfNode[0][node].empty())
    return makeNodeError(1, node, "has no counterpart");
  // By rank, the rank whose variant of the ops it shares.
  SmallVector<size_t> variantOf;
  std::vector<SmallVector<NamedResult>> variants(programs.size());
  variants[0] = results[0];
  llvm::SmallPtrSet<Operation *, 4> firstOps(llvm::from_range,
                                             opsOfNode[0][node]);
  builder.setInsertionPointAfter(opsOfNode[0][node].back());
  for (size_t rank = 0; rank < programs.size(); ++rank) {
    size_t same = 0;
    while (same < rank &&
           (variantOf[same] != same || !areSameVariant(node, same, rank)))
      ++same;
    variantOf.push_back(same);
    if (same == rank && rank > 0)
      variants[rank] =
          getNamedResults(cloneVariant(node, rank, results[rank], results[0]));
  }
  for (Operation *op : firstOps)
    op->setAttr(tp::TPDialect::variantAttrName, builder.getUnitAttr());
  for (size_t index = 0; index < results[0].size(); ++index) {
    SmallVector<Value> values;
    for (size_t rank = 0; rank < programs.size(); ++rank)
      values.push_back(variants[variantOf[rank]][index].value);
    Value first = values.front();
    Value selected = select(values, first.getLoc());
    Operation *op = selected.getDefiningOp();
    first.replaceUsesWithIf(selected, [&](OpOperand &use) {
      return use.getOwner() != op && !firstOps.contains(use.getOwner());
    });
    // The variants of a shard may be erased, and it takes their name.
    if (isa<tp::RankSliceOp>(op))
      op->setAttr(tp::TPDialect::namesAttrName,
                  first.getDefiningOp()->getAttr(tp::TPDialect::namesAttrName));
    for (size_t rank = 1; rank < programs.size(); ++rank) {
      merged[rank][results[rank][index].value] = selected;
      noteName(rank, results[0][index].name, results[rank][index].name);
    }
  }
  return llvm::Error::success();
}
