//===- PlacementTransfer.cpp - placements through one op --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Placements/PlacementTransfer.h"

using namespace mlir;
using namespace commute;
using tp::PlacementAttr;
using tp::PlacementKind;

static bool is(PlacementAttr placement, PlacementKind kind) {
  return placement && placement.getKind() == kind;
}

static bool computeIsWithin(tp::GroupAttr group, tp::GroupAttr other) {
  if (!group.hasKnownMembers() || !other.hasKnownMembers())
    return group.hasSameMembers(other);
  for (int64_t index = 0; index < group.getNumGroups(); ++index) {
    ArrayRef<int64_t> members = group.getMembers(index);
    // Ranks of one group are all around the same members.
    const int64_t *all = other.getMembersAround(members.front()).data();
    if (!all || !llvm::all_of(members, [&](int64_t member) {
          return other.getMembersAround(member).data() == all;
        }))
      return false;
  }
  return true;
}

static bool computeAreIndependent(tp::GroupAttr group, tp::GroupAttr other) {
  if (!group.hasKnownMembers() || !other.hasKnownMembers())
    return false;
  for (int64_t index = 0; index < group.getNumGroups(); ++index) {
    ArrayRef<int64_t> members = group.getMembers(index);
    ArrayRef<int64_t> reference = other.getMembersAround(members.front());
    for (int64_t member : members) {
      ArrayRef<int64_t> peers = other.getMembersAround(member);
      if (peers.size() != reference.size() || peers.empty())
        return false;
      // Ranks that communicate with each other are not independent.
      if (member != members.front() && peers.data() == reference.data())
        return false;
      // The peers hold what this rank holds of another group's value: the
      // same block.
      for (auto [peer, first] : llvm::zip_equal(peers, reference)) {
        ArrayRef<int64_t> around = group.getMembersAround(peer);
        if (around.empty() ||
            around.data() != group.getMembersAround(first).data() ||
            group.getPosition(peer) != group.getPosition(member))
          return false;
      }
    }
  }
  return true;
}

bool analysis::GroupRelations::isWithin(tp::GroupAttr group,
                                        tp::GroupAttr other) {
  auto [place, isNew] = within.try_emplace({group, other});
  if (isNew)
    place->second = computeIsWithin(group, other);
  return place->second;
}

bool analysis::GroupRelations::areIndependent(tp::GroupAttr group,
                                              tp::GroupAttr other) {
  auto [place, isNew] = independent.try_emplace({group, other});
  if (isNew)
    place->second = computeAreIndependent(group, other);
  return place->second;
}

/// The results of an op over a group, on the ranks of `group`; nullopt if the
/// ranks of `group` run it independently of each other.
static std::optional<SmallVector<PlacementAttr>>
transferOverGroup(tp::GroupOpInterface op, tp::GroupAttr group,
                  ArrayRef<PlacementAttr> operands,
                  analysis::GroupRelations &relations) {
  tp::GroupAttr own = op.getRankGroup();
  if (own.hasSameMembers(group))
    return op.inferPlacements(operands);
  PlacementAttr varying = PlacementAttr::getVarying(op->getContext());
  // What is the same on all ranks of a larger group, whatever the operands are,
  // is the same on these.
  SmallVector<PlacementAttr> results = op.inferPlacements(
      SmallVector<PlacementAttr>(op->getNumOperands(), varying));
  if (llvm::all_of(results,
                   [](PlacementAttr placement) {
                     return is(placement, PlacementKind::Replicated);
                   }) &&
      relations.isWithin(group, own))
    return results;
  if (relations.areIndependent(group, own))
    return std::nullopt;
  return SmallVector<PlacementAttr>(op->getNumResults(), varying);
}

/// Whether all partial operands have the same linear reduction, the op is
/// linear in them, and all other operands are replicated.
static bool passesPartial(Operation *op, ArrayRef<PlacementAttr> operands) {
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  SmallVector<bool> partial;
  std::optional<tp::ReductionKind> kind;
  for (PlacementAttr placement : operands) {
    bool isPartial = is(placement, PlacementKind::Partial);
    partial.push_back(isPartial);
    if (!isPartial && placement && !is(placement, PlacementKind::Replicated))
      return false;
    if (!isPartial)
      continue;
    if (kind && *kind != placement.getReduction())
      return false;
    kind = placement.getReduction();
  }
  bool isLinearReduction =
      kind == tp::ReductionKind::Sum || kind == tp::ReductionKind::Avg;
  return ruled && isLinearReduction && ruled.isLinearIn(partial);
}

static SmallVector<PlacementAttr> getVarying(Operation *op) {
  return SmallVector<PlacementAttr>(
      op->getNumResults(), PlacementAttr::getVarying(op->getContext()));
}

/// Results of an op some of whose operands are shards: shards along the result
/// dims that the same factor leads, partial values where it is reduced.
static SmallVector<PlacementAttr>
transferShards(Operation *op, ArrayRef<PlacementAttr> operands) {
  MLIRContext *context = op->getContext();
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled)
    return getVarying(op);
  tp::DimensionRule rule = ruled.getDimensionRule();
  std::optional<unsigned> factor;
  for (auto [placement, tensor] : llvm::zip_equal(operands, rule.operands)) {
    if (!is(placement, PlacementKind::Shard))
      continue;
    std::optional<unsigned> own =
        tp::DimensionRule::getMajorFactor(tensor, placement.getDim());
    if (!own || (factor && *factor != *own))
      return getVarying(op);
    factor = own;
  }
  auto contains = [&](const tp::DimensionRule::TensorFactors &tensor) {
    return llvm::any_of(tensor, [&](const tp::DimensionRule::DimFactors &dim) {
      return llvm::is_contained(dim, *factor);
    });
  };
  // Exactly the operands that carry the factor must be sharded along it.
  for (auto [placement, tensor] : llvm::zip_equal(operands, rule.operands))
    if (placement && is(placement, PlacementKind::Shard) != contains(tensor))
      return getVarying(op);
  const tp::Factor &shared = rule.factors[*factor];
  if (shared.kind == tp::Factor::Kind::Whole)
    return getVarying(op);
  SmallVector<PlacementAttr> results;
  for (const tp::DimensionRule::TensorFactors &tensor : rule.results) {
    if (shared.kind == tp::Factor::Kind::Reduction) {
      results.push_back(PlacementAttr::getPartial(context, *shared.reduction));
      continue;
    }
    PlacementAttr placement = PlacementAttr::getVarying(context);
    for (unsigned dim = 0; dim < tensor.size(); ++dim)
      if (tp::DimensionRule::getMajorFactor(tensor, dim) == factor)
        placement = PlacementAttr::getShard(context, dim);
    results.push_back(placement);
  }
  // An operand without the reduced factor, such as a bias, would be added once
  // on every rank.
  if (shared.kind == tp::Factor::Kind::Reduction) {
    SmallVector<bool> summands;
    for (auto [placement, tensor] : llvm::zip_equal(operands, rule.operands))
      summands.push_back(placement && !contains(tensor));
    if (llvm::is_contained(summands, true) && ruled.addsOperands(summands))
      return getVarying(op);
  }
  return results;
}

SmallVector<PlacementAttr>
analysis::transferPlacements(Operation *op, tp::GroupAttr group,
                             ArrayRef<PlacementAttr> operands,
                             GroupRelations &relations) {
  // Nothing is known of what an opaque op computes, and memory that is not
  // initialized differs between ranks. An op that allocates it has no operands;
  // to ask all ops for their effects takes time.
  if (!isa<tp::EvaluationOpInterface>(op) ||
      (op->getNumOperands() == 0 && !isMemoryEffectFree(op)))
    return getVarying(op);
  assert(isMemoryEffectFree(op) && "only ops without operands allocate");
  if (auto grouped = dyn_cast<tp::GroupOpInterface>(op))
    if (auto results = transferOverGroup(grouped, group, operands, relations))
      return *results;
  auto hasKind = [&](PlacementKind kind) {
    return llvm::any_of(operands, [&](PlacementAttr p) { return is(p, kind); });
  };
  if (hasKind(PlacementKind::Varying))
    return getVarying(op);
  if (hasKind(PlacementKind::Partial)) {
    if (!passesPartial(op, operands))
      return getVarying(op);
    auto *partial = llvm::find_if(operands, [](PlacementAttr placement) {
      return is(placement, PlacementKind::Partial);
    });
    return SmallVector<PlacementAttr>(op->getNumResults(), *partial);
  }
  if (hasKind(PlacementKind::Shard))
    return transferShards(op, operands);
  return SmallVector<PlacementAttr>(
      op->getNumResults(), PlacementAttr::getReplicated(op->getContext()));
}

std::optional<std::string>
analysis::findMisuse(Operation *op, tp::GroupAttr group,
                     ArrayRef<PlacementAttr> operands,
                     GroupRelations &relations) {
  std::string on = " on group '" + group.getKey() + "'";
  bool readsPartial = llvm::any_of(operands, [](PlacementAttr placement) {
    return is(placement, PlacementKind::Partial);
  });
  auto collective = dyn_cast<tp::CollectiveOpInterface>(op);
  bool isOwn =
      collective && collective.getCollectiveGroup().hasSameMembers(group);
  // A reduction over a larger group reduces the partial values of this one too.
  bool coversGroup =
      collective && relations.isWithin(group, collective.getCollectiveGroup());
  if (coversGroup && !operands.empty()) {
    PlacementAttr operand = operands[0];
    std::optional<tp::ReductionKind> reduction =
        collective.getCollectiveReduction();
    if (!reduction)
      return readsPartial ? std::optional("moves a value that is partial" + on +
                                          "; it must be reduced first")
                          : std::nullopt;
    if (is(operand, PlacementKind::Partial) &&
        operand.getReduction() != *reduction)
      return "reduces by " + tp::stringifyReductionKind(*reduction).str() + on +
             " a value that is " + operand.getText();
    if (!isOwn)
      return std::nullopt;
    if (is(operand, PlacementKind::Shard))
      return "reduces shards of one tensor" + on +
             "; an all_gather would reassemble them";
    // The mean of equal values is that value, and so is their maximum.
    if (is(operand, PlacementKind::Replicated) &&
        *reduction == tp::ReductionKind::Sum)
      return "sums a value that is replicated" + on +
             ", which multiplies it by " + std::to_string(group.getSize());
    return std::nullopt;
  }
  if (readsPartial && !isa<tp::CallOp>(op) && !passesPartial(op, operands))
    return "uses a value that is partial" + on +
           ", and is not linear in it; the value must be reduced first";
  return std::nullopt;
}
