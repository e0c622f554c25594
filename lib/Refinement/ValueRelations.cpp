//===- ValueRelations.cpp - values looked up in the reference -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ValueRelations.h"

#include <map>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldAlgebra;
using equivalence::share;

static constexpr StringLiteral wholeName = "output";

ValueRelations::ValueRelations(equivalence::SampledEvaluation &evaluation,
                               const Mesh &mesh, ArrayRef<int64_t> world)
    : evaluation(evaluation), mesh(mesh), world(world) {}

void ValueRelations::add(Value value) {
  FieldValue content = evaluation.get(value);
  if (!content)
    return;
  wholes[equivalence::getContentHash(content)].push_back(values.size());
  indexOf[value] = values.size();
  values.push_back({value, content});
}

bool ValueRelations::areEqual(const FieldValue &a, const FieldValue &b) {
  if (!a || !b || a->getSizes() != b->getSizes() ||
      a->getElementType() != b->getElementType())
    return a == b;
  if (a == b ||
      equivalence::getContentHash(a) == equivalence::getContentHash(b))
    return true;
  FieldAlgebra algebra = evaluation.getAlgebra();
  auto both = algebra.align(a, b);
  evaluation.clearProblem();
  return both && both->first->elements == both->second->elements;
}

FieldValue ValueRelations::evaluate(const Relation &relation,
                                    const FieldValue &whole, int64_t rank) {
  FieldAlgebra algebra = evaluation.getAlgebra();
  switch (relation.kind) {
  case Relation::Kind::Name:
    return whole;
  case Relation::Kind::Partial:
    return evaluate(relation.operands[0], whole, rank);
  case Relation::Kind::Shard: {
    FieldValue operand = evaluate(relation.operands[0], whole, rank);
    llvm::Expected<std::string> axis = mesh.resolve(relation.axis);
    if (!axis) {
      llvm::consumeError(axis.takeError());
      return nullptr;
    }
    const std::vector<int64_t> *members = mesh.getMembers(*axis, rank);
    if (!operand || !members || relation.dim < 0 ||
        relation.dim >= operand->getRank())
      return nullptr;
    auto [start, end] =
        getBlock(*members, rank, operand->getSizes()[relation.dim]);
    FieldValue block =
        share(algebra.slice(operand, relation.dim, start, 1, end - start));
    return evaluation.clearProblem() ? nullptr : block;
  }
  default:
    return move(relation, whole, rank);
  }
}

FieldValue ValueRelations::move(const Relation &relation,
                                const FieldValue &whole, int64_t rank) {
  SmallVector<FieldValue> operands;
  for (const Relation &operand : relation.operands) {
    operands.push_back(evaluate(operand, whole, rank));
    if (!operands.back() ||
        operands.back()->getRank() != operands.front()->getRank())
      return nullptr;
  }
  if (operands.empty())
    return nullptr;
  const FieldValue &first = operands.front();
  int64_t dims = first->getRank();
  int64_t dim = relation.dim < 0 ? relation.dim + dims : relation.dim;
  bool hasDim = dim >= 0 && dim < dims;
  FieldAlgebra algebra = evaluation.getAlgebra();
  auto slice = [&](int64_t start, int64_t end) -> tp::AlgebraValue {
    if (!hasDim || start < 0 || end < start || end > first->getSizes()[dim])
      return nullptr;
    return algebra.slice(first, dim, start, 1, end - start);
  };
  auto getResult = [&]() -> tp::AlgebraValue {
    ArrayRef<int64_t> numbers = relation.numbers;
    switch (relation.kind) {
    case Relation::Kind::Concat:
      for (const FieldValue &other : operands)
        for (int64_t own = 0; own < dims; ++own)
          if (!hasDim ||
              (own != dim && other->getSizes()[own] != first->getSizes()[own]))
            return nullptr;
      return algebra.concat(llvm::to_vector_of<tp::AlgebraValue>(operands),
                            dim);
    case Relation::Kind::Permute: {
      SmallVector<int64_t> sorted(numbers);
      llvm::sort(sorted);
      if (sorted != llvm::to_vector(llvm::seq<int64_t>(0, dims)))
        return nullptr;
      return algebra.permute(first, numbers);
    }
    case Relation::Kind::Reshape: {
      int64_t count = 1;
      for (int64_t size : numbers)
        if (size < 0 || llvm::MulOverflow(count, size, count))
          return nullptr;
      return count == llvm::product_of(first->getSizes())
                 ? algebra.reshape(first, numbers)
                 : nullptr;
    }
    case Relation::Kind::Slice:
      return slice(numbers[0], numbers[1]);
    case Relation::Kind::Split: {
      if (relation.index < 0 ||
          relation.index >= static_cast<int64_t>(numbers.size()))
        return nullptr;
      int64_t start = 0;
      for (int64_t size : numbers.take_front(relation.index))
        start += size;
      return slice(start, start + numbers[relation.index]);
    }
    default:
      return nullptr;
    }
  };
  tp::AlgebraValue result = getResult();
  return evaluation.clearProblem() || !result ? nullptr : share(result);
}

FieldValue ValueRelations::sum(ArrayRef<FieldValue> contents,
                               ArrayRef<std::string> axes, int64_t rank) {
  FieldAlgebra algebra = evaluation.getAlgebra();
  FieldValue total;
  for (int64_t member : mesh.getMembersAlong(axes, rank)) {
    auto place = llvm::find(world, member);
    if (place == world.end())
      return nullptr;
    const FieldValue &own = contents[place - world.begin()];
    if (!own || !own->isField() || own->isTruth())
      return nullptr;
    if (total && total->getSizes() != own->getSizes())
      return nullptr;
    total = total ? share(algebra.map(tp::MapFunction::Add, {total, own},
                                      own->getElementType()))
                  : own;
    if (evaluation.clearProblem())
      return nullptr;
  }
  return total ? equivalence::collapse(total) : nullptr;
}

std::vector<FieldValue> ValueRelations::sumAll(ArrayRef<FieldValue> contents,
                                               ArrayRef<std::string> axes) {
  if (axes.empty())
    return contents;
  std::vector<FieldValue> sums(contents.size());
  // Equal summands are a whole that is divided by the number of ranks.
  if (areEqualAlong(contents, axes))
    return sums;
  // Members of one group have one sum.
  std::map<std::vector<int64_t>, FieldValue> known;
  for (auto [rank, own, total] : llvm::zip_equal(world, contents, sums)) {
    if (!own)
      continue;
    std::vector<int64_t> members = mesh.getMembersAlong(axes, rank);
    llvm::sort(members);
    auto [place, isNew] = known.try_emplace(std::move(members));
    if (isNew)
      place->second = sum(contents, axes, rank);
    total = place->second;
  }
  return sums;
}

std::vector<std::vector<std::string>> ValueRelations::getAxisSets() const {
  std::vector<std::string> names;
  for (const auto &[name, groups] : mesh.getAxes())
    if (groups.front().size() > 1)
      names.push_back(name);
  std::vector<std::vector<std::string>> sets = {{}};
  for (const std::string &name : names)
    sets.push_back({name});
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = i + 1; j < names.size(); ++j)
      sets.push_back({names[i], names[j]});
  return sets;
}

bool ValueRelations::holds(const Relation &relation, const FieldValue &whole,
                           ArrayRef<FieldValue> contents) {
  bool any = false;
  for (auto [rank, content] : llvm::zip_equal(world, contents)) {
    if (!content)
      continue;
    any = true;
    if (!areEqual(evaluate(relation, whole, rank), content))
      return false;
  }
  return any;
}

/// Returns the rank of the first tensor.
static std::optional<size_t> findFirst(ArrayRef<FieldValue> contents) {
  for (auto [index, content] : llvm::enumerate(contents))
    if (content)
      return index;
  return std::nullopt;
}

static Relation addPartial(Relation relation, ArrayRef<std::string> axes) {
  for (const std::string &axis : axes)
    relation = Relation::makePartial(std::move(relation), axis);
  return relation;
}

std::optional<Relation> ValueRelations::findTo(const FieldValue &whole,
                                               ArrayRef<FieldValue> contents) {
  std::optional<size_t> first = findFirst(contents);
  if (!first || !whole)
    return std::nullopt;
  std::vector<Relation> candidates =
      findShardings(mesh, whole->getSizes(), contents[*first]->getSizes(),
                    world[*first], wholeName);
  for (const std::vector<std::string> &axes : getAxisSets()) {
    std::vector<FieldValue> sums = sumAll(contents, axes);
    if (!sums[*first])
      continue;
    for (const Relation &candidate : candidates)
      if (holds(candidate, whole, sums))
        return addPartial(candidate, axes);
  }
  return std::nullopt;
}

std::optional<Rearrangement>
ValueRelations::findRearranged(const FieldValue &whole,
                               ArrayRef<FieldValue> contents,
                               ArrayRef<Relation> inputs) {
  std::optional<size_t> first = findFirst(contents);
  if (!first || !whole)
    return std::nullopt;
  for (Rearrangement &candidate :
       findRearrangements(mesh, whole->getSizes(), contents[*first]->getSizes(),
                          world[*first], inputs))
    if (holds(candidate.relation, whole, contents))
      return std::move(candidate);
  return std::nullopt;
}

void ValueRelations::indexBlocks(size_t index) {
  const FieldValue &content = values[index].content;
  int64_t rank = world.front();
  auto note = [&](const Relation &relation) -> FieldValue {
    FieldValue block = evaluate(relation, content, rank);
    if (block)
      blocks[equivalence::getContentHash(block)].push_back({index, relation});
    return block;
  };
  Relation whole = Relation::makeName(wholeName);
  auto visit = [&](auto &self, const Relation &relation, const FieldValue &of,
                   ArrayRef<StringRef> used) -> void {
    constexpr size_t mostAxes = 2;
    if (!of || used.size() == mostAxes)
      return;
    for (const auto &[axis, groups] : mesh.getAxes()) {
      const std::vector<int64_t> *members = mesh.getMembers(axis, rank);
      if (!members || members->size() < 2 || llvm::is_contained(used, axis))
        continue;
      SmallVector<StringRef> more(used);
      more.push_back(axis);
      for (int64_t dim = 0; dim < of->getRank(); ++dim) {
        if (of->getSizes()[dim] < 2)
          continue;
        Relation shard = Relation::makeShard(relation, dim, axis);
        self(self, shard, note(shard), more);
      }
    }
  };
  visit(visit, whole, content, {});
}

ArrayRef<size_t> ValueRelations::findEqual(const FieldValue &content) {
  auto known = wholes.find(equivalence::getContentHash(content));
  return known == wholes.end() ? ArrayRef<size_t>() : ArrayRef(known->second);
}

bool ValueRelations::areEqualAlong(ArrayRef<FieldValue> contents,
                                   ArrayRef<std::string> axes) {
  for (auto [rank, content] : llvm::zip_equal(world, contents)) {
    if (!content)
      continue;
    for (const std::string &axis : axes)
      if (const std::vector<int64_t> *members = mesh.getMembers(axis, rank)) {
        auto place = llvm::find(world, members->front());
        if (place != world.end() &&
            !areEqual(content, contents[place - world.begin()]))
          return false;
      }
  }
  return true;
}

std::optional<FoundRelation>
ValueRelations::find(ArrayRef<FieldValue> contents) {
  std::optional<size_t> first = findFirst(contents);
  if (!first)
    return std::nullopt;
  for (; numIndexed < values.size(); ++numIndexed)
    indexBlocks(numIndexed);
  for (const std::vector<std::string> &axes : getAxisSets()) {
    std::vector<FieldValue> sums = sumAll(contents, axes);
    if (!sums[*first])
      continue;
    for (size_t value : findEqual(sums[*first])) {
      Relation relation = Relation::makeName(wholeName);
      if (holds(relation, values[value].content, sums))
        return FoundRelation{value, addPartial(relation, axes)};
    }
    // Blocks are indexed as the first rank holds them.
    if (*first != 0)
      continue;
    auto known = blocks.find(equivalence::getContentHash(sums[*first]));
    if (known == blocks.end())
      continue;
    for (const Block &block : known->second)
      if (holds(block.relation, values[block.value].content, sums))
        return FoundRelation{block.value, addPartial(block.relation, axes)};
  }
  return std::nullopt;
}

std::vector<std::pair<int64_t, std::string>> ValueRelations::getCounts() const {
  std::vector<std::pair<int64_t, std::string>> counts;
  int64_t all = 1;
  for (const auto &[name, groups] : mesh.getAxes()) {
    auto size = static_cast<int64_t>(groups.front().size());
    all *= size;
    if (size > 1)
      counts.emplace_back(size, name);
  }
  if (counts.size() > 1)
    counts.emplace_back(all, "all axes");
  return counts;
}

FieldValue ValueRelations::scale(const FieldValue &value, int64_t numerator,
                                 int64_t denominator) {
  if (!value || !value->isField() || value->isTruth())
    return nullptr;
  FieldAlgebra algebra = evaluation.getAlgebra();
  Type type = value->getElementType();
  tp::AlgebraValue result = value;
  if (numerator != 1)
    result = algebra.map(
        tp::MapFunction::Mul,
        {result, algebra.scalar(static_cast<double>(numerator), type)}, type);
  if (denominator != 1)
    result = algebra.map(
        tp::MapFunction::Div,
        {result, algebra.scalar(static_cast<double>(denominator), type)}, type);
  return evaluation.clearProblem() ? nullptr : share(result);
}
