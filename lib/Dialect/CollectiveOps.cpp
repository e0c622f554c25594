//===- CollectiveOps.cpp - collectives, rank slices -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectiveRule.h"
#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute::tp;

/// Operand and result of a collective have one element type.
static LogicalResult verifyKeepsElementType(Operation *op) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  return verifySameElementType(op, "result", result, input.getElementType());
}

/// Collectives that scale `axis` of their operand's sizes: by `numerator` and
/// `denominator`.
static LogicalResult verifyScaledAxis(Operation *op, StringRef what,
                                      int64_t axis, bool grows, int64_t size) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  if (failed(verifyKeepsElementType(op)) ||
      failed(verifyDim(op, what, axis, input.getRank())))
    return failure();
  SymbolSpace space(op->getContext());
  Sizes small = space.getSizes(grows ? input : result);
  Sizes large = space.getSizes(grows ? result : input);
  if (small.size() != large.size())
    return op->emitOpError("operand and result differ in their number of dims");
  if (!grows) {
    std::optional<int64_t> total = getConstant(large[axis]);
    if (total && *total % size != 0)
      return op->emitOpError() << "cannot cut size " << *total << " along dim "
                               << axis << " into " << size << " equal blocks";
  }
  Sizes expected = grows ? small : large;
  if (grows)
    expected[axis] = multiply(small[axis], size);
  else if (std::optional<int64_t> total = getConstant(large[axis]))
    expected[axis] = *total / size;
  else
    // The block's size is checked through the whole.
    expected[axis] = small[axis];
  if (failed(verifySizes(op, space, "result", result, expected)))
    return failure();
  if (!grows && !getConstant(large[axis]) &&
      areDifferent(multiply(small[axis], size), large[axis]))
    return op->emitOpError() << "result times " << size
                             << " is not the operand's size along dim " << axis;
  return success();
}

DimensionRule commute::tp::getCollectiveRule(Operation *op, int64_t axis,
                                             int64_t unitSize) {
  DimensionRuleBuilder builder(op);
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    if (dim == axis) {
      unsigned unit = builder.addWhole(unitSize);
      builder.mapOperandUnits(0, dim, unit);
      builder.mapResultUnits(0, dim, unit);
      continue;
    }
    unsigned factor = builder.addParallel(input.getDimSize(dim));
    builder.mapOperand(0, dim, factor);
    builder.mapResult(0, dim, factor);
  }
  return std::move(builder).build();
}

/// Sends the same tensor to every member.
static FailureOr<SmallVector<AlgebraValue>>
exchangeAll(Algebra &algebra, Operation *op, GroupAttr group,
            const AlgebraValue &input) {
  SmallVector<AlgebraValue> toMembers(group.getSize(), input);
  return algebra.exchange(op, group, toMembers);
}

/// Equal blocks of a tensor along `axis`, one for each member.
static SmallVector<AlgebraValue> cutBlocks(Algebra &algebra,
                                           const AlgebraValue &input,
                                           int64_t axis, int64_t count) {
  SmallVector<AlgebraValue> blocks;
  int64_t size = input->getSizes()[axis] / count;
  for (int64_t index = 0; index < count; ++index)
    blocks.push_back(algebra.slice(input, axis, index * size, 1, size));
  return blocks;
}

/// What a collective over a whole tensor of type `whole` moves.
static std::optional<Communication>
getWholeCommunication(CommunicationKind kind, Type whole, int64_t axis,
                      SymbolValues symbols) {
  std::optional<int64_t> bytes = getNumBytes(whole, symbols);
  if (!bytes)
    return std::nullopt;
  return Communication{kind, *bytes, /*rearranges=*/axis != 0, std::nullopt};
}

//===----------------------------------------------------------------------===//
// tp.all_reduce
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() { return verifyKeepsShape(*this); }

DimensionRule AllReduceOp::getDimensionRule() {
  return getCollectiveRule(*this, /*axis=*/-1);
}

LogicalResult AllReduceOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<AlgebraValue>> inputs =
      exchangeAll(algebra, *this, getGroup(), operands[0]);
  if (failed(inputs))
    return failure();
  results.push_back(algebra.combine(getReduction(), *inputs,
                                    getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> AllReduceOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 1, symbols);
}

GroupAttr AllReduceOp::getCollectiveGroup() { return getGroup(); }

std::optional<Communication>
AllReduceOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllReduce,
                               getInput().getType(), /*axis=*/0, symbols);
}

//===----------------------------------------------------------------------===//
// tp.collective_broadcast
//===----------------------------------------------------------------------===//

LogicalResult CollectiveBroadcastOp::verify() {
  int64_t size = getGroup().getSize();
  if (static_cast<int64_t>(getRoot()) < 0 ||
      static_cast<int64_t>(getRoot()) >= size)
    return emitOpError() << "root is " << static_cast<int64_t>(getRoot())
                         << ", expected a position in a group of " << size;
  return verifyKeepsShape(*this);
}

DimensionRule CollectiveBroadcastOp::getDimensionRule() {
  return getCollectiveRule(*this, /*axis=*/-1);
}

LogicalResult
CollectiveBroadcastOp::evaluate(Algebra &algebra,
                                ArrayRef<AlgebraValue> operands,
                                SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<AlgebraValue>> inputs =
      exchangeAll(algebra, *this, getGroup(), operands[0]);
  if (failed(inputs))
    return failure();
  results.push_back((*inputs)[getRoot()]);
  return success();
}

std::optional<Work> CollectiveBroadcastOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 0, symbols);
}

GroupAttr CollectiveBroadcastOp::getCollectiveGroup() { return getGroup(); }

/// Every rank but one receives all bytes, as in an all-gather of them.
std::optional<Communication>
CollectiveBroadcastOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllGather,
                               getInput().getType(), /*axis=*/0, symbols);
}

//===----------------------------------------------------------------------===//
// tp.all_gather
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  return verifyScaledAxis(*this, "gather_axis", getGatherAxis(),
                          /*grows=*/true, getGroup().getSize());
}

DimensionRule AllGatherOp::getDimensionRule() {
  return getCollectiveRule(*this, getGatherAxis(),
                           getTensor(getInput()).getDimSize(getGatherAxis()));
}

LogicalResult AllGatherOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<AlgebraValue>> shards =
      exchangeAll(algebra, *this, getGroup(), operands[0]);
  if (failed(shards))
    return failure();
  results.push_back(algebra.concat(*shards, getGatherAxis()));
  return success();
}

std::optional<Work> AllGatherOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 0, symbols);
}

Strides AllGatherOp::inferStrides(unsigned, ArrayRef<StridedShape>,
                                  ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

GroupAttr AllGatherOp::getCollectiveGroup() { return getGroup(); }

std::optional<Communication>
AllGatherOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllGather,
                               getResult().getType(), getGatherAxis(), symbols);
}

bool AllGatherOp::requiresDense(OpOperand &) { return true; }

//===----------------------------------------------------------------------===//
// tp.reduce_scatter
//===----------------------------------------------------------------------===//

LogicalResult ReduceScatterOp::verify() {
  return verifyScaledAxis(*this, "scatter_axis", getScatterAxis(),
                          /*grows=*/false, getGroup().getSize());
}

DimensionRule ReduceScatterOp::getDimensionRule() {
  return getCollectiveRule(*this, getScatterAxis(),
                           getTensor(getResult()).getDimSize(getScatterAxis()));
}

LogicalResult
ReduceScatterOp::evaluate(Algebra &algebra, ArrayRef<AlgebraValue> operands,
                          SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<AlgebraValue>> blocks = algebra.exchange(
      *this, getGroup(),
      cutBlocks(algebra, operands[0], getScatterAxis(), getGroup().getSize()));
  if (failed(blocks))
    return failure();
  results.push_back(algebra.combine(getReduction(), *blocks,
                                    getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> ReduceScatterOp::getWork(SymbolValues symbols) {
  std::optional<Work> work = getStreamingWork(*this, 0, symbols);
  std::optional<int64_t> elements =
      evaluateNumElements(getTensor(getInput()), symbols);
  if (!work || !elements)
    return std::nullopt;
  work->elementwiseFlops = *elements;
  return work;
}

Strides ReduceScatterOp::inferStrides(unsigned, ArrayRef<StridedShape>,
                                      ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

GroupAttr ReduceScatterOp::getCollectiveGroup() { return getGroup(); }

std::optional<Communication>
ReduceScatterOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::ReduceScatter,
                               getInput().getType(), getScatterAxis(), symbols);
}

bool ReduceScatterOp::requiresDense(OpOperand &) { return true; }

//===----------------------------------------------------------------------===//
// tp.all_to_all
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::verify() {
  RankedTensorType input = getTensor(getInput());
  RankedTensorType result = getTensor(getResult());
  if (failed(verifyKeepsElementType(*this)) ||
      failed(verifyDim(*this, "dim 0", 0, input.getRank())))
    return failure();
  int64_t size = getGroup().getSize();
  SymbolSpace space(getContext());
  Sizes expected = space.getSizes(input);
  auto verifySplits = [&](StringRef what, ArrayRef<int64_t> splits,
                          RankedTensorType type) -> LogicalResult {
    if (splits.empty()) {
      if (!type.isDynamicDim(0) && type.getDimSize(0) % size != 0)
        return emitOpError() << "cannot cut size " << type.getDimSize(0)
                             << " along dim 0 into " << size << " equal pieces";
      return success();
    }
    if (static_cast<int64_t>(splits.size()) != size)
      return emitOpError() << what << " has " << splits.size()
                           << " pieces for a group of " << size;
    if (llvm::any_of(splits, [](int64_t rows) { return rows < 0; }))
      return emitOpError() << what << " has a negative piece";
    int64_t total = 0;
    for (int64_t rows : splits)
      if (llvm::AddOverflow(total, rows, total))
        return emitOpError() << what << " adds up to more than can be counted";
    if (!type.isDynamicDim(0) && type.getDimSize(0) != total)
      return emitOpError() << what << " adds up to " << total
                           << ", but dim 0 has size " << type.getDimSize(0);
    return success();
  };
  if (result.getRank() == input.getRank())
    expected[0] = space.getSizes(result)[0];
  if (failed(verifySizes(*this, space, "result", result, expected)) ||
      failed(verifySplits("input_splits", getInputSplits(), input)))
    return failure();
  return verifySplits("output_splits", getOutputSplits(), result);
}

/// Rows that all pieces are multiples of.
static int64_t getPieceUnit(AllToAllOp op) {
  int64_t size = op.getGroup().getSize();
  RankedTensorType input = getTensor(op.getInput());
  RankedTensorType result = getTensor(op.getResult());
  SmallVector<int64_t> pieces(op.getInputSplits());
  llvm::append_range(pieces, op.getOutputSplits());
  for (auto [splits, type] : {std::pair(op.getInputSplits(), input),
                              std::pair(op.getOutputSplits(), result)})
    if (splits.empty())
      pieces.push_back(type.isDynamicDim(0) ? ShapedType::kDynamic
                                            : type.getDimSize(0) / size);
  return getUnitSize(pieces);
}

DimensionRule AllToAllOp::getDimensionRule() {
  return getCollectiveRule(*this, /*axis=*/0, getPieceUnit(*this));
}

void AllToAllOp::scaleAttributes(const DimensionRule &rule,
                                 ArrayRef<int64_t> newSizes) {
  int64_t unit = getPieceUnit(*this);
  if (unit <= 0)
    return;
  int64_t newUnit = newSizes[rule.results[0][0].back()];
  auto scale = [&](ArrayRef<int64_t> splits) {
    SmallVector<int64_t> scaled;
    for (int64_t rows : splits)
      scaled.push_back(rows / unit * newUnit);
    return scaled;
  };
  setInputSplits(scale(getInputSplits()));
  setOutputSplits(scale(getOutputSplits()));
}

LogicalResult AllToAllOp::evaluate(Algebra &algebra,
                                   ArrayRef<AlgebraValue> operands,
                                   SmallVectorImpl<AlgebraValue> &results) {
  SmallVector<AlgebraValue> pieces;
  if (getInputSplits().empty()) {
    pieces = cutBlocks(algebra, operands[0], 0, getGroup().getSize());
  } else {
    int64_t start = 0;
    for (int64_t rows : getInputSplits()) {
      pieces.push_back(algebra.slice(operands[0], 0, start, 1, rows));
      start += rows;
    }
  }
  FailureOr<SmallVector<AlgebraValue>> received =
      algebra.exchange(*this, getGroup(), pieces);
  if (failed(received))
    return failure();
  for (auto [index, rows] : llvm::enumerate(getOutputSplits()))
    if ((*received)[index]->getSizes()[0] != rows)
      return emitError("expected ")
             << rows << " rows from member " << index << " of the group, but "
             << (*received)[index]->getSizes()[0] << " came";
  results.push_back(algebra.concat(*received, 0));
  return success();
}

std::optional<Work> AllToAllOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 0, symbols);
}

Strides AllToAllOp::inferStrides(unsigned, ArrayRef<StridedShape>,
                                 ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

GroupAttr AllToAllOp::getCollectiveGroup() { return getGroup(); }

std::optional<Communication>
AllToAllOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllToAll,
                               getInput().getType(), /*axis=*/0, symbols);
}

bool AllToAllOp::requiresDense(OpOperand &) { return true; }

//===----------------------------------------------------------------------===//
// tp.rank_slice
//===----------------------------------------------------------------------===//

LogicalResult RankSliceOp::verify() {
  return verifyScaledAxis(*this, "slice_axis", getSliceAxis(), /*grows=*/false,
                          getGroup().getSize());
}

DimensionRule RankSliceOp::getDimensionRule() {
  return getCollectiveRule(*this, getSliceAxis(),
                           getTensor(getResult()).getDimSize(getSliceAxis()));
}

LogicalResult RankSliceOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<int64_t> position = algebra.getPosition(getGroup());
  if (failed(position))
    return emitError("this rank is in no group of the op");
  results.push_back(cutBlocks(algebra, operands[0], getSliceAxis(),
                              getGroup().getSize())[*position]);
  return success();
}

std::optional<Work> RankSliceOp::getWork(SymbolValues) { return Work(); }

Strides RankSliceOp::inferStrides(unsigned,
                                  ArrayRef<StridedShape> operandShapes,
                                  ArrayRef<Size>) {
  return operandShapes[0].strides;
}

bool RankSliceOp::mayShareMemory() { return true; }
