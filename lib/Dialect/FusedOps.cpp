//===- FusedOps.cpp - collectives fused with matrix products ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute::tp;

/// Returns the part of an op's work that belongs to one of `parts` transfers:
/// the arithmetic is divided evenly, and the traffic is as stated.
static Work getChunk(const Work &work, int64_t parts, int64_t bytesRead,
                     int64_t bytesWritten) {
  auto cut = [&](int64_t amount) -> int64_t {
    return llvm::divideCeil(static_cast<uint64_t>(amount), parts);
  };
  return Work{cut(work.matmulFlops), cut(work.elementwiseFlops), bytesRead,
              bytesWritten};
}

/// Checks that a scale can be broadcast to the operand that it multiplies.
static LogicalResult verifyScale(ShapeInference &inference, StringRef name,
                                 Value scale, Value operand) {
  Sizes target = inference.getSizes(operand);
  int64_t rank = getTensor(scale).getRank();
  if (rank > static_cast<int64_t>(target.size()))
    return inference.emitOpError()
           << name << " has " << rank << " dims, more than its operand's "
           << target.size();
  return inference.verifyBroadcastsTo(name, scale, target);
}

/// Calls `map` for every dim of a value that is broadcast to the sizes `like`,
/// with the corresponding dim of the result. Repeated dims of size 1 have no
/// factor.
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

/// The scale of a shard has one element for all ranks, or one for each row,
/// which is gathered with the row.
static LogicalResult verifyShardScale(ShapeInference &inference, Value scale,
                                      Value shard, int64_t axis) {
  int64_t rank = getTensor(shard).getRank();
  if (!scale || hasOneElement(getTensor(scale)))
    return success();
  if (axis + 1 == rank)
    return inference.emitOpError("gathers along the contraction dim, so the "
                                 "scale of the shard must have one element");
  if (getTensor(scale).getRank() != rank)
    return inference.emitOpError()
           << "scale of the shard has " << getTensor(scale).getRank()
           << " dims, expected one element or " << rank << " dims";
  Sizes rows = inference.getSizes(shard);
  rows.back() = 1;
  return inference.verifySizes("scale of the shard", scale, rows);
}

LogicalResult AllGatherMatmulOp::inferShapes(Adaptor op,
                                             ShapeInference &inference) {
  RankedTensorType shard = getTensor(op.getShard());
  ValueRange rightOperands = op.getRhs(), biases = op.getBiases(),
             scales = op.getRhsScales();
  size_t count = rightOperands.size();
  int64_t axis = op.getGatherAxis();
  if (shard.getRank() < 2)
    return inference.emitOpError("shard must have at least 2 dims");
  if (failed(inference.verifyDim("gather_axis", axis, shard.getRank())))
    return failure();
  if (count == 0)
    return inference.emitOpError("must have at least one right-hand side");
  if (!biases.empty() && biases.size() != count)
    return inference.emitOpError()
           << "has " << biases.size() << " biases, expected none or " << count
           << ", one for each right-hand side";
  if (bool(op.getShardScale()) != !scales.empty() ||
      (op.getShardScale() && scales.size() != count))
    return inference.emitOpError("must have scales of the shard and of every "
                                 "right-hand side, or no scales");
  unsigned firstProduct = op.getReturnsGathered() ? 1 : 0;
  size_t numStated = inference.getNumStated();
  if (numStated != 0 && numStated != firstProduct + count)
    return inference.emitOpError()
           << "has " << numStated << " results, expected "
           << firstProduct + count;
  Sizes gathered = inference.getSizes(op.getShard());
  gathered[axis] = multiply(gathered[axis], op.getGroup().getSize());
  if (op.getReturnsGathered() &&
      failed(inference.setResult(shard.getElementType(), gathered, 0,
                                 "gathered result")))
    return failure();
  for (auto [index, rhs] : llvm::enumerate(rightOperands)) {
    RankedTensorType type = getTensor(rhs);
    if (type.getRank() != 2)
      return inference.emitOpError() << "right-hand side " << index << " has "
                                     << type.getRank() << " dims, expected 2";
    Sizes rhsSizes = inference.getSizes(rhs);
    if (areDifferent(rhsSizes[0], gathered.back()))
      return inference.emitOpError()
             << "right-hand side " << index << " has " << type.getDimSize(0)
             << " rows, which do not match the columns of the gathered operand";
    Sizes sizes = gathered;
    sizes.back() = rhsSizes[1];
    unsigned result = firstProduct + index;
    if (failed(inference.setResult(
            inference.getStatedElementType(shard.getElementType(), result),
            sizes, result)))
      return failure();
    if (!biases.empty() &&
        failed(inference.verifyBroadcastsTo("bias", biases[index], sizes)))
      return failure();
    if (!scales.empty() &&
        failed(verifyScale(inference, "scale of a right-hand side",
                           scales[index], rhs)))
      return failure();
  }
  return verifyShardScale(inference, op.getShardScale(), op.getShard(), axis);
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
  // Keep the contraction whole, so that the op is not split.
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
    // A scale with one element per row is sharded like the rows.
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
    // The size is known, because the product's flops above depend on it.
    work->elementwiseFlops += *evaluateNumElements(
        getTensor(getOutputs().take_back(getRhs().size())[index]), symbols);
  return work;
}

Strides AllGatherMatmulOp::inferStrides(Adaptor op, unsigned,
                                        ArrayRef<StridedShape>,
                                        ArrayRef<Size> resultSizes) {
  // PyTorch moves the gathered dim to the front by a view, works on a dense
  // matrix, and moves the dim back by another view. Along the contraction,
  // nothing is moved.
  auto axis = static_cast<int64_t>(op.getGatherAxis());
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

/// The results have the placements of products of a replicated operand.
SmallVector<PlacementAttr>
AllGatherMatmulOp::inferPlacements(ArrayRef<PlacementAttr> operands) {
  MLIRContext *context = getContext();
  SmallVector<PlacementAttr> results;
  if (getReturnsGathered())
    results.push_back(PlacementAttr::getReplicated(context));
  int64_t columns = getTensor(getShard()).getRank() - 1;
  bool isPlain = getBiases().empty() && !getShardScale();
  for (PlacementAttr rhs : operands.slice(1, getRhs().size())) {
    PlacementAttr result = PlacementAttr::getVarying(context);
    if (isPlain && rhs && rhs.getKind() == PlacementKind::Replicated)
      result = rhs;
    else if (isPlain && rhs && rhs.getKind() == PlacementKind::Shard &&
             rhs.getDim() == 1)
      result = PlacementAttr::getShard(context, columns);
    results.push_back(result);
  }
  return results;
}

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
  // If rows are gathered, each chunk reads the right-hand sides whole and
  // writes its rows. If the contraction is gathered, it reads its rows of the
  // right-hand sides and adds to all of the results.
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

LogicalResult MatmulReduceScatterOp::inferShapes(Adaptor op,
                                                 ShapeInference &inference) {
  RankedTensorType lhs = getTensor(op.getLhs());
  int64_t axis = op.getScatterAxis();
  if (lhs.getRank() < 2 || getTensor(op.getRhs()).getRank() != 2)
    return inference.emitOpError(
        "expected lhs with 2 or more dims and rhs with 2 dims");
  if (failed(inference.verifyDim("scatter_axis", axis, lhs.getRank())))
    return failure();
  if (op.getReduction() != ReductionKind::Sum &&
      op.getReduction() != ReductionKind::Avg)
    return inference.emitOpError()
           << "has reduction " << stringifyReductionKind(op.getReduction())
           << ", expected sum or avg";
  Sizes sizes = inference.getSizes(op.getLhs());
  Sizes rhsSizes = inference.getSizes(op.getRhs());
  if (areDifferent(sizes.back(), rhsSizes[0]))
    return inference.emitOpError(
        "lhs and rhs have different sizes along the contraction dim");
  sizes.back() = rhsSizes[1];
  if (op.getBias() &&
      failed(inference.verifyBroadcastsTo("bias", op.getBias(), sizes)))
    return failure();
  if (bool(op.getLhsScale()) != bool(op.getRhsScale()))
    return inference.emitOpError(
        "must have scales of both operands, or no scales");
  if (op.getLhsScale() && (failed(verifyScale(inference, "lhs scale",
                                              op.getLhsScale(), op.getLhs())) ||
                           failed(verifyScale(inference, "rhs scale",
                                              op.getRhsScale(), op.getRhs()))))
    return failure();
  FailureOr<Size> block =
      getBlockSize(inference, sizes[axis], axis, op.getGroup().getSize());
  if (failed(block))
    return failure();
  sizes[axis] = *block;
  return inference.setResult(
      inference.getStatedElementType(lhs.getElementType()), sizes);
}

DimensionRule MatmulReduceScatterOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType lhs = getTensor(getLhs());
  RankedTensorType rhs = getTensor(getRhs());
  RankedTensorType result = getTensor(getResult());
  int64_t rank = lhs.getRank();
  auto axis = static_cast<int64_t>(getScatterAxis());
  // The factors of the product's dims; the scattered dim counts in blocks.
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
  // With a bias, keep the contraction whole: on shards of it, every rank would
  // add the bias, and the sum of the parts would be wrong.
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
  // The reduction adds once for each element of the product.
  if (getBias() && llvm::MulOverflow<int64_t>(work->elementwiseFlops, 2,
                                              work->elementwiseFlops))
    return std::nullopt;
  return work;
}

Strides MatmulReduceScatterOp::inferStrides(Adaptor, unsigned,
                                            ArrayRef<StridedShape>,
                                            ArrayRef<Size> resultSizes) {
  // The reduction over the ranks' parts writes a new tensor.
  return getContiguousStrides(resultSizes);
}

SmallVector<PlacementAttr>
MatmulReduceScatterOp::inferPlacements(ArrayRef<PlacementAttr>) {
  return {PlacementAttr::getShard(getContext(), getScatterAxis())};
}

std::optional<Communication>
MatmulReduceScatterOp::getCommunication(SymbolValues symbols) {
  std::optional<Work> work = getWork(symbols);
  std::optional<int64_t> lhs = getNumBytes(getLhs().getType(), symbols);
  int64_t parts = getGroup().getSize();
  int64_t whole = 0;
  if (!work || !lhs || llvm::MulOverflow(work->bytesWritten, parts, whole))
    return std::nullopt;
  // Each chunk is one block of the product: a block of rows, from rows of lhs
  // and all of rhs, or a block of columns, from all of lhs and columns of rhs.
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
