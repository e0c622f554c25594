//===- TensorCast.cpp - operators of Ascend's TensorCast --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// TensorCast's collectives identify their group by a list of ranks, are
// synchronous, and act on any dim. In tp, such a group has no name.
//
//===----------------------------------------------------------------------===//

#include "TensorCast.h"

#include "NodeReader.h"
#include "NodeWriter.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

/// Returns the groups of which `rank_group` is the one around `rank`; null if
/// `rank` is not a member, and if too little is known of other ranks.
static tp::GroupAttr readGroup(NodeReader &reader) {
  std::optional<int64_t> rank = reader.integer("rank");
  std::optional<SmallVector<int64_t>> ranks = reader.integers("rank_group");
  if (!rank || !ranks || ranks->empty() || !llvm::is_contained(*ranks, *rank))
    return {};
  SmallVector<int64_t> sorted(*ranks);
  llvm::sort(sorted);
  if (sorted.front() < 0 || sorted.back() >= tp::GroupAttr::maxRanks ||
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return {};
  if (!reader.noteRank(*rank)) {
    (void)reader.fail("rank is " + llvm::Twine(*rank) +
                      "; another node, the sidecar or --rank states another "
                      "rank for this graph");
    return {};
  }
  return reader.groupOfRanks(*ranks);
}

static LogicalResult readAllReduce(NodeReader &reader) {
  Value input = reader.tensor("x");
  RankedTensorType type = reader.getResultType();
  tp::GroupAttr group = readGroup(reader);
  if (!input || !type || !group)
    return failure();
  return reader.result(reader.create<tp::AllReduceOp>(
      type, tp::ReductionKind::Sum, input, group, /*async=*/false));
}

static LogicalResult readAllGather(NodeReader &reader) {
  Value input = reader.tensor("x");
  RankedTensorType type = reader.getResultType();
  tp::GroupAttr group = readGroup(reader);
  if (!input || !type || !group)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(input).getRank());
  if (!dim)
    return failure();
  return reader.result(
      reader.create<tp::AllGatherOp>(type, input, *dim, group, false));
}

static LogicalResult readReduceScatter(NodeReader &reader) {
  Value input = reader.tensor("x");
  RankedTensorType type = reader.getResultType();
  tp::GroupAttr group = readGroup(reader);
  if (!input || !type || !group)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(input).getRank());
  if (!dim)
    return failure();
  return reader.result(reader.create<tp::ReduceScatterOp>(
      type, tp::ReductionKind::Sum, input, *dim, group, false));
}

static LogicalResult readAllToAll(NodeReader &reader) {
  Value input = reader.tensor("x");
  RankedTensorType type = reader.getResultType();
  tp::GroupAttr group = readGroup(reader);
  std::optional<SmallVector<int64_t>> outputs =
      reader.integers("output_split_sizes");
  std::optional<SmallVector<int64_t>> inputs =
      reader.integers("input_split_sizes");
  if (!input || !type || !group || !outputs || !inputs ||
      getTensor(input).getRank() == 0)
    return failure();
  return reader.result(reader.create<tp::AllToAllOp>(type, input, *outputs,
                                                     *inputs, group, false));
}

static LogicalResult readRmsNorm(NodeReader &reader) {
  Value input = reader.tensor("x");
  Value weight = reader.tensor("weight");
  RankedTensorType type = reader.getResultType();
  std::optional<double> epsilon = reader.number("eps");
  // TensorCast's operator always has a weight, others that are defined as it
  // may not.
  if (!input || !type || !epsilon || (!weight && !reader.isAbsent("weight")))
    return failure();
  int64_t numDims = weight ? getTensor(weight).getRank() : 1;
  return reader.result(reader.create<tp::RmsNormOp>(
      type, input, weight, reader.getBuilder().getF64FloatAttr(*epsilon),
      numDims));
}

/// add_rms_norm returns the norm, add_rms_norm2 the norm and the sum.
static LogicalResult readAddRmsNorm(NodeReader &reader) {
  Value input = reader.tensor("x");
  Value residual = reader.tensor("residual");
  Value weight = reader.tensor("weight");
  std::optional<double> epsilon = reader.number("eps");
  RankedTensorType normalized = reader.getResultType(0);
  Type sum;
  if (reader.getNumResults() == 2)
    sum = reader.getResultType(1);
  if (!input || !residual || !weight || !epsilon || !normalized ||
      getTensor(weight).getRank() != 1 ||
      (reader.getNumResults() == 2) != bool(sum))
    return failure();
  auto op = reader.create<tp::AddRmsNormOp>(
      normalized, sum, input, residual, weight,
      reader.getBuilder().getF64FloatAttr(*epsilon));
  reader.setResult(0, op.getNormalized());
  if (sum)
    reader.setResult(1, op.getSum());
  return success();
}

template <tp::RegionMarkerKind kind>
static LogicalResult readMarker(NodeReader &reader) {
  Value input = reader.tensor("x");
  std::optional<int64_t> id = reader.integer("id");
  RankedTensorType type = reader.getResultType();
  if (!input || !id || !type)
    return failure();
  return reader.result(
      reader.create<tp::RegionMarkerOp>(type, kind, input, *id));
}

LogicalResult vocabulary::writeTensorCastCollective(Operation *op,
                                                    NodeWriter &writer) {
  auto collective = cast<tp::CollectiveOpInterface>(op);
  tp::GroupAttr group = collective.getCollectiveGroup();
  auto module = op->getParentOfType<ModuleOp>();
  auto rank = module->getAttrOfType<IntegerAttr>(tp::TPDialect::rankAttrName);
  if (!rank || !group.getPosition(rank.getInt()))
    return op->emitError("TensorCast's collectives take their rank as an "
                         "argument, and the rank is unknown: pass --rank=R");
  NodeBuilder node = [&] {
    if (isa<tp::AllReduceOp>(op))
      return writer.node(op->getLoc(),
                         "torch.ops.tensor_cast.all_reduce.default");
    if (isa<tp::AllGatherOp>(op))
      return writer.node(op->getLoc(),
                         "torch.ops.tensor_cast.all_gather.default");
    if (isa<tp::ReduceScatterOp>(op))
      return writer.node(op->getLoc(),
                         "torch.ops.tensor_cast.reduce_scatter.default");
    return writer.node(op->getLoc(),
                       "torch.ops.tensor_cast.all_to_all.default");
  }();
  node.tensor("x", op->getOperand(0));
  std::optional<tp::ReductionKind> reduction;
  if (auto reduce = dyn_cast<tp::AllReduceOp>(op)) {
    reduction = reduce.getReduction();
  } else if (auto gather = dyn_cast<tp::AllGatherOp>(op)) {
    node.integer("dim", gather.getGatherAxis());
  } else if (auto scatter = dyn_cast<tp::ReduceScatterOp>(op)) {
    reduction = scatter.getReduction();
    node.integer("dim", scatter.getScatterAxis());
  } else if (auto exchange = dyn_cast<tp::AllToAllOp>(op)) {
    node.integers("output_split_sizes", exchange.getOutputSplits())
        .integers("input_split_sizes", exchange.getInputSplits());
  } else {
    return op->emitError("TensorCast has no such collective");
  }
  if (reduction && *reduction != tp::ReductionKind::Sum)
    return op->emitError(
        "TensorCast's collectives support only the reduction sum");
  return node.integer("rank", rank.getInt())
      .integers("rank_group", group.getMembersAround(rank.getInt()))
      .finish(op->getResult(0));
}

static constexpr llvm::StringLiteral rmsNormTarget =
    "torch.ops.tensor_cast.rms_norm.default";

bool vocabulary::isTensorCastNorm(tp::RmsNormOp op, const NodeWriter &writer) {
  return writer.isReadFrom(op, rmsNormTarget) && op.getEpsilon();
}

LogicalResult vocabulary::writeTensorCastNorm(tp::RmsNormOp op,
                                              NodeWriter &writer) {
  return writer.node(op.getLoc(), rmsNormTarget)
      .tensor("x", op.getInput())
      .optionalTensor("weight", op.getWeight())
      .number("eps", op.getEpsilon()->convertToDouble())
      .finish(op.getResult());
}

static LogicalResult writeMarker(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::RegionMarkerOp>(operation);
  StringRef target =
      "torch.ops.tensor_cast._internal_mark_region_begin.default";
  if (op.getKind() == tp::RegionMarkerKind::End)
    target = "torch.ops.tensor_cast._internal_mark_region_end.default";
  if (op.getKind() == tp::RegionMarkerKind::Copy)
    target = "torch.ops.tensor_cast._internal_copy_region.default";
  return writer.node(op.getLoc(), target)
      .tensor("x", op.getInput())
      .integer("id", op.getId())
      .finish(op.getResult());
}

static LogicalResult writeAddRmsNorm(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::AddRmsNormOp>(operation);
  NodeBuilder node = writer.node(
      op.getLoc(), op.getSum() ? "torch.ops.tensor_cast.add_rms_norm2.default"
                               : "torch.ops.tensor_cast.add_rms_norm.default");
  node.tensor("x", op.getInput())
      .tensor("residual", op.getResidual())
      .optionalTensor("weight", op.getWeight())
      .number("eps", op.getEpsilon().convertToDouble());
  return node.finish(op.getResults());
}

void vocabulary::addTensorCast(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.tensor_cast.all_reduce.default", readAllReduce);
  vocabulary.add("torch.ops.tensor_cast.all_gather.default", readAllGather);
  vocabulary.add("torch.ops.tensor_cast.reduce_scatter.default",
                 readReduceScatter);
  vocabulary.add("torch.ops.tensor_cast.all_to_all.default", readAllToAll);
  vocabulary.add(rmsNormTarget, readRmsNorm);
  vocabulary.add({"torch.ops.tensor_cast.add_rms_norm.default",
                  "torch.ops.tensor_cast.add_rms_norm2.default"},
                 readAddRmsNorm);
  vocabulary.add("torch.ops.tensor_cast._internal_mark_region_begin.default",
                 readMarker<tp::RegionMarkerKind::Begin>);
  vocabulary.add("torch.ops.tensor_cast._internal_mark_region_end.default",
                 readMarker<tp::RegionMarkerKind::End>);
  vocabulary.addView({"torch.ops.tensor_cast._internal_copy_region.default"},
                     readMarker<tp::RegionMarkerKind::Copy>);
  vocabulary.addWriter<tp::RegionMarkerOp>(writeMarker);
  vocabulary.addWriter<tp::AddRmsNormOp>(writeAddRmsNorm);
}
