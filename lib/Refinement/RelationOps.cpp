//===- RelationOps.cpp - relations as ops ---------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RelationOps.h"

#include "commute/Support/Quoted.h"

#include <algorithm>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

static std::string getShapeText(Value value) {
  std::string text;
  llvm::raw_string_ostream(text) << value.getType();
  return text;
}

llvm::Expected<unsigned> RelationOps::getDim(const Relation &relation,
                                             Value operand) const {
  int64_t rank = tp::getTensor(operand).getRank();
  int64_t dim = relation.dim < 0 ? relation.dim + rank : relation.dim;
  if (dim < 0 || dim >= rank)
    return llvm::createStringError(quoted(relation.getText()) +
                                   ": there is no "
                                   "dim " +
                                   Twine(relation.dim) + " in " +
                                   getShapeText(operand));
  return dim;
}

llvm::Expected<std::pair<std::string, const std::vector<int64_t> *>>
RelationOps::findMembers(const Relation &relation, int64_t rank) const {
  llvm::Expected<std::string> axis = mesh.resolve(relation.axis);
  if (!axis)
    return llvm::createStringError(quoted(relation.getText()) + ": " +
                                   llvm::toString(axis.takeError()));
  const std::vector<int64_t> *members = mesh.getMembers(*axis, rank);
  if (!members)
    return llvm::createStringError(quoted(relation.getText()) + ": rank " +
                                   Twine(rank) + " is not on axis " +
                                   quoted(*axis));
  return std::pair(*axis, members);
}

llvm::Expected<Value> RelationOps::buildShard(const Relation &relation,
                                              Value operand, int64_t rank) {
  llvm::Expected<unsigned> dim = getDim(relation, operand);
  if (!dim)
    return dim.takeError();
  auto found = findMembers(relation, rank);
  if (!found)
    return found.takeError();
  auto [start, end] =
      getBlock(*found->second, rank, tp::getTensor(operand).getDimSize(*dim));
  return ops.slice(operand, *dim, start, 1, end - start);
}

llvm::Expected<Value> RelationOps::buildPartial(const Relation &relation,
                                                Value operand, int64_t rank) {
  auto found = findMembers(relation, rank);
  if (!found)
    return found.takeError();
  const auto &[axis, members] = *found;
  std::string text = relation.operands[0].getText();
  size_t last = members->size() - 1;
  auto getSummand = [&, &axis = axis](size_t position) {
    Value &summand = summands[{text, axis, position}];
    if (!summand)
      summand = ops.addInput("summand " + std::to_string(position) + " of " +
                                 text + " on " + axis,
                             operand.getType());
    return summand;
  };
  size_t position = llvm::find(*members, rank) - members->begin();
  if (position < last)
    return getSummand(position);
  Value rest = operand;
  for (size_t other = 0; other < last; ++other)
    rest = ops.map(tp::MapFunction::Sub, {rest, getSummand(other)},
                   tp::getElementType(operand));
  return rest;
}

llvm::Expected<Value> RelationOps::build(const Relation &relation, int64_t rank,
                                         Type elementType) {
  using Kind = Relation::Kind;
  auto fail = [&](const Twine &what) {
    return llvm::createStringError(quoted(relation.getText()) + ": " + what);
  };
  if (relation.kind == Kind::Name) {
    if (Value value = lookup(relation.name))
      return value;
    return llvm::createStringError("the reference has no input " +
                                   quoted(relation.name));
  }
  // A product of sizes that fits 64 bits, so that hostile sizes overflow
  // nothing.
  auto countElements = [](ArrayRef<int64_t> sizes) -> std::optional<int64_t> {
    int64_t count = 1;
    for (int64_t size : sizes)
      if (size < 0 || llvm::MulOverflow(count, size, count))
        return std::nullopt;
    return count;
  };
  if (relation.kind == Kind::Zeros) {
    if (!countElements(relation.numbers))
      return fail("these are no sizes");
    if (!elementType)
      return fail("the element type is not known here");
    TypedAttr zero;
    if (isa<FloatType>(elementType))
      zero = FloatAttr::get(Float64Type::get(ops.getContext()), 0.0);
    else if (elementType.isInteger(1))
      zero = BoolAttr::get(ops.getContext(), false);
    else
      zero = IntegerAttr::get(IntegerType::get(ops.getContext(), 64), 0);
    return ops.constant(zero, relation.numbers, elementType);
  }
  SmallVector<Value> operands;
  for (const Relation &operand : relation.operands) {
    llvm::Expected<Value> value = build(operand, rank, elementType);
    if (!value)
      return value;
    if (!isa<RankedTensorType>(value->getType()))
      return fail("the operand is no tensor");
    operands.push_back(*value);
  }
  Value first = operands.front();
  RankedTensorType type = tp::getTensor(first);
  switch (relation.kind) {
  case Kind::Name:
  case Kind::Zeros:
    llvm_unreachable("handled above");
  case Kind::Shard:
    return buildShard(relation, first, rank);
  case Kind::Partial:
    return ignoresPartial ? first : buildPartial(relation, first, rank);
  case Kind::Concat: {
    llvm::Expected<unsigned> dim = getDim(relation, first);
    if (!dim)
      return dim.takeError();
    for (Value operand : operands) {
      RankedTensorType other = tp::getTensor(operand);
      bool fits = other.getRank() == type.getRank() &&
                  other.getElementType() == type.getElementType();
      for (unsigned own = 0; fits && own < type.getRank(); ++own)
        fits = own == *dim || other.getDimSize(own) == type.getDimSize(own);
      if (!fits)
        return fail("cannot concatenate " + getShapeText(first) + " and " +
                    getShapeText(operand));
    }
    return ops.concat(operands, *dim);
  }
  case Kind::Permute: {
    SmallVector<int64_t> sorted(relation.numbers.begin(),
                                relation.numbers.end());
    llvm::sort(sorted);
    bool fits = static_cast<int64_t>(sorted.size()) == type.getRank();
    for (size_t dim = 0; fits && dim < sorted.size(); ++dim)
      fits = sorted[dim] == static_cast<int64_t>(dim);
    if (!fits)
      return fail("this is no permutation of the dims of " +
                  getShapeText(first));
    return ops.permute(first, relation.numbers);
  }
  case Kind::Reshape: {
    SmallVector<int64_t> sizes(relation.numbers.begin(),
                               relation.numbers.end());
    // One size may be inferred.
    auto inferred = llvm::find(sizes, -1);
    if (inferred != sizes.end()) {
      int64_t rest = 1;
      for (int64_t size : sizes)
        if (size != -1 && (size <= 0 || llvm::MulOverflow(rest, size, rest)))
          return fail("these are no sizes");
      *inferred = type.getNumElements() / rest;
    }
    std::optional<int64_t> count = countElements(sizes);
    if (!count)
      return fail("these are no sizes");
    if (*count != type.getNumElements())
      return fail("cannot reshape " + getShapeText(first));
    return ops.reshape(first, sizes);
  }
  case Kind::Slice: {
    llvm::Expected<unsigned> dim = getDim(relation, first);
    if (!dim)
      return dim.takeError();
    int64_t start = relation.numbers[0], end = relation.numbers[1];
    if (start < 0 || end < start || end > type.getDimSize(*dim))
      return fail("the range is outside of dim " + Twine(*dim) + " of " +
                  getShapeText(first));
    return ops.slice(first, *dim, start, 1, end - start);
  }
  case Kind::Split: {
    llvm::Expected<unsigned> dim = getDim(relation, first);
    if (!dim)
      return dim.takeError();
    int64_t start = 0, total = 0, count = relation.numbers.size();
    if (relation.index < 0 || relation.index >= count)
      return fail("there is no part " + Twine(relation.index));
    for (auto [part, size] : llvm::enumerate(relation.numbers)) {
      if (size < 0 || llvm::AddOverflow(total, size, total))
        return fail("these are no sizes");
      if (static_cast<int64_t>(part) < relation.index)
        start = total;
    }
    if (total != type.getDimSize(*dim))
      return fail("the parts add up to " + Twine(total) + ", but dim " +
                  Twine(*dim) + " has size " + Twine(type.getDimSize(*dim)));
    return ops.slice(first, *dim, start, 1, relation.numbers[relation.index]);
  }
  }
  llvm_unreachable("a kind that is not listed");
}
