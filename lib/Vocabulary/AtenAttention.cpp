//===- AtenAttention.cpp - ATen attention -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

static constexpr StringLiteral kernelTarget =
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default";
static constexpr StringLiteral backwardTarget =
    "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward."
    "default";

/// The scale of an attention: null for the default, nullopt if it is unknown.
static std::optional<FloatAttr> getScale(NodeReader &reader) {
  if (reader.isAbsent("scale"))
    return FloatAttr();
  std::optional<double> number = reader.number("scale");
  return number ? std::optional(reader.getBuilder().getF64FloatAttr(*number))
                : std::nullopt;
}

/// Returns true if several heads of the query share one head of the key, which
/// kernels infer from the sizes alone.
static bool groupsHeads(Value query, Value key) {
  RankedTensorType ofQuery = getTensor(query), ofKey = getTensor(key);
  int64_t headDim = ofQuery.getRank() - 3;
  return headDim >= 0 && ofKey.getRank() == ofQuery.getRank() &&
         ofQuery.getDimSize(headDim) != ofKey.getDimSize(headDim);
}

/// Reads an attention. The kernels that ATen decomposes attention into group
/// heads without a flag.
static LogicalResult setAttention(NodeReader &reader, bool isKernel) {
  Value query = reader.tensor("query");
  Value key = reader.tensor("key");
  Value value = reader.tensor("value");
  RankedTensorType type = reader.getResultType();
  std::optional<bool> isCausal = reader.boolean("is_causal", false);
  std::optional<bool> isGrouped = reader.boolean("enable_gqa", false);
  std::optional<double> dropout = reader.number("dropout_p", 0.0);
  if (!query || !key || !value || !type || !isCausal || !isGrouped ||
      dropout != 0.0)
    return failure();
  // Elsewhere, a single head of keys is broadcast.
  bool isBroadcast = getTensor(key).getRank() >= 3 &&
                     getTensor(key).getShape().drop_back(2).back() == 1;
  if (isKernel || isBroadcast)
    isGrouped = groupsHeads(query, key);
  // The second result (logsumexp) is needed only in the backward graph, and the
  // others only for dropout.
  bool hasLogsumexp = isKernel && reader.isResultUsed(1);
  for (size_t index = 2; index < reader.getNumResults(); ++index)
    if (reader.isResultUsed(index))
      return failure();
  Value mask;
  if (!reader.isAbsent("attn_mask")) {
    mask = reader.tensor("attn_mask");
    if (!mask)
      return failure();
  }
  std::optional<FloatAttr> scale = getScale(reader);
  if (!scale)
    return failure();
  auto op = reader.create<tp::AttentionOp>(
      type, hasLogsumexp ? reader.getResultType(1) : Type(), query, key, value,
      mask, *isCausal, *isGrouped, *scale);
  if (hasLogsumexp)
    reader.setResult(1, op.getLogsumexp());
  return reader.result(op.getResult());
}

static LogicalResult readAttention(NodeReader &reader) {
  return setAttention(reader, /*isKernel=*/reader.getNumResults() > 1);
}

/// The form without a kernel, whose second result are the weights.
static LogicalResult readAttentionMath(NodeReader &reader) {
  if (!reader.isAbsent("dropout_mask") || reader.getNumResults() != 2 ||
      reader.isResultUsed(1))
    return failure();
  return setAttention(reader, /*isKernel=*/false);
}

static LogicalResult readAttentionBackward(NodeReader &reader) {
  SmallVector<Value> tensors;
  for (StringRef name :
       {"grad_out", "query", "key", "value", "out", "logsumexp"}) {
    tensors.push_back(reader.tensor(name));
    if (!tensors.back())
      return failure();
  }
  std::optional<bool> isCausal = reader.boolean("is_causal", false);
  std::optional<FloatAttr> scale = getScale(reader);
  Value mask;
  if (!reader.isAbsent("attn_mask")) {
    mask = reader.tensor("attn_mask");
    if (!mask)
      return failure();
  }
  RankedTensorType types[3];
  for (size_t index = 0; index < 3; ++index) {
    types[index] = reader.getResultType(index);
    if (!types[index])
      return failure();
  }
  if (!isCausal || !scale || reader.number("dropout_p", 0.0) != 0.0)
    return failure();
  bool isGrouped = groupsHeads(tensors[1], tensors[2]);
  auto op = reader.create<tp::AttentionBackwardOp>(
      types[0], types[1], types[2], tensors[0], tensors[1], tensors[2],
      tensors[3], tensors[4], tensors[5], mask, *isCausal, isGrouped, *scale);
  for (auto [index, result] : llvm::enumerate(op.getResults()))
    reader.setResult(index, result);
  return success();
}

/// Arguments of the CPU kernels after the tensors.
template <typename Op>
static LogicalResult finishKernel(Op op, NodeBuilder &node) {
  node.number("dropout_p", 0.0).boolean("is_causal", op.getIsCausal());
  node.keywords().optionalTensor("attn_mask", op.getMask());
  if (op.getScale())
    node.number("scale", op.getScale()->convertToDouble());
  return node.finish(op->getResults());
}

static LogicalResult writeAttentionBackward(Operation *operation,
                                            NodeWriter &writer) {
  auto op = cast<tp::AttentionBackwardOp>(operation);
  NodeBuilder node = writer.node(op.getLoc(), backwardTarget);
  node.tensor("grad_out", op.getGradient())
      .tensor("query", op.getQuery())
      .tensor("key", op.getKey())
      .tensor("value", op.getValue())
      .tensor("out", op.getOutput())
      .tensor("logsumexp", op.getLogsumexp());
  return finishKernel(op, node);
}

static LogicalResult writeAttention(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::AttentionOp>(operation);
  if (op.getLogsumexp()) {
    // Only kernels return the logarithms.
    auto target = op->getAttrOfType<StringAttr>(tp::TPDialect::targetAttrName);
    if (!target || target.getValue() != kernelTarget)
      return op.emitError("cannot write an attention that returns the "
                          "logarithms of the sums of exponentials, except as ")
             << kernelTarget;
    NodeBuilder node = writer.node(op.getLoc(), kernelTarget);
    node.tensor("query", op.getQuery())
        .tensor("key", op.getKey())
        .tensor("value", op.getValue());
    return finishKernel(op, node);
  }
  NodeBuilder node = writer.node(
      op.getLoc(), "torch.ops.aten.scaled_dot_product_attention.default");
  node.tensor("query", op.getQuery())
      .tensor("key", op.getKey())
      .tensor("value", op.getValue())
      .optionalTensor("attn_mask", op.getMask())
      .number("dropout_p", 0.0)
      .boolean("is_causal", op.getIsCausal())
      .keywords();
  if (op.getScale())
    node.number("scale", op.getScale()->convertToDouble());
  if (op.getGroupedHeads())
    node.boolean("enable_gqa", true);
  return node.finish(op.getResult());
}

void vocabulary::addAtenAttention(Vocabulary &vocabulary) {
  vocabulary.add(
      {"torch.ops.aten.scaled_dot_product_attention.default",
       "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default",
       "torch.ops.aten._scaled_dot_product_flash_attention.default"},
      readAttention);
  vocabulary.add("torch.ops.aten._scaled_dot_product_attention_math.default",
                 readAttentionMath);
  vocabulary.add(backwardTarget, readAttentionBackward);
  vocabulary.addWriter<tp::AttentionOp>(writeAttention);
  vocabulary.addWriter<tp::AttentionBackwardOp>(writeAttentionBackward);
}
