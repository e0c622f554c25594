//===- PartialProducts.cpp - products in segments ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Products/PartialProducts.h"

#include "commute/Analysis/Collectives/ReindexedCollectives.h"
#include "commute/Analysis/OtherRanks.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::DimensionRule;
using tp::getElementType;
using tp::getTensor;

//===----------------------------------------------------------------------===//
// Facts about parts
//===----------------------------------------------------------------------===//

/// The common value of all elements of a tensor when `reader` reads it; null if
/// there is none.
static TypedAttr findFill(Value value, Operation *reader,
                          const WriteOrder &order) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<tp::ConstantOp>(op))
      return isa<FloatAttr, IntegerAttr>(constant.getValue()) &&
                     !order.isWriteBetween(op, reader)
                 ? constant.getValue()
                 : TypedAttr();
    if (!keepsElementsOfOperand(op))
      return TypedAttr();
    value = op->getOperand(0);
  }
  return TypedAttr();
}

/// The value that is repeated along leading dims; null if there is none.
static Value findRepeated(Value value) {
  auto broadcast = value.getDefiningOp<tp::BroadcastOp>();
  if (!broadcast)
    return Value();
  Value input = broadcast.getInput();
  RankedTensorType type = getTensor(input);
  // The broadcast must keep the columns.
  bool keepsColumns =
      type.getRank() > 0 && !type.isDynamicDim(type.getRank() - 1) &&
      type.getShape().back() == getTensor(value).getShape().back();
  return keepsColumns ? input : Value();
}

static void describe(SegmentOperand &operand, Operation *reader,
                     const WriteOrder &order) {
  if (llvm::all_of(operand.steps, [](const DimStep &step) {
        return keepsElementsOfOperand(step.op);
      }))
    operand.fill = findFill(operand.base, reader, order);
  if (!operand.isSliced)
    operand.repeated = findRepeated(operand.base);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {

/// An operand that runs along the factor.
struct CutOperand {
  unsigned number;
  unsigned dim;
  std::optional<DimParts> parts;
  /// The part that the current segment is in, and where it begins.
  unsigned part = 0;
  SizePolynomial partBegin = {};
};

class SegmentSearch {
public:
  SegmentSearch(tp::MatmulOp product, unsigned factor, ProductContext &context)
      : product(product), context(context), rule(product.getDimensionRule()) {
    result.product = product;
    result.factor = factor;
    result.contracts = rule.factors[factor].kind == tp::Factor::Kind::Reduction;
  }

  Legal<PartialProducts> run();

private:
  Legal<> findOperands();
  /// Segments at the borders of the first `numParted` operands with parts.
  Legal<> findSegments(unsigned numParted);
  /// Adds the operand of a segment. Refuses if it cannot be sliced.
  Legal<> addOperand(CutOperand &operand, const SizePolynomial &begin,
                     const SizePolynomial &end, bool usesParts,
                     ProductSegment &segment);
  /// Cuts a range out of an operand.
  static Legal<> cut(SegmentOperand &operand, const SizePolynomial &start,
                     const SizePolynomial &size);
  SizePolynomial getPartSize(const DimParts &parts, unsigned index) {
    return SizePolynomial::get(context.getSizes(parts.parts[index])[parts.dim]);
  }
  void chooseShards();

  tp::MatmulOp product;
  ProductContext &context;
  DimensionRule rule;
  std::vector<CutOperand> cutOperands;
  PartialProducts result;
  /// Why the shards of a gathered part are not multiplied on their own ranks.
  Refusal shardRefusal;
};

} // namespace

/// Whether the node that joins parts converts this one first.
static bool isPromoted(Value part, Operation *source) {
  auto cast = part.getDefiningOp<tp::CastOp>();
  return cast && cast.getLoc() == source->getLoc() &&
         getElementType(cast.getInput()) != getElementType(part);
}

Legal<> SegmentSearch::findOperands() {
  if (product.getLhsScale() || product.getRhsScale())
    return Refusal{product, RefusalCode::Scaled,
                   "its scales apply to whole operands"};
  Type element = getElementType(product.getResult());
  if (result.contracts &&
      llvm::any_of(product->getOperands(), [&](Value operand) {
        return getElementType(operand) != element;
      }))
    return Refusal{product, RefusalCode::ElementTypes,
                   "its operands and result have different element types"};
  for (auto [number, factors] : llvm::enumerate(rule.operands)) {
    for (unsigned dim = 0; dim < factors.size(); ++dim) {
      if (!llvm::is_contained(factors[dim], result.factor))
        continue;
      if (factors[dim].size() != 1)
        return Refusal{product, RefusalCode::MinorDim,
                       "the dim is merged with another one"};
      CutOperand operand{unsigned(number), dim,
                         findDimParts(product->getOperand(number), dim)};
      if (operand.parts) {
        Operation *source = operand.parts->source;
        Type joined = getElementType(source->getResult(0));
        for (Value part : operand.parts->parts)
          if (getElementType(part) != joined || isPromoted(part, source))
            return Refusal{product, RefusalCode::ElementTypes,
                           getNodeName(source) +
                               " promotes parts of different element types"};
        if (context.getWriteOrder().isWriteBetween(source, product))
          return Refusal{product, RefusalCode::MemoryWrite,
                         "an op between " + getNodeName(source) +
                             " and this product may overwrite a part"};
      }
      cutOperands.push_back(std::move(operand));
    }
  }
  return {};
}

Legal<> SegmentSearch::cut(SegmentOperand &operand, const SizePolynomial &start,
                           const SizePolynomial &size) {
  operand.isSliced = true;
  if (std::optional<int64_t> number = start.getConstant()) {
    operand.start = *number;
    return {};
  }
  if (std::optional<int64_t> blocks = start.divideExactly(size).getConstant()) {
    operand.start = *blocks;
    operand.countsBlocks = true;
    return {};
  }
  return Refusal{nullptr, RefusalCode::SymbolicSize,
                 "a part starts at a symbolic position, at which the other "
                 "operand cannot be sliced"};
}

Legal<> SegmentSearch::addOperand(CutOperand &operand,
                                  const SizePolynomial &begin,
                                  const SizePolynomial &end, bool usesParts,
                                  ProductSegment &segment) {
  SegmentOperand &found = segment.operands[operand.number].emplace();
  SizePolynomial size = end - begin;
  if (!usesParts) {
    found.base = product->getOperand(operand.number);
    found.dim = operand.dim;
    SizePolynomial whole =
        SizePolynomial::get(context.getSizes(found.base)[found.dim]);
    return size == whole ? Legal<>() : cut(found, begin, size);
  }
  // Borders are those of parts, or finer, and segments come in order.
  const DimParts &parts = *operand.parts;
  SizePolynomial partSize = getPartSize(parts, operand.part);
  while (operand.partBegin + partSize == begin) {
    operand.partBegin = begin;
    partSize = getPartSize(parts, ++operand.part);
  }
  found.base = parts.parts[operand.part];
  found.dim = parts.dim;
  found.steps = parts.steps;
  if (size != partSize)
    return cut(found, begin - operand.partBegin, size);
  // The shard may have been overwritten since it was gathered.
  found.gather = findGatherAlong(found.base, found.dim);
  if (found.gather &&
      context.getWriteOrder().isWriteBetween(found.gather, product))
    found.gather = {};
  return {};
}

Legal<> SegmentSearch::findSegments(unsigned numParted) {
  result.segments.clear();
  for (CutOperand &operand : cutOperands) {
    operand.part = 0;
    operand.partBegin = {};
  }
  // All borders, in order: each list ascends, so that the next one is the
  // smallest of their heads.
  SmallVector<SmallVector<SizePolynomial>> borders;
  for (const CutOperand &operand : cutOperands) {
    if (!operand.parts || borders.size() == numParted)
      continue;
    SmallVector<SizePolynomial> &list = borders.emplace_back();
    SizePolynomial end;
    for (unsigned index = 0; index < operand.parts->parts.size(); ++index)
      list.push_back(end += getPartSize(*operand.parts, index));
  }
  SmallVector<size_t> heads(borders.size(), 0);
  SizePolynomial begin;
  while (heads.front() < borders.front().size()) {
    SizePolynomial end = borders.front()[heads.front()];
    for (auto [list, head] : llvm::zip_equal(borders, heads)) {
      if (head == list.size() || !list[head].isKnown())
        return Refusal{product, RefusalCode::SymbolicSize,
                       "the sizes of the parts are unknown"};
      if ((end - list[head]).isNonNegative())
        end = list[head];
      else if (!(list[head] - end).isNonNegative())
        return Refusal{product, RefusalCode::SymbolicSize,
                       "the part borders of its operands cannot be compared"};
    }
    for (auto [list, head] : llvm::zip_equal(borders, heads))
      if (list[head] == end)
        ++head;
    if (end == begin)
      continue;
    ProductSegment segment;
    segment.operands.resize(product->getNumOperands());
    segment.size = (end - begin).getSize();
    unsigned parted = 0;
    for (CutOperand &operand : cutOperands) {
      bool usesParts = operand.parts && parted < numParted;
      parted += usesParts;
      if (Legal<> added = addOperand(operand, begin, end, usesParts, segment);
          !added)
        return added;
    }
    for (std::optional<SegmentOperand> &operand : segment.operands)
      if (operand)
        describe(*operand, product, context.getWriteOrder());
    // The product of two constants depends only on the length of the segment,
    // so the equivalence proof, which reduces sizes, could not follow it.
    auto isFilled = [&](unsigned number) {
      const std::optional<SegmentOperand> &operand = segment.operands[number];
      return bool(operand ? operand->fill
                          : findFill(product->getOperand(number), product,
                                     context.getWriteOrder()));
    };
    if (isFilled(0) && isFilled(1))
      return Refusal{product, RefusalCode::Constant,
                     "both operands are constant on one of the parts"};
    result.segments.push_back(std::move(segment));
    begin = end;
  }
  return {};
}

void SegmentSearch::chooseShards() {
  for (ProductSegment &segment : result.segments) {
    SegmentOperand &lhs = *segment.operands[0], &rhs = *segment.operands[1];
    tp::AllGatherOp gather = lhs.gather ? lhs.gather : rhs.gather;
    if (!gather)
      continue;
    tp::GroupAttr group = gather.getGroup();
    if (areOtherRanksUnknown(product)) {
      shardRefusal = refuseForUnknownRanks(
          product, "the shards of " + getNodeName(gather) +
                       " could be multiplied without gathering them if all "
                       "ranks did so");
      continue;
    }
    if (lhs.gather && rhs.gather &&
        lhs.gather.getGroup().hasSameMembers(rhs.gather.getGroup())) {
      segment.lhsSource = segment.rhsSource = ShardSource::Gathered;
      segment.group = group;
      continue;
    }
    std::string name = getNodeName(gather);
    std::optional<int64_t> size = tp::getConstant(segment.size);
    // A part that is gathered too, over others, and one that is cut, are made
    // of values whose placement is known.
    if (!context.isRankSpecific())
      shardRefusal = {product, RefusalCode::Varying,
                      "the shards of " + name +
                          " could be multiplied without gathering them, but "
                          "the block of the other operand depends on the rank",
                      "--rank=R would allow it", RemedyOption{"rank", "0"}};
    else if (!context.isReplicated(product->getOperand(lhs.gather ? 1 : 0),
                                   group))
      shardRefusal = {product, RefusalCode::Varying,
                      "the shards of " + name +
                          " could be multiplied without gathering them only "
                          "if the other operand were replicated on group '" +
                          group.getKey() + "'",
                      "declare placements with --input-placement"};
    else if (!size || *size % group.getSize() != 0)
      shardRefusal = {product, RefusalCode::SymbolicSize,
                      "the shards of " + name +
                          " have a symbolic size, at which the other operand "
                          "cannot be sliced"};
    else {
      segment.lhsSource =
          lhs.gather ? ShardSource::Gathered : ShardSource::RankSlice;
      segment.rhsSource =
          lhs.gather ? ShardSource::RankSlice : ShardSource::Gathered;
      segment.group = group;
    }
  }
}

Legal<PartialProducts> SegmentSearch::run() {
  if (Legal<> operands = findOperands(); !operands)
    return std::move(operands.getRefusal());
  unsigned numParted =
      llvm::count_if(cutOperands, [](const CutOperand &operand) {
        return operand.parts.has_value();
      });
  if (numParted == 0)
    return Refusal();
  // Retry with fewer parts: fewer borders are easier to prove.
  Legal<> segments = findSegments(numParted);
  while (!segments && --numParted > 0)
    segments = findSegments(numParted);
  if (!segments)
    return std::move(segments.getRefusal());
  if (result.contracts)
    chooseShards();
  else
    result.resultDim = *findDimOfFactor(rule.results[0], result.factor);
  bool isWhole =
      result.segments.size() < 2 &&
      llvm::none_of(
          result.segments,
          [](const ProductSegment &segment) { return bool(segment.group); });
  if (isWhole)
    return shardRefusal;
  return std::move(result);
}

Legal<PartialProducts> analysis::findPartialProducts(tp::MatmulOp product,
                                                     unsigned factor,
                                                     ProductContext &context) {
  return SegmentSearch(product, factor, context).run();
}
