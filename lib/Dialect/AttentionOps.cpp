//===- AttentionOps.cpp - attention and its gradient ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// What both ops share
//===----------------------------------------------------------------------===//

/// Checks the shapes of query, key, value and mask. Returns the sizes of the
/// output.
template <typename Adaptor>
static FailureOr<Sizes> checkShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType query = getTensor(op.getQuery());
  RankedTensorType key = getTensor(op.getKey());
  RankedTensorType value = getTensor(op.getValue());
  int64_t rank = query.getRank();
  if (rank < 2 || key.getRank() != rank || value.getRank() != rank)
    return inference.emitOpError(
        "query, key and value must have the same number of "
        "dims, at least 2");
  Sizes querySizes = inference.getSizes(op.getQuery());
  Sizes keySizes = inference.getSizes(op.getKey());
  Sizes valueSizes = inference.getSizes(op.getValue());
  if (areDifferent(querySizes[rank - 1], keySizes[rank - 1]))
    return inference.emitOpError(
        "query and key have different widths (last dim)");
  if (areDifferent(keySizes[rank - 2], valueSizes[rank - 2]))
    return inference.emitOpError(
        "key and value have different lengths (second-to-last dim)");
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    if (areDifferent(keySizes[dim], valueSizes[dim]))
      return inference.emitOpError() << "key and value differ in dim " << dim;
    bool isHeads = dim + 3 == rank;
    if (!(isHeads && op.getGroupedHeads())) {
      if (areDifferent(querySizes[dim], keySizes[dim]))
        return inference.emitOpError()
               << "query and key differ in dim " << dim
               << (isHeads ? "; several query heads may share a "
                             "key head only with grouped_heads"
                           : "");
      continue;
    }
    std::optional<int64_t> heads = getConstant(querySizes[dim]);
    std::optional<int64_t> keyHeads = getConstant(keySizes[dim]);
    if (heads && keyHeads && (*keyHeads == 0 || *heads % *keyHeads != 0))
      return inference.emitOpError() << *heads << " query heads cannot share "
                                     << *keyHeads << " key heads evenly";
  }
  Sizes sizes = querySizes;
  sizes[rank - 1] = valueSizes[rank - 1];
  if (op.getMask()) {
    Sizes scores = querySizes;
    scores[rank - 1] = keySizes[rank - 2];
    if (failed(inference.verifyBroadcastsTo("mask", op.getMask(), scores)))
      return failure();
  }
  return sizes;
}

/// Maps the dims of the mask of an attention whose operands have rank `rank`.
static void mapMask(DimensionRuleBuilder &builder, Value mask, unsigned operand,
                    int64_t rank, int64_t dim, unsigned factor) {
  if (!mask)
    return;
  RankedTensorType type = getTensor(mask);
  int64_t maskDim = dim - rank + type.getRank();
  if (maskDim >= 0 && type.getDimSize(maskDim) != 1)
    builder.mapOperand(operand, maskDim, factor);
}

/// The factors of the dims before the length: those of the query, in which a
/// dim may have two, and those of key and value.
struct BatchFactors {
  SmallVector<SmallVector<unsigned, 2>> ofQuery;
  SmallVector<unsigned> ofKey;
};

static BatchFactors addBatchFactors(DimensionRuleBuilder &builder,
                                    RankedTensorType query,
                                    RankedTensorType key, bool groupsHeads,
                                    Factor::Kind withinGroup) {
  BatchFactors factors;
  int64_t rank = query.getRank();
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    bool isGrouped = dim + 3 == rank && groupsHeads &&
                     query.getDimSize(dim) != key.getDimSize(dim);
    unsigned head = builder.addParallel(isGrouped ? key.getDimSize(dim)
                                                  : query.getDimSize(dim));
    factors.ofKey.push_back(head);
    factors.ofQuery.push_back({head});
    if (!isGrouped)
      continue;
    // Query heads are (key head, head within its group), major to minor.
    int64_t groupSize = ShapedType::kDynamic;
    if (!query.isDynamicDim(dim) && !key.isDynamicDim(dim))
      groupSize = query.getDimSize(dim) / key.getDimSize(dim);
    factors.ofQuery.back().push_back(builder.addFactor(withinGroup, groupSize));
  }
  return factors;
}

namespace {
/// The steps of an attention over an algebra.
struct Scores {
  Scores(Algebra &algebra, Type compute, const AlgebraValue &query,
         std::optional<double> scale)
      : algebra(algebra), compute(compute), builder(compute.getContext()),
        query(algebra.cast(query, compute)),
        scale(scale.value_or(1 / std::sqrt(double(query->getSizes().back())))) {
  }

  /// Repeats each head of key or value for the query heads that share it.
  AlgebraValue repeatHeads(const AlgebraValue &input) {
    SmallVector<int64_t> sizes(input->getSizes());
    int64_t heads = input->getRank() - 3;
    int64_t repeats = heads < 0 ? 1 : query->getSizes()[heads] / sizes[heads];
    if (repeats == 1)
      return input;
    SmallVector<int64_t> single(sizes), repeated(sizes);
    single.insert(single.begin() + heads + 1, 1);
    repeated.insert(repeated.begin() + heads + 1, repeats);
    sizes[heads] *= repeats;
    return algebra.reshape(
        algebra.broadcast(algebra.reshape(input, single), repeated), sizes);
  }

  /// Sums over the query heads that share a head of key or value.
  AlgebraValue sumHeads(const AlgebraValue &input, int64_t keyHeads) {
    SmallVector<int64_t> sizes(input->getSizes());
    int64_t heads = input->getRank() - 3;
    if (heads < 0 || sizes[heads] == keyHeads)
      return input;
    sizes.insert(sizes.begin() + heads + 1, sizes[heads] / keyHeads);
    sizes[heads] = keyHeads;
    return algebra.reduce(ReductionKind::Sum, algebra.reshape(input, sizes),
                          {heads + 1}, /*keepDims=*/false, compute);
  }

  AlgebraValue map(MapFunction function, ArrayRef<AlgebraValue> operands) {
    return algebra.map(function, operands, compute);
  }

  /// Returns query @ key^T * scale, masked.
  AlgebraValue get(const AlgebraValue &key, const AlgebraValue &mask,
                   bool isCausal) {
    AlgebraValue scores =
        algebra.matmul(query, algebra.transpose(key), compute);
    scores = map(MapFunction::Mul, {scores, algebra.scalar(scale, compute)});
    AlgebraValue minusInfinity =
        algebra.scalar(-std::numeric_limits<double>::infinity(), compute);
    auto keep = [&](const AlgebraValue &mask) {
      scores = map(MapFunction::Select, {mask, scores, minusInfinity});
    };
    if (mask && mask->getElementType().isInteger(1))
      keep(mask);
    else if (mask)
      scores = map(MapFunction::Add, {scores, algebra.cast(mask, compute)});
    if (!isCausal)
      return scores;
    Type position = builder.getI64Type();
    auto count = [&](int64_t size) {
      return algebra.iota(builder.getI64IntegerAttr(0),
                          builder.getI64IntegerAttr(1), size, position);
    };
    int64_t rows = query->getSizes()[query->getRank() - 2];
    int64_t columns = key->getSizes()[key->getRank() - 2];
    keep(algebra.map(MapFunction::LessEqual,
                     {count(columns), algebra.reshape(count(rows), {rows, 1})},
                     builder.getI1Type()));
    return scores;
  }

  Algebra &algebra;
  Type compute;
  Builder builder;
  AlgebraValue query;
  double scale;
};
} // namespace

static std::optional<double> getNumber(std::optional<llvm::APFloat> scale) {
  return scale ? std::optional(scale->convertToDouble()) : std::nullopt;
}

/// Adds `perScore` scalar operations for each score.
static bool addScoreWork(Work &work, RankedTensorType query, int64_t positions,
                         int64_t perScore, SymbolValues symbols) {
  std::optional<int64_t> elements = evaluateNumElements(query, symbols);
  std::optional<int64_t> width =
      evaluateSize(query, query.getRank() - 1, symbols);
  if (!elements || !width)
    return false;
  return *width == 0 || (!llvm::MulOverflow(*elements / *width, positions,
                                            work.elementwiseFlops) &&
                         !llvm::MulOverflow(work.elementwiseFlops, perScore,
                                            work.elementwiseFlops));
}

/// Returns the work of an op that computes `numScores` products of the size of
/// query @ key^T, `numValues` products of the size of scores @ value, whose
/// result is `output`, and `perScore` scalar operations for each score.
template <typename Op>
static std::optional<Work>
getAttentionWork(Op op, RankedTensorType output, int64_t numScores,
                 int64_t numValues, int64_t perScore, SymbolValues symbols) {
  RankedTensorType query = getTensor(op.getQuery());
  RankedTensorType key = getTensor(op.getKey());
  std::optional<Work> work = getStreamingWork(op, 0, symbols);
  std::optional<int64_t> positions =
      evaluateSize(key, key.getRank() - 2, symbols);
  std::optional<int64_t> scores = getProductFlops(query, positions, symbols);
  std::optional<int64_t> values = getProductFlops(output, positions, symbols);
  if (!work || !positions || !scores || !values ||
      llvm::MulOverflow(*scores, numScores, *scores) ||
      llvm::MulOverflow(*values, numValues, *values) ||
      llvm::AddOverflow(*scores, *values, work->matmulFlops))
    return std::nullopt;
  // With a causal mask, fused kernels skip the masked half of the scores.
  if (op.getIsCausal())
    work->matmulFlops /= 2;
  if (!addScoreWork(*work, query, *positions, perScore, symbols))
    return std::nullopt;
  return work;
}

//===----------------------------------------------------------------------===//
// tp.attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferShapes(Adaptor op, ShapeInference &inference) {
  FailureOr<Sizes> sizes = checkShapes(op, inference);
  if (failed(sizes))
    return failure();
  Type type =
      inference.getStatedElementType(getTensor(op.getQuery()).getElementType());
  if (failed(inference.setResult(type, *sizes)))
    return failure();
  if (inference.getNumStated() < 2)
    return success();
  sizes->pop_back();
  return inference.setResult(Algebra::getComputeType(type), *sizes, 1,
                             "logsumexp");
}

DimensionRule AttentionOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType query = getTensor(getQuery());
  RankedTensorType key = getTensor(getKey());
  int64_t rank = query.getRank();
  auto mapOutput = [&](int64_t dim, unsigned factor) {
    builder.mapResult(0, dim, factor);
    if (getLogsumexp())
      builder.mapResult(1, dim, factor);
  };
  BatchFactors batch = addBatchFactors(builder, query, key, getGroupedHeads(),
                                       Factor::Kind::Parallel);
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    for (unsigned factor : batch.ofQuery[dim]) {
      builder.mapOperand(0, dim, factor);
      mapOutput(dim, factor);
      mapMask(builder, getMask(), 3, rank, dim, factor);
    }
    builder.mapOperand(1, dim, batch.ofKey[dim]);
    builder.mapOperand(2, dim, batch.ofKey[dim]);
  }
  // Query rows are independent of each other, except that a causal mask depends
  // on their positions.
  unsigned rows = getIsCausal()
                      ? builder.addWhole(query.getDimSize(rank - 2))
                      : builder.addParallel(query.getDimSize(rank - 2));
  builder.mapOperand(0, rank - 2, rows);
  mapOutput(rank - 2, rows);
  mapMask(builder, getMask(), 3, rank, rank - 2, rows);
  unsigned positions = builder.addWhole(key.getDimSize(rank - 2));
  builder.mapOperand(1, rank - 2, positions);
  builder.mapOperand(2, rank - 2, positions);
  mapMask(builder, getMask(), 3, rank, rank - 1, positions);
  unsigned width = builder.addWhole(query.getDimSize(rank - 1));
  builder.mapOperand(0, rank - 1, width);
  builder.mapOperand(1, rank - 1, width);
  // The logarithms do not depend on the values.
  int64_t valueSize = getTensor(getValue()).getDimSize(rank - 1);
  unsigned valueWidth = getLogsumexp() ? builder.addWhole(valueSize)
                                       : builder.addParallel(valueSize);
  builder.mapOperand(2, rank - 1, valueWidth);
  builder.mapResult(0, rank - 1, valueWidth);
  return std::move(builder).build();
}

LogicalResult AttentionOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  Type type = getTensor(getResult()).getElementType();
  Type compute = Algebra::getComputeType(type);
  Scores steps(algebra, compute, operands[0], getNumber(getScale()));
  AlgebraValue key = algebra.cast(operands[1], compute);
  AlgebraValue value = algebra.cast(operands[2], compute);
  if (getGroupedHeads()) {
    key = steps.repeatHeads(key);
    value = steps.repeatHeads(value);
  }
  AlgebraValue scores =
      steps.get(key, getMask() ? operands[3] : AlgebraValue(), getIsCausal());
  int64_t last = scores->getRank() - 1;
  AlgebraValue largest =
      algebra.reduce(ReductionKind::Max, scores, {last}, true, compute);
  AlgebraValue exponentials = steps.map(
      MapFunction::Exp, {steps.map(MapFunction::Sub, {scores, largest})});
  AlgebraValue sum =
      algebra.reduce(ReductionKind::Sum, exponentials, {last}, true, compute);
  AlgebraValue weights = steps.map(MapFunction::Div, {exponentials, sum});
  results.push_back(
      algebra.cast(algebra.matmul(weights, value, compute), type));
  if (!getLogsumexp())
    return success();
  AlgebraValue logarithms = steps.map(
      MapFunction::Add, {steps.map(MapFunction::Log, {sum}), largest});
  results.push_back(algebra.reshape(
      logarithms, SmallVector<int64_t>(logarithms->getSizes().drop_back())));
  return success();
}

std::optional<Work> AttentionOp::getWork(SymbolValues symbols) {
  return getAttentionWork(*this, getTensor(getResult()), /*numScores=*/1,
                          /*numValues=*/1, /*perScore=*/12, symbols);
}

Strides AttentionOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                                  ArrayRef<Size>) {
  // The layout depends on the kernel that the device dispatches to: flash
  // kernels write memory in the order [batch, length, heads, width], while the
  // composite form is dense.
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// tp.attention_backward
//===----------------------------------------------------------------------===//

LogicalResult AttentionBackwardOp::inferShapes(Adaptor op,
                                               ShapeInference &inference) {
  FailureOr<Sizes> sizes = checkShapes(op, inference);
  if (failed(sizes) ||
      failed(inference.verifySizes("gradient", op.getGradient(), *sizes)) ||
      failed(inference.verifySizes("output", op.getOutput(), *sizes)))
    return failure();
  sizes->pop_back();
  if (failed(inference.verifySizes("logsumexp", op.getLogsumexp(), *sizes)))
    return failure();
  unsigned index = 0;
  for (Value value : {op.getQuery(), op.getKey(), op.getValue()}) {
    if (failed(inference.setResultLike(value, index)))
      return failure();
    ++index;
  }
  return success();
}

DimensionRule AttentionBackwardOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType query = getTensor(getQuery());
  RankedTensorType key = getTensor(getKey());
  int64_t rank = query.getRank();
  enum { Gradient, Query, Key, Value, Output, Logsumexp, Mask };
  auto mapTo = [&](int64_t dim, unsigned factor,
                   std::initializer_list<unsigned> operands,
                   std::initializer_list<unsigned> results) {
    for (unsigned operand : operands)
      builder.mapOperand(operand, dim, factor);
    for (unsigned result : results)
      builder.mapResult(result, dim, factor);
  };
  // The gradient of a head that several query heads share is the sum of their
  // gradients.
  BatchFactors batch = addBatchFactors(builder, query, key, getGroupedHeads(),
                                       Factor::Kind::Whole);
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    for (unsigned factor : batch.ofQuery[dim]) {
      mapTo(dim, factor, {Gradient, Query, Output, Logsumexp}, {0});
      mapMask(builder, getMask(), Mask, rank, dim, factor);
    }
    mapTo(dim, batch.ofKey[dim], {Key, Value}, {1, 2});
  }
  // The gradients of key and value sum over query rows; that of the query does
  // not.
  unsigned rows = builder.addWhole(query.getDimSize(rank - 2));
  mapTo(rank - 2, rows, {Gradient, Query, Output, Logsumexp}, {0});
  mapMask(builder, getMask(), Mask, rank, rank - 2, rows);
  unsigned positions = builder.addWhole(key.getDimSize(rank - 2));
  mapTo(rank - 2, positions, {Key, Value}, {1, 2});
  mapMask(builder, getMask(), Mask, rank, rank - 1, positions);
  unsigned width = builder.addWhole(query.getDimSize(rank - 1));
  mapTo(rank - 1, width, {Query, Key}, {0, 1});
  unsigned valueWidth =
      builder.addWhole(getTensor(getValue()).getDimSize(rank - 1));
  mapTo(rank - 1, valueWidth, {Gradient, Value, Output}, {2});
  return std::move(builder).build();
}

LogicalResult
AttentionBackwardOp::evaluate(Algebra &algebra, ArrayRef<AlgebraValue> operands,
                              SmallVectorImpl<AlgebraValue> &results) {
  Type compute =
      Algebra::getComputeType(getTensor(getQuery()).getElementType());
  auto read = [&](unsigned operand) {
    return algebra.cast(operands[operand], compute);
  };
  Scores steps(algebra, compute, operands[1], getNumber(getScale()));
  AlgebraValue gradient = read(0), key = read(2), value = read(3);
  int64_t rank = key->getRank();
  int64_t keyHeads = rank < 3 ? 1 : key->getSizes()[rank - 3];
  if (getGroupedHeads()) {
    key = steps.repeatHeads(key);
    value = steps.repeatHeads(value);
  }
  AlgebraValue scores =
      steps.get(key, getMask() ? operands[6] : AlgebraValue(), getIsCausal());
  SmallVector<int64_t> column(operands[5]->getSizes());
  column.push_back(1);
  AlgebraValue weights =
      steps.map(MapFunction::Exp,
                {steps.map(MapFunction::Sub,
                           {scores, algebra.reshape(read(5), column)})});
  AlgebraValue ofWeights =
      algebra.matmul(gradient, algebra.transpose(value), compute);
  AlgebraValue mean = algebra.reduce(
      ReductionKind::Sum, steps.map(MapFunction::Mul, {gradient, read(4)}),
      {rank - 1}, /*keepDims=*/true, compute);
  AlgebraValue ofScores =
      steps.map(MapFunction::Mul,
                {weights, steps.map(MapFunction::Sub, {ofWeights, mean})});
  ofScores = steps.map(MapFunction::Mul,
                       {ofScores, algebra.scalar(steps.scale, compute)});
  AlgebraValue gradients[] = {
      algebra.matmul(ofScores, key, compute),
      algebra.matmul(algebra.transpose(ofScores), steps.query, compute),
      algebra.matmul(algebra.transpose(weights), gradient, compute)};
  for (auto [index, result] : llvm::enumerate(getResults())) {
    AlgebraValue own = gradients[index];
    if (index > 0 && getGroupedHeads())
      own = steps.sumHeads(own, keyHeads);
    results.push_back(algebra.cast(own, getTensor(result).getElementType()));
  }
  return success();
}

bool AttentionBackwardOp::isLinearIn(ArrayRef<bool> operands) {
  return operands[0] && !llvm::is_contained(operands.drop_front(), true);
}

std::optional<Work> AttentionBackwardOp::getWork(SymbolValues symbols) {
  // Products for the scores and the gradients of query and key, and for the
  // gradients of the weights and of the values.
  return getAttentionWork(*this, getTensor(getGradient()), /*numScores=*/3,
                          /*numValues=*/2, /*perScore=*/16, symbols);
}

Strides AttentionBackwardOp::inferStrides(Adaptor, unsigned,
                                          ArrayRef<StridedShape>,
                                          ArrayRef<Size>) {
  // Like those of the output; see AttentionOp.
  return std::nullopt;
}
