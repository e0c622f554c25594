//===- FaultSearch.cpp - the op that makes outputs wrong ------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FaultSearch.h"

#include <map>
#include <numeric>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

bool refinement::onlyMoves(Operation *op) {
  auto collective = dyn_cast_if_present<tp::CollectiveOpInterface>(op);
  return isa_and_present<tp::ReindexOpInterface>(op) ||
         isa_and_present<tp::CompletionOpInterface>(op) ||
         (collective && !collective.getCollectiveReduction());
}

static bool isCommutative(Operation *op) {
  auto map = dyn_cast<tp::MapOp>(op);
  return map && (map.getFunction() == tp::MapFunction::Add ||
                 map.getFunction() == tp::MapFunction::Mul);
}

bool refinement::areOfOneKind(Operation *a, Operation *b) {
  if (a->getName() != b->getName())
    return false;
  if (auto map = dyn_cast<tp::MapOp>(a))
    return map.getFunction() == cast<tp::MapOp>(b).getFunction();
  if (auto reduce = dyn_cast<tp::ReduceOp>(a))
    return reduce.getKind() == cast<tp::ReduceOp>(b).getKind();
  return true;
}

/// True if a tensor may be distributed as shards of such a type.
static bool mayBeShard(Type whole, Type shard) {
  auto a = dyn_cast<RankedTensorType>(whole),
       b = dyn_cast<RankedTensorType>(shard);
  return a && b && a.getRank() == b.getRank() &&
         a.getElementType() == b.getElementType() &&
         llvm::all_of(llvm::zip_equal(a.getShape(), b.getShape()),
                      [](auto sizes) {
                        return std::get<1>(sizes) > 0 &&
                               std::get<0>(sizes) % std::get<1>(sizes) == 0;
                      });
}

//===----------------------------------------------------------------------===//
// Suspects
//===----------------------------------------------------------------------===//

/// True if a right result says that all elements of the operands are right.
static bool readsAllElements(Operation *op) {
  if (auto reindex = dyn_cast_if_present<tp::ReindexOpInterface>(op))
    return reindex.keepsEachElement();
  auto collective = dyn_cast_if_present<tp::CollectiveOpInterface>(op);
  return !collective || isa<tp::AllReduceOp, tp::AllGatherOp>(op);
}

bool FaultSearch::isCertain(const Step *step) {
  const RankValues::Node &node = *step->node;
  if (!node.dependsOnInputs || !step->getOp())
    return true;
  const RecognizedValues::Recognition &recognition =
      recognized.get(node, step->rank);
  bool isInOrder = recognition.isCertain();
  if (recognition.kind == RecognizedValues::Kind::Unknown ||
      recognition.kind == RecognizedValues::Kind::Mean)
    return false;
  if (isInOrder && !recognized.isMisplaced(node))
    return true;
  auto [known, isNew] = placed.try_emplace(step, false);
  if (!isNew)
    return known->second;
  if (!isInOrder)
    return placed[step] = keepsOrder(*step);
  // Messages take blocks to other ranks, and what is computed from these is
  // there, too. So is what the premises say of inputs.
  bool is = isa<tp::CallOp>(step->getOp());
  for (const Step *operand : step->operands)
    is |= recognized.isMisplaced(*operand->node) && isCertain(operand);
  return placed[step] = is;
}

bool FaultSearch::keepsOrder(const Step &step) {
  Operation *op = step.getOp();
  bool keeps = isa<tp::MatmulOp, tp::ReshapeOp>(op) ||
               (isa<tp::MapOp>(op) && op->getNumOperands() == 1);
  return keeps && llvm::all_of(step.operands, [&](const Step *operand) {
           return isCertain(operand);
         });
}

/// True for positions, ids and what is decided by them.
static bool isInteger(const Step &step) {
  const FieldValue &content = step.getContent();
  return content && (!content->isField() || content->isTruth());
}

/// True if an op takes its elements from others by integers or truth values,
/// of which the step is one: wherever it takes them from, they are elements.
static bool selectsBy(const Step &user, const Step &step) {
  if (!isInteger(step) || !hasRandomElements(user.getContent()))
    return false;
  llvm::DenseSet<uint64_t> taken = {0};
  for (const Step *operand : user.operands)
    if (hasRandomElements(operand->getContent()))
      taken.insert(operand->getContent()->elements.begin(),
                   operand->getContent()->elements.end());
  return llvm::all_of(user.getContent()->elements, [&](uint64_t element) {
    return taken.contains(element);
  });
}

bool FaultSearch::isClearedBy(const Step &step,
                              ArrayRef<bool> areUsersCleared) {
  bool areAllCleared = !step.users.empty();
  for (auto [user, isRight] : llvm::zip_equal(step.users, areUsersCleared)) {
    // A constant may be computed from the sizes of a wrong value.
    if (isRight && !recognized.dependsOnInputs(*user->node, user->rank))
      continue;
    // Elements that were taken from elsewhere are known, too, unless they are
    // all of a value, or its summands.
    bool isUserCleared =
        isRight && (!selectsBy(*user, step) ||
                    recognized.isDistributed(*user->node, user->rank));
    areAllCleared &= isUserCleared;
    if (isUserCleared && readsAllElements(user->getOp()))
      return true;
  }
  return areAllCleared;
}

bool FaultSearch::isCleared(const Step *step) {
  if (isCertain(step))
    return true;
  auto known = cleared.find(step);
  if (known != cleared.end())
    return known->second;
  // Users first. Programs are deep: no recursion.
  struct Visit {
    const Step *step;
    SmallVector<bool> users;
  };
  std::vector<Visit> stack = {{step, {}}};
  cleared[step] = false;
  while (!stack.empty()) {
    Visit &visit = stack.back();
    if (visit.users.size() == visit.step->users.size()) {
      cleared[visit.step] = isClearedBy(*visit.step, visit.users);
      stack.pop_back();
      continue;
    }
    const Step *user = visit.step->users[visit.users.size()];
    if (isCertain(user)) {
      visit.users.push_back(true);
      continue;
    }
    auto [ofUser, isNew] = cleared.try_emplace(user, false);
    if (!isNew)
      visit.users.push_back(ofUser->second);
    else
      stack.push_back({user, {}});
  }
  return cleared.lookup(step);
}

const Step *FaultSearch::findSuspect(ArrayRef<SmallVector<Step *>> outputs) {
  llvm::DenseSet<const Step *> onTheWay;
  std::map<const RankValues::Node *, size_t> counts;
  for (const SmallVector<Step *> &output : outputs) {
    llvm::DenseSet<const Step *> seen;
    std::vector<const Step *> work;
    auto visit = [&](const Step *step) {
      if (!isCleared(step) && seen.insert(step).second)
        work.push_back(step);
    };
    for (const Step *step : output)
      visit(step);
    while (!work.empty()) {
      const Step *step = work.back();
      work.pop_back();
      for (const Step *operand : step->operands)
        visit(operand);
    }
    std::set<const RankValues::Node *> nodes;
    for (const Step *step : seen)
      nodes.insert(step->node);
    for (const RankValues::Node *node : nodes)
      ++counts[node];
    onTheWay.insert(seen.begin(), seen.end());
  }
  auto isSuspected = [&](const Step *step) {
    return onTheWay.contains(step) && counts[step->node] == outputs.size();
  };
  suspects.clear();
  wrong.clear();
  for (const SmallVector<Step *> &output : outputs)
    wrong.insert(wrong.end(), output.begin(), output.end());
  for (const Step *step : onTheWay)
    if (isSuspected(step))
      suspects.push_back(step);
  llvm::sort(suspects, [](const Step *a, const Step *b) {
    return std::pair(a->position, a->rank) < std::pair(b->position, b->rank);
  });
  // What a rank computes of its own part of a batch has another scale than the
  // reference's, until it is averaged, and what it computes of padding is no
  // value of the reference: others are suspected first.
  auto isHarmless = [&](const Step &step) {
    return padding.find(step) || parts.find(step) || isOfOwnPart(step);
  };
  const Step *first = nullptr, *ofIntegers = nullptr;
  for (const Step *step : suspects) {
    bool isOther = isHarmless(*step);
    if (!first)
      first = step;
    if (isOther || llvm::any_of(step->operands, [&](const Step *operand) {
          return isSuspected(operand) && !isHarmless(*operand);
        }))
      continue;
    if (!isInteger(*step))
      return step;
    if (!ofIntegers)
      ofIntegers = step;
  }
  return ofIntegers ? ofIntegers : first;
}

const Step *FaultSearch::findFirstMultiple() {
  for (const Step *step : suspects)
    if (recognized.findMultiple(*step->node, step->rank, /*inOrder=*/false))
      return step;
  return nullptr;
}

bool FaultSearch::isOfOwnPart(const Step &step) {
  // The reference computes it alike, of all parts.
  return recognized.isMultiple(*step.node, step.rank) && isComputedAlike(step);
}

bool FaultSearch::isComputedAlike(const Step &step) {
  return llvm::any_of(findExpected(step), [&](size_t expected) {
    Operation *other = relations.getValue(expected).getDefiningOp();
    if (!other || !areOfOneKind(step.getOp(), other) ||
        other->getNumOperands() != step.operands.size())
      return false;
    SmallVector<unsigned, 4> order = getOrder(step, other);
    for (auto [number, operand] : llvm::enumerate(step.operands))
      if (!isOf(*operand, other->getOperand(order[number]), /*scaled=*/true))
        return false;
    return true;
  });
}

SmallVector<unsigned, 4> FaultSearch::getOrder(const Step &step,
                                               Operation *other) {
  SmallVector<unsigned, 4> order(step.operands.size());
  std::iota(order.begin(), order.end(), 0);
  // The operands of sums and products come in any order.
  if (!isCommutative(step.getOp()) || !isCommutative(other))
    return order;
  auto countOf = [&](unsigned first, unsigned second) {
    return isOf(*step.operands[0], other->getOperand(first)) +
           isOf(*step.operands[1], other->getOperand(second));
  };
  if (countOf(1, 0) > countOf(0, 1))
    std::swap(order[0], order[1]);
  return order;
}

const Step *FaultSearch::findOtherReduction(const Step &suspect) {
  if (!isOfOwnPart(suspect))
    return nullptr;
  for (const Step *step : suspects) {
    auto collective =
        dyn_cast_if_present<tp::CollectiveOpInterface>(step->getOp());
    if (collective && collective.getCollectiveReduction() &&
        llvm::all_of(step->operands, [&](const Step *operand) {
          return recognized.get(*operand->node, operand->rank).kind ==
                 RecognizedValues::Kind::Mean;
        }))
      return step;
  }
  return nullptr;
}

std::optional<FaultSearch::Unreduced> FaultSearch::findUnreduced() {
  auto maybeSummand = [&](const Step &operand) {
    const auto &recognition = recognized.get(*operand.node, operand.rank);
    return recognition.kind != RecognizedValues::Kind::Related ||
           recognized.isPartial(*operand.node);
  };
  constexpr size_t mostSteps = 200;
  for (const Step *step : ArrayRef(suspects).take_front(mostSteps)) {
    Operation *op = step->getOp();
    if (!op || onlyMoves(op) || isa<tp::GroupOpInterface>(op) ||
        step->operands.size() != op->getNumOperands())
      continue;
    SmallVector<FieldValue> operands;
    for (const Step *operand : step->operands)
      operands.push_back(operand->getContent());
    for (auto [number, operand] : llvm::enumerate(step->operands))
      for (const std::vector<std::string> &axes : relations.getAxisSets()) {
        if (axes.empty() || !operand->node->dependsOnInputs ||
            !maybeSummand(*operand) ||
            relations.areEqualAlong(operand->node->contents, axes))
          continue;
        SmallVector<FieldValue> reduced = operands;
        reduced[number] = relations.sum(operand->node->contents, axes,
                                        relations.getWorld()[step->rank]);
        if (!reduced[number])
          continue;
        std::vector<FieldValue> results =
            relations.getEvaluation().evaluate(op, reduced);
        unsigned result = cast<OpResult>(step->value).getResultNumber();
        if (result < results.size() && recognized.isBlock(results[result]))
          return Unreduced{step, operand, axes};
      }
  }
  return std::nullopt;
}

const Step *FaultSearch::findReader(const Step &step) {
  llvm::DenseSet<const Step *> moved = {&step};
  bool isExchanged = isa<tp::CollectiveOpInterface>(step.getOp());
  // Suspects are in program order.
  for (const Step *own : suspects) {
    if (!llvm::any_of(own->operands, [&](const Step *operand) {
          return moved.contains(operand);
        }))
      continue;
    if (!onlyMoves(own->getOp()))
      return isExchanged ? own : nullptr;
    moved.insert(own);
    isExchanged |= isa<tp::CollectiveOpInterface>(own->getOp());
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Counterparts
//===----------------------------------------------------------------------===//

std::vector<size_t> FaultSearch::findExpected(const Step &step) {
  std::vector<size_t> expected;
  Operation *op = step.getOp();
  if (!op)
    return expected;
  auto addValue = [&](size_t index) {
    if (!llvm::is_contained(expected, index))
      expected.push_back(index);
  };
  // Ops of the reference of this kind, by how many operands they share.
  std::map<Operation *, size_t> shared;
  // Ops that compute another function of them.
  std::map<Operation *, size_t> others;
  for (const Step *operand : step.operands) {
    std::vector<size_t> owners =
        recognized.getOwners(*operand->node, operand->rank);
    if (onlyMoves(op) || isa<tp::CollectiveOpInterface>(op)) {
      llvm::for_each(owners, addValue);
      continue;
    }
    // All values of the reference with these elements, also rearranged.
    std::set<Operation *> users, otherUsers;
    std::vector<size_t> work;
    std::set<size_t> seen;
    auto visit = [&](size_t value) {
      for (size_t equal : relations.findEqual(relations.getContent(value)))
        if (seen.insert(equal).second)
          work.push_back(equal);
    };
    llvm::for_each(owners, visit);
    while (!work.empty()) {
      Value value = relations.getValue(work.back());
      work.pop_back();
      for (Operation *user : value.getUsers()) {
        if (areOfOneKind(user, op))
          users.insert(user);
        else if (user->getName() == op->getName())
          otherUsers.insert(user);
        if (isa<tp::ReindexOpInterface>(user))
          visit(relations.getIndex(user->getResult(0)));
      }
    }
    for (Operation *user : users)
      ++shared[user];
    for (Operation *user : otherUsers)
      ++others[user];
  }
  std::vector<std::pair<size_t, Operation *>> best;
  for (auto [user, count] : shared)
    best.emplace_back(count, user);
  if (best.empty())
    for (auto [user, count] : others)
      if (!recognized.isHeld(relations.getIndex(user->getResult(0))))
        best.emplace_back(count, user);
  // An operand that is another value says nothing, but this may be the only op
  // of its kind that is missing.
  if (best.empty() && !isa<tp::GroupOpInterface>(op) && !onlyMoves(op)) {
    for (size_t index = 0; index < relations.getCount(); ++index)
      if (Operation *other = relations.getValue(index).getDefiningOp();
          other && areOfOneKind(other, op) && !recognized.isHeld(index) &&
          mayBeShard(relations.getValue(index).getType(), step.value.getType()))
        best.emplace_back(0, other);
    if (best.size() > 1)
      best.clear();
  }
  unsigned number = cast<OpResult>(step.value).getResultNumber();
  // A value that ranks already hold is less likely to be meant.
  llvm::sort(best, [&](const auto &a, const auto &b) {
    bool isA = recognized.isHeld(relations.getIndex(a.second->getResult(0))),
         isB = recognized.isHeld(relations.getIndex(b.second->getResult(0)));
    if (isA != isB)
      return isB;
    if (a.first != b.first)
      return a.first > b.first;
    return a.second->isBeforeInBlock(b.second);
  });
  for (auto [count, user] : best)
    if (number < user->getNumResults())
      addValue(relations.getIndex(user->getResult(number)));
  return expected;
}

bool FaultSearch::isOf(const Step &step, Value reference, bool scaled) {
  FieldValue whole = relations.getEvaluation().get(reference);
  return relations.findTo(whole, step.node->contents) ||
         recognized.areElementsOf(step.getContent(),
                                  relations.getIndex(reference), scaled);
}

bool FaultSearch::isUsedRightly(const Step *step, const Step *reader,
                                const llvm::DenseSet<const Step *> &right) {
  if (right.contains(step))
    return true;
  std::vector<const Step *> work = {step};
  std::set<const Step *> seen = {step, reader};
  while (!work.empty()) {
    const Step *own = work.back();
    work.pop_back();
    for (const Step *user : own->users) {
      if (!seen.insert(user).second)
        continue;
      if (onlyMoves(user->getOp()) ||
          relations.areEqual(user->getContent(), step->getContent()))
        work.push_back(user);
      else if (isCleared(user))
        return true;
    }
  }
  return false;
}

FaultSearch::Fault FaultSearch::trace(const Step *step, size_t expected) {
  Fault fault = {step, expected};
  Value reference = relations.getValue(expected);
  std::set<const Step *> seen;
  // What operands that are as expected are moved from.
  llvm::DenseSet<const Step *> right;
  auto noteRight = [&](const Step *own) {
    std::vector<const Step *> work = {own};
    while (!work.empty()) {
      own = work.back();
      work.pop_back();
      if (right.insert(own).second && onlyMoves(own->getOp()))
        work.insert(work.end(), own->operands.begin(), own->operands.end());
    }
  };
  while (seen.insert(step).second) {
    Operation *own = step->getOp(), *other = reference.getDefiningOp();
    if (!own || !other)
      return fault;
    const Step *next = nullptr;
    Value nextReference;
    bool passesOn = onlyMoves(own) || isa<tp::CollectiveOpInterface>(own);
    if (isa<tp::ReindexOpInterface>(other) &&
        (passesOn || !areOfOneKind(own, other))) {
      // Where the elements come from is what matters.
      reference = other->getOperand(0);
      seen.erase(step);
      continue;
    }
    if (!passesOn && (!areOfOneKind(own, other) ||
                      own->getNumOperands() != other->getNumOperands() ||
                      step->operands.size() != own->getNumOperands()))
      return fault;
    SmallVector<unsigned, 4> order;
    if (!passesOn)
      order = getOrder(*step, other);
    auto getReference = [&](size_t number) {
      return passesOn ? reference : other->getOperand(order[number]);
    };
    // An operand of another scale follows from that of another operand.
    for (bool scaled : {true, false})
      for (auto [number, operand] : llvm::enumerate(step->operands)) {
        if (next || isOf(*operand, getReference(number), scaled))
          continue;
        next = operand;
        nextReference = getReference(number);
      }
    if (!passesOn)
      for (auto [number, operand] : llvm::enumerate(step->operands))
        if (isOf(*operand, getReference(number)))
          noteRight(operand);
    // Or they are the right elements, in another order.
    for (auto [number, operand] : llvm::enumerate(step->operands))
      if (!next && !isCleared(operand)) {
        next = operand;
        nextReference = getReference(number);
      }
    fault = {step, relations.getIndex(reference)};
    if (next)
      reference = nextReference;
    if (!next || !next->getOp() || isUsedRightly(next, step, right))
      return fault;
    step = next;
    fault = {step, relations.getIndex(reference)};
  }
  return fault;
}
