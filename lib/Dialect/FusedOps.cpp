//===- FusedOps.cpp - collectives fused with matrix products ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute::tp;

/// The part of an op's work that goes with one of `parts` transfers: the
/// arithmetic is cut evenly, the traffic is as stated.
static Work getChunk(const Work &work, int64_t parts, int64_t bytesRead,
                     int64_t bytesWritten) {
  auto cut = [&](int64_t amount) -> int64_t {
    return llvm::divideCeil(static_cast<uint64_t>(amount), parts);
  };
  return Work{cut(work.matmulFlops), cut(work.elementwiseFlops), bytesRead,
              bytesWritten};
}

/// Checks that a scale can be broadcast to the operand that it multiplies.
static LogicalResult verifyScale(Operation *op, SymbolSpace &space,
                                 StringRef what, Value scale, Value operand) {
  RankedTensorType type = getTensor(scale);
  Sizes target = space.getSizes(getTensor(operand));
  if (type.getRank() > static_cast<int64_t>(target.size()))
    return op->emitOpError()
           << what << " has " << type.getRank()
           << " dims, more than its operand's " << target.size();
  return verifyBroadcastsTo(op, space, what, type, target);
}

/// Calls `map` for every dim of a value that is broadcast to the sizes `like`,
/// with the dim that it becomes; repeated dims of size 1 have no factor.
static void
mapBroadcast(Value value, ArrayRef<int64_t> like,
             llvm::function_ref<void(int64_t dim, int64_t likeDim)> map) {
  RankedTensorType type = getTensor(value);
  int64_t offset = static_cast<int64_t>(like.size()) - type.getRank();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (offset + dim >= 0 &&
        (type.getDimSize(dim) != 1 || like[offset + dim] == 1))
      map(dim, offset + dim);
}

//===----------------------------------------------------------------------===//
// tp.all_gather_matmul
//===----------------------------------------------------------------------===//

/// Sizes of the gathered operand.
static Sizes getGatheredSizes(AllGatherMatmulOp op, SymbolSpace &space) {
  Sizes sizes = space.getSizes(getTensor(op.getShard()));
  Size &axis = sizes[op.getGatherAxis()];
  axis = multiply(axis, op.getGroup().getSize());
  return sizes;
}

LogicalResult AllGatherMatmulOp::verify() {
  RankedTensorType shard = getTensor(getShard());
  if (shard.getRank() < 2)
    return emitOpError("shard has fewer than 2 dims");
  if (failed(verifyDim(*this, "gather_axis", getGatherAxis(), shard.getRank())))
    return failure();
  if (getRhs().empty())
    return emitOpError("has no right-hand side");
  if (!getBiases().empty() && getBiases().size() != getRhs().size())
    return emitOpError() << "has " << getBiases().size() << " biases for "
                         << getRhs().size() << " right-hand sides";
  if (bool(getShardScale()) != !getRhsScales().empty() ||
      (getShardScale() && getRhsScales().size() != getRhs().size()))
    return emitOpError("needs scales of the shard and of every right-hand "
                       "side, or none");
  size_t products = getReturnsGathered() ? 1 : 0;
  if (getOutputs().size() != getRhs().size() + products)
    return emitOpError() << "has " << getOutputs().size()
                         << " results, expected " << getRhs().size() + products;
  SymbolSpace space(getContext());
  Sizes gathered = getGatheredSizes(*this, space);
  if (getReturnsGathered() &&
      failed(verifySizes(*this, space, "gathered result",
                         getTensor(getOutputs()[0]), gathered)))
    return failure();
  for (auto [index, rhs] : llvm::enumerate(getRhs())) {
    RankedTensorType type = getTensor(rhs);
    if (type.getRank() != 2)
      return emitOpError() << "right-hand side " << index << " has "
                           << type.getRank() << " dims, expected 2";
    Sizes rhsSizes = space.getSizes(type);
    if (areDifferent(rhsSizes[0], gathered.back()))
      return emitOpError() << "right-hand side " << index << " has "
                           << type.getDimSize(0)
                           << " rows, which does not fit the gathered operand";
    Sizes expected = gathered;
    expected.back() = rhsSizes[1];
    if (failed(verifySizes(*this, space, "result",
                           getTensor(getOutputs()[index + products]),
                           expected)))
      return failure();
    if (!getBiases().empty() &&
        failed(verifyBroadcastsTo(*this, space, "bias",
                                  getTensor(getBiases()[index]), expected)))
      return failure();
    if (!getRhsScales().empty() &&
        failed(verifyScale(*this, space, "scale of a right-hand side",
                           getRhsScales()[index], rhs)))
      return failure();
  }
  Value scale = getShardScale();
  if (!scale)
    return success();
  // One element for all ranks, or one a row, which is gathered with its row.
  RankedTensorType type = getTensor(scale);
  if (hasOneElement(type))
    return success();
  if (getGatherAxis() + 1 == static_cast<uint64_t>(shard.getRank()))
    return emitOpError("gathers along the contraction, so that the scale of "
                       "its shard must be one element");
  if (type.getRank() != shard.getRank())
    return emitOpError() << "scale of the shard has " << type.getRank()
                         << " dims, expected one element or " << shard.getRank()
                         << " dims";
  Sizes rows = space.getSizes(shard);
  rows.back() = 1;
  return verifySizes(*this, space, "scale of the shard", type, rows);
}

DimensionRule AllGatherMatmulOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType shard = getTensor(getShard());
  int64_t rank = shard.getRank();
  auto axis = static_cast<int64_t>(getGatherAxis());
  unsigned firstProduct = getReturnsGathered() ? 1 : 0;
  unsigned firstBias = 1 + getRhs().size();
  unsigned shardScale = firstBias + getBiases().size();
  SmallVector<unsigned> factors;
  for (int64_t dim = 0; dim + 1 < rank; ++dim) {
    // The gathered dim counts in shards.
    bool isGathered = dim == axis;
    unsigned factor = isGathered ? builder.addWhole(shard.getDimSize(dim))
                                 : builder.addParallel(shard.getDimSize(dim));
    factors.push_back(factor);
    builder.mapOperand(0, dim, factor);
    for (unsigned result = 0; result < getNumResults(); ++result) {
      if (isGathered)
        builder.mapResultUnits(result, dim, factor);
      else
        builder.mapResult(result, dim, factor);
    }
  }
  // The contraction is kept whole so that the op stays one piece.
  unsigned inner = builder.addWhole(shard.getDimSize(rank - 1));
  factors.push_back(inner);
  builder.mapOperand(0, rank - 1, inner);
  if (getReturnsGathered())
    builder.mapResultUnits(0, rank - 1, inner);
  if (getShardScale())
    mapBroadcast(getShardScale(), shard.getShape(),
                 [&](int64_t dim, int64_t as) {
                   builder.mapOperand(shardScale, dim, factors[as]);
                 });
  for (unsigned index = 0; index < getRhs().size(); ++index) {
    RankedTensorType rhs = getTensor(getRhs()[index]);
    builder.mapOperandUnits(1 + index, 0, inner);
    unsigned columns = builder.addParallel(rhs.getDimSize(1));
    builder.mapOperand(1 + index, 1, columns);
    builder.mapResult(firstProduct + index, rank - 1, columns);
    // A bias is broadcast to the product, whose gathered dim counts in shards.
    if (!getBiases().empty())
      mapBroadcast(getBiases()[index],
                   getTensor(getOutputs()[firstProduct + index]).getShape(),
                   [&](int64_t dim, int64_t as) {
                     unsigned bias = firstBias + index;
                     if (as + 1 == rank)
                       builder.mapOperand(bias, dim, columns);
                     else if (as == axis)
                       builder.mapOperandUnits(bias, dim, factors[as]);
                     else
                       builder.mapOperand(bias, dim, factors[as]);
                   });
    if (!getRhsScales().empty())
      mapBroadcast(getRhsScales()[index], rhs.getShape(),
                   [&](int64_t dim, int64_t as) {
                     unsigned scale = shardScale + 1 + index;
                     if (as == 1)
                       builder.mapOperand(scale, dim, columns);
                     else
                       builder.mapOperandUnits(scale, dim, inner);
                   });
  }
  return std::move(builder).build();
}

LogicalResult
AllGatherMatmulOp::evaluate(Algebra &algebra, ArrayRef<AlgebraValue> operands,
                            SmallVectorImpl<AlgebraValue> &results) {
  // Operands: shard, right-hand sides, biases, scale of the shard, scales.
  unsigned count = getRhs().size();
  ArrayRef<AlgebraValue> rhs = operands.slice(1, count);
  ArrayRef<AlgebraValue> biases = operands.slice(1 + count, getBiases().size());
  ArrayRef<AlgebraValue> scales =
      operands.drop_front(1 + count + getBiases().size());
  int64_t axis = getGatherAxis();
  auto gather = [&](const AlgebraValue &input) -> FailureOr<AlgebraValue> {
    SmallVector<AlgebraValue> toMembers(getGroup().getSize(), input);
    FailureOr<SmallVector<AlgebraValue>> shards =
        algebra.exchange(*this, getGroup(), toMembers);
    if (failed(shards))
      return failure();
    return algebra.concat(*shards, axis);
  };
  FailureOr<AlgebraValue> gathered = gather(operands[0]);
  if (failed(gathered))
    return failure();
  if (getReturnsGathered())
    results.push_back(*gathered);
  AlgebraValue shardScale;
  if (!scales.empty()) {
    shardScale = scales.front();
    // One scale a row is cut like the rows.
    if (shardScale->getNumElements() != 1) {
      FailureOr<AlgebraValue> all = gather(shardScale);
      if (failed(all))
        return failure();
      shardScale = *all;
    }
  }
  for (unsigned index = 0; index < count; ++index) {
    Type type =
        getTensor(getOutputs()[index + getReturnsGathered()]).getElementType();
    AlgebraValue output =
        algebra.linear(*gathered, rhs[index], shardScale,
                       scales.empty() ? AlgebraValue() : scales[1 + index],
                       biases.empty() ? AlgebraValue() : biases[index], type);
    results.push_back(output);
  }
  return success();
}

std::optional<Work> AllGatherMatmulOp::getWork(SymbolValues symbols) {
  std::optional<Work> work = getStreamingWork(*this, 0, symbols);
  if (!work)
    return std::nullopt;
  for (auto [rhs, output] :
       llvm::zip_equal(getRhs(), getOutputs().take_back(getRhs().size()))) {
    std::optional<int64_t> inner = evaluateSize(getTensor(rhs), 0, symbols);
    std::optional<int64_t> elements =
        evaluateNumElements(getTensor(output), symbols);
    if (!inner || !elements ||
        llvm::MulOverflow(*elements, *inner, *elements) ||
        llvm::MulOverflow<int64_t>(*elements, 2, *elements) ||
        llvm::AddOverflow(work->matmulFlops, *elements, work->matmulFlops))
      return std::nullopt;
  }
  for (size_t index = 0; index < getBiases().size(); ++index)
    // Checked above: it is a part of the product's flops.
    work->elementwiseFlops += *evaluateNumElements(
        getTensor(getOutputs().take_back(getRhs().size())[index]), symbols);
  return work;
}

Strides AllGatherMatmulOp::inferStrides(unsigned, ArrayRef<StridedShape>,
                                        ArrayRef<Size> resultSizes) {
  // PyTorch moves the gathered dim to the front, works on a dense matrix, and
  // moves the dim back, by views. Along the contraction nothing is moved.
  auto axis = static_cast<int64_t>(getGatherAxis());
  if (axis + 1 == static_cast<int64_t>(resultSizes.size()))
    return getContiguousStrides(resultSizes);
  SmallVector<Size> moved(resultSizes);
  moved.erase(moved.begin() + axis);
  moved.insert(moved.begin(), resultSizes[axis]);
  Strides strides = getContiguousStrides(moved);
  if (strides) {
    Size stride = strides->front();
    strides->erase(strides->begin());
    strides->insert(strides->begin() + axis, stride);
  }
  return strides;
}

GroupAttr AllGatherMatmulOp::getCollectiveGroup() { return getGroup(); }

std::optional<Communication>
AllGatherMatmulOp::getCommunication(SymbolValues symbols) {
  std::optional<Work> work = getWork(symbols);
  std::optional<int64_t> shard = getNumBytes(getShard().getType(), symbols);
  int64_t parts = getGroup().getSize();
  int64_t whole = 0;
  if (!work || !shard || llvm::MulOverflow(*shard, parts, whole))
    return std::nullopt;
  RankedTensorType type = getTensor(getShard());
  auto axis = static_cast<int64_t>(getGatherAxis());
  bool contracts = axis + 1 == type.getRank();
  int64_t others = work->bytesRead - *shard;
  // Rows: each chunk reads the right-hand sides whole and writes its rows.
  // Contraction: it reads its rows of the right-hand sides and adds to all of
  // the results.
  int64_t read = contracts ? *shard + others / parts : *shard + others;
  int64_t written = contracts ? work->bytesWritten : work->bytesWritten / parts;
  if (contracts && llvm::AddOverflow(read, written, read))
    return std::nullopt;
  return Communication{CommunicationKind::AllGather, whole,
                       /*rearranges=*/false,
                       getChunk(*work, parts, read, written)};
}

//===----------------------------------------------------------------------===//
// tp.matmul_reduce_scatter
//===----------------------------------------------------------------------===//

LogicalResult MatmulReduceScatterOp::verify() {
  RankedTensorType lhs = getTensor(getLhs());
  RankedTensorType rhs = getTensor(getRhs());
  RankedTensorType result = getTensor(getResult());
  if (lhs.getRank() < 2 || rhs.getRank() != 2)
    return emitOpError("expected lhs of 2 or more dims and rhs of 2 dims");
  if (failed(verifyDim(*this, "scatter_axis", getScatterAxis(), lhs.getRank())))
    return failure();
  if (getReduction() != ReductionKind::Sum &&
      getReduction() != ReductionKind::Avg)
    return emitOpError() << "reduces by "
                         << stringifyReductionKind(getReduction())
                         << "; only sum and avg go with matrix products";
  SymbolSpace space(getContext());
  Sizes expected = space.getSizes(lhs);
  Sizes rhsSizes = space.getSizes(rhs);
  if (areDifferent(expected.back(), rhsSizes[0]))
    return emitOpError("lhs and rhs differ in the contracted size");
  expected.back() = rhsSizes[1];
  if (getBias() && failed(verifyBroadcastsTo(*this, space, "bias",
                                             getTensor(getBias()), expected)))
    return failure();
  if (bool(getLhsScale()) != bool(getRhsScale()))
    return emitOpError("needs scales of both operands, or none");
  if (getLhsScale() &&
      (failed(
           verifyScale(*this, space, "lhs scale", getLhsScale(), getLhs())) ||
       failed(verifyScale(*this, space, "rhs scale", getRhsScale(), getRhs()))))
    return failure();
  int64_t size = getGroup().getSize();
  Size &axis = expected[getScatterAxis()];
  if (std::optional<int64_t> total = getConstant(axis)) {
    if (*total % size != 0)
      return emitOpError() << "cannot cut size " << *total << " along dim "
                           << getScatterAxis() << " into " << size
                           << " equal blocks";
    axis = *total / size;
  } else {
    axis = divideExactly(axis, size);
  }
  return verifySizes(*this, space, "result", result, expected);
}

DimensionRule MatmulReduceScatterOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType lhs = getTensor(getLhs());
  RankedTensorType rhs = getTensor(getRhs());
  RankedTensorType result = getTensor(getResult());
  int64_t rank = lhs.getRank();
  auto axis = static_cast<int64_t>(getScatterAxis());
  // Of the product's dims; the scattered one counts in blocks.
  SmallVector<unsigned> factors;
  auto mapLikeProduct = [&](unsigned operand, int64_t dim, int64_t as) {
    if (as == axis)
      builder.mapOperandUnits(operand, dim, factors[as]);
    else
      builder.mapOperand(operand, dim, factors[as]);
  };
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isColumn = dim + 1 == rank;
    int64_t extent = isColumn ? rhs.getDimSize(1) : lhs.getDimSize(dim);
    factors.push_back(dim == axis ? builder.addWhole(result.getDimSize(dim))
                                  : builder.addParallel(extent));
    builder.mapResult(0, dim, factors.back());
    mapLikeProduct(isColumn ? 1 : 0, isColumn ? 1 : dim, dim);
  }
  // With a bias the contraction stays whole: on shards of it, every rank would
  // add the bias, so that the parts sum to something else.
  unsigned inner =
      getBias() ? builder.addWhole(rhs.getDimSize(0))
                : builder.addFactor(Factor::Kind::Reduction, rhs.getDimSize(0),
                                    ReductionKind::Sum);
  builder.mapOperand(0, rank - 1, inner);
  builder.mapOperand(1, 0, inner);
  unsigned next = 2;
  if (getBias()) {
    SmallVector<int64_t> product(lhs.getShape());
    product.back() = rhs.getDimSize(1);
    mapBroadcast(getBias(), product, [&](int64_t dim, int64_t as) {
      mapLikeProduct(next, dim, as);
    });
    ++next;
  }
  if (getLhsScale()) {
    mapBroadcast(getLhsScale(), lhs.getShape(), [&](int64_t dim, int64_t as) {
      if (as + 1 == rank)
        builder.mapOperand(next, dim, inner);
      else
        mapLikeProduct(next, dim, as);
    });
    ++next;
  }
  if (getRhsScale())
    mapBroadcast(getRhsScale(), rhs.getShape(), [&](int64_t dim, int64_t as) {
      if (as == 0)
        builder.mapOperand(next, dim, inner);
      else
        mapLikeProduct(next, dim, rank - 1);
    });
  return std::move(builder).build();
}

LogicalResult
MatmulReduceScatterOp::evaluate(Algebra &algebra,
                                ArrayRef<AlgebraValue> operands,
                                SmallVectorImpl<AlgebraValue> &results) {
  unsigned next = 2;
  AlgebraValue bias = getBias() ? operands[next++] : AlgebraValue();
  AlgebraValue lhsScale = getLhsScale() ? operands[next++] : AlgebraValue();
  AlgebraValue rhsScale = getRhsScale() ? operands[next] : AlgebraValue();
  Type type = getTensor(getResult()).getElementType();
  AlgebraValue product =
      algebra.linear(operands[0], operands[1], lhsScale, rhsScale, bias, type);
  SmallVector<AlgebraValue> blocks;
  int64_t size = product->getSizes()[getScatterAxis()] / getGroup().getSize();
  for (int64_t index = 0; index < getGroup().getSize(); ++index)
    blocks.push_back(
        algebra.slice(product, getScatterAxis(), index * size, 1, size));
  FailureOr<SmallVector<AlgebraValue>> received =
      algebra.exchange(*this, getGroup(), blocks);
  if (failed(received))
    return failure();
  results.push_back(algebra.combine(getReduction(), *received, type));
  return success();
}

std::optional<Work> MatmulReduceScatterOp::getWork(SymbolValues symbols) {
  std::optional<Work> work = getStreamingWork(*this, 0, symbols);
  std::optional<int64_t> elements =
      evaluateNumElements(getTensor(getResult()), symbols);
  std::optional<int64_t> inner = evaluateSize(getTensor(getRhs()), 0, symbols);
  if (!work || !elements || !inner)
    return std::nullopt;
  // Each rank computes the whole product, of which its result is one block.
  if (llvm::MulOverflow(*elements, getGroup().getSize(),
                        work->elementwiseFlops) ||
      llvm::MulOverflow(work->elementwiseFlops, *inner, work->matmulFlops) ||
      llvm::MulOverflow<int64_t>(work->matmulFlops, 2, work->matmulFlops))
    return std::nullopt;
  // One addition more for each element of the product.
  if (getBias() && llvm::MulOverflow<int64_t>(work->elementwiseFlops, 2,
                                              work->elementwiseFlops))
    return std::nullopt;
  return work;
}

Strides MatmulReduceScatterOp::inferStrides(unsigned, ArrayRef<StridedShape>,
                                            ArrayRef<Size> resultSizes) {
  // The reduction over the ranks' parts writes a new tensor.
  return getContiguousStrides(resultSizes);
}

GroupAttr MatmulReduceScatterOp::getCollectiveGroup() { return getGroup(); }

std::optional<Communication>
MatmulReduceScatterOp::getCommunication(SymbolValues symbols) {
  std::optional<Work> work = getWork(symbols);
  std::optional<int64_t> lhs = getNumBytes(getLhs().getType(), symbols);
  int64_t parts = getGroup().getSize();
  int64_t whole = 0;
  if (!work || !lhs || llvm::MulOverflow(work->bytesWritten, parts, whole))
    return std::nullopt;
  // Each chunk is one block of the product: of its rows, from rows of lhs and
  // all of rhs, or of its columns, the other way round.
  RankedTensorType type = getTensor(getLhs());
  bool scattersColumns =
      static_cast<int64_t>(getScatterAxis()) + 1 == type.getRank();
  int64_t others = work->bytesRead - *lhs;
  int64_t read =
      scattersColumns ? *lhs + others / parts : *lhs / parts + others;
  return Communication{CommunicationKind::ReduceScatter, whole,
                       /*rearranges=*/false,
                       getChunk(*work, parts, read, work->bytesWritten)};
}
