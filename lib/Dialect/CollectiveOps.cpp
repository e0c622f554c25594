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

/// Infers a result that is `count` times as long as the input along `axis`.
static LogicalResult inferGathered(ShapeInference &inference, StringRef name,
                                   Value input, int64_t axis, int64_t count) {
  RankedTensorType type = getTensor(input);
  if (failed(inference.verifyDim(name, axis, type.getRank())))
    return failure();
  Sizes sizes = inference.getSizes(input);
  if (auto stated = inference.getStatedSizes();
      stated && stated->size() != sizes.size())
    return inference.emitOpError(
        "operand and result must have the same number of dims");
  sizes[axis] = multiply(sizes[axis], count);
  return inference.setResult(type.getElementType(), sizes);
}

/// Infers a result that is one of `count` equal blocks of the input along
/// `axis`.
static LogicalResult inferBlock(ShapeInference &inference, StringRef name,
                                Value input, int64_t axis, int64_t count) {
  RankedTensorType type = getTensor(input);
  if (failed(inference.verifyDim(name, axis, type.getRank())))
    return failure();
  Sizes sizes = inference.getSizes(input);
  std::optional<Sizes> stated = inference.getStatedSizes();
  if (stated && stated->size() != sizes.size())
    return inference.emitOpError(
        "operand and result must have the same number of dims");
  if (stated && !getConstant(sizes[axis])) {
    // Check the size of the block by that of the whole.
    if (areDifferent(multiply((*stated)[axis], count), sizes[axis]))
      return inference.emitOpError()
             << "size of the operand along dim " << axis << " must be " << count
             << " times that of the result";
    sizes[axis] = (*stated)[axis];
    return inference.setResult(type.getElementType(), sizes);
  }
  FailureOr<Size> block = getBlockSize(inference, sizes[axis], axis, count);
  if (failed(block))
    return failure();
  sizes[axis] = *block;
  return inference.setResult(type.getElementType(), sizes);
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

/// Splits a tensor into equal blocks along `axis`, one for each member.
static SmallVector<AlgebraValue> cutBlocks(Algebra &algebra,
                                           const AlgebraValue &input,
                                           int64_t axis, int64_t count) {
  SmallVector<AlgebraValue> blocks;
  int64_t size = input->getSizes()[axis] / count;
  for (int64_t index = 0; index < count; ++index)
    blocks.push_back(algebra.slice(input, axis, index * size, 1, size));
  return blocks;
}

/// Returns the communication of a collective on a whole tensor of type `whole`.
static std::optional<Communication>
getWholeCommunication(CommunicationKind kind, Type whole, int64_t axis,
                      SymbolValues symbols) {
  std::optional<int64_t> bytes = getNumBytes(whole, symbols);
  if (!bytes)
    return std::nullopt;
  return Communication{kind, *bytes, /*rearranges=*/axis != 0, std::nullopt};
}

std::string
commute::tp::getCollectiveText(Operation *op,
                               std::optional<ReductionKind> reduction,
                               std::optional<int64_t> axis) {
  std::string text = op->getName().getStringRef().str();
  if (reduction)
    text += " " + stringifyReductionKind(*reduction).str();
  if (axis)
    text += " along dim " + std::to_string(*axis);
  return text;
}

//===----------------------------------------------------------------------===//
// tp.all_reduce
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::inferShapes(Adaptor op, ShapeInference &inference) {
  return inference.setResultLike(op.getInput());
}

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

SmallVector<PlacementAttr>
AllReduceOp::inferPlacements(ArrayRef<PlacementAttr>) {
  return {PlacementAttr::getReplicated(getContext())};
}

std::optional<Communication>
AllReduceOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllReduce,
                               getInput().getType(), /*axis=*/0, symbols);
}

//===----------------------------------------------------------------------===//
// tp.collective_broadcast
//===----------------------------------------------------------------------===//

LogicalResult CollectiveBroadcastOp::inferShapes(Adaptor op,
                                                 ShapeInference &inference) {
  int64_t root = op.getRoot(), size = op.getGroup().getSize();
  if (root < 0 || root >= size)
    return inference.emitOpError()
           << "root is " << root << ", expected a position in a group of "
           << size;
  return inference.setResultLike(op.getInput());
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

SmallVector<PlacementAttr>
CollectiveBroadcastOp::inferPlacements(ArrayRef<PlacementAttr>) {
  return {PlacementAttr::getReplicated(getContext())};
}

std::string CollectiveBroadcastOp::getCollectiveText() {
  return getOperationName().str() + " from position " +
         std::to_string(getRoot());
}

/// All ranks but one receive all bytes, as in an all-gather of that size.
std::optional<Communication>
CollectiveBroadcastOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllGather,
                               getInput().getType(), /*axis=*/0, symbols);
}

//===----------------------------------------------------------------------===//
// tp.all_gather
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::inferShapes(Adaptor op, ShapeInference &inference) {
  return inferGathered(inference, "gather_axis", op.getInput(),
                       op.getGatherAxis(), op.getGroup().getSize());
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

Strides AllGatherOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                                  ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

SmallVector<PlacementAttr>
AllGatherOp::inferPlacements(ArrayRef<PlacementAttr>) {
  return {PlacementAttr::getReplicated(getContext())};
}

std::optional<Communication>
AllGatherOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllGather,
                               getResult().getType(), getGatherAxis(), symbols);
}

bool AllGatherOp::requiresDense(OpOperand &) { return true; }

//===----------------------------------------------------------------------===//
// tp.reduce_scatter
//===----------------------------------------------------------------------===//

LogicalResult ReduceScatterOp::inferShapes(Adaptor op,
                                           ShapeInference &inference) {
  return inferBlock(inference, "scatter_axis", op.getInput(),
                    op.getScatterAxis(), op.getGroup().getSize());
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

Strides ReduceScatterOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                                      ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

SmallVector<PlacementAttr>
ReduceScatterOp::inferPlacements(ArrayRef<PlacementAttr>) {
  return {PlacementAttr::getShard(getContext(), getScatterAxis())};
}

std::optional<Communication>
ReduceScatterOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::ReduceScatter,
                               getInput().getType(), getScatterAxis(), symbols);
}

bool ReduceScatterOp::requiresDense(OpOperand &) { return true; }

//===----------------------------------------------------------------------===//
// tp.all_to_all
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType input = getTensor(op.getInput());
  if (failed(inference.verifyDim("dim 0", 0, input.getRank())))
    return failure();
  int64_t count = op.getGroup().getSize();
  // Returns the number of rows of all pieces; unknown for equal pieces.
  auto getTotal = [&](StringRef name,
                      ArrayRef<int64_t> splits) -> FailureOr<Size> {
    if (splits.empty())
      return Size();
    if (static_cast<int64_t>(splits.size()) != count)
      return inference.emitOpError()
             << name << " has " << splits.size() << " entries, expected "
             << count << ", one for each member of the group";
    if (llvm::any_of(splits, [](int64_t rows) { return rows < 0; }))
      return inference.emitOpError() << name << " has a negative entry";
    int64_t total = 0;
    for (int64_t rows : splits)
      if (llvm::AddOverflow(total, rows, total))
        return inference.emitOpError()
               << name << " adds up to more than fits in 64 bits";
    return Size(total);
  };
  auto verifyRows = [&](StringRef name, const Size &total,
                        const Size &rows) -> LogicalResult {
    std::optional<int64_t> number = getConstant(rows);
    if (!number)
      return success();
    if (!total && *number % count != 0)
      return inference.emitOpError()
             << "cannot cut size " << *number << " along dim 0 into " << count
             << " equal pieces";
    if (total && getConstant(total) != number)
      return inference.emitOpError()
             << name << " adds up to " << *getConstant(total)
             << ", but dim 0 has size " << *number;
    return success();
  };
  Sizes sizes = inference.getSizes(op.getInput());
  FailureOr<Size> sent = getTotal("input_splits", op.getInputSplits());
  if (failed(sent) || failed(verifyRows("input_splits", *sent, sizes[0])))
    return failure();
  FailureOr<Size> received = getTotal("output_splits", op.getOutputSplits());
  if (failed(received))
    return failure();
  std::optional<Sizes> stated = inference.getStatedSizes();
  if (stated && stated->size() == sizes.size())
    sizes[0] = (*stated)[0];
  else if (*received)
    sizes[0] = *received;
  if (failed(inference.setResult(input.getElementType(), sizes)))
    return failure();
  return verifyRows("output_splits", *received, sizes[0]);
}

/// The number of rows of every piece is a multiple of this unit.
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
      return emitError("expected ") << rows << " rows from member " << index
                                    << " of the group, but received "
                                    << (*received)[index]->getSizes()[0];
  results.push_back(algebra.concat(*received, 0));
  return success();
}

std::optional<Work> AllToAllOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 0, symbols);
}

Strides AllToAllOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                                 ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

SmallVector<PlacementAttr>
AllToAllOp::inferPlacements(ArrayRef<PlacementAttr>) {
  return {PlacementAttr::getVarying(getContext())};
}

std::optional<Communication>
AllToAllOp::getCommunication(SymbolValues symbols) {
  return getWholeCommunication(CommunicationKind::AllToAll,
                               getInput().getType(), /*axis=*/0, symbols);
}

bool AllToAllOp::requiresDense(OpOperand &) { return true; }

//===----------------------------------------------------------------------===//
// tp.rank_slice
//===----------------------------------------------------------------------===//

LogicalResult RankSliceOp::inferShapes(Adaptor op, ShapeInference &inference) {
  return inferBlock(inference, "slice_axis", op.getInput(), op.getSliceAxis(),
                    op.getGroup().getSize());
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
    return emitError("this rank is not a member of the op's group");
  results.push_back(cutBlocks(algebra, operands[0], getSliceAxis(),
                              getGroup().getSize())[*position]);
  return success();
}

std::optional<Work> RankSliceOp::getWork(SymbolValues) { return Work(); }

Strides RankSliceOp::inferStrides(Adaptor, unsigned,
                                  ArrayRef<StridedShape> operandShapes,
                                  ArrayRef<Size>) {
  return operandShapes[0].strides;
}

bool RankSliceOp::mayShareMemory() { return true; }

SmallVector<PlacementAttr>
RankSliceOp::inferPlacements(ArrayRef<PlacementAttr> operands) {
  bool isReplicated =
      operands[0] && operands[0].getKind() == PlacementKind::Replicated;
  return {isReplicated ? PlacementAttr::getShard(getContext(), getSliceAxis())
                       : PlacementAttr::getVarying(getContext())};
}
