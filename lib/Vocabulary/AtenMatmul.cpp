//===- AtenMatmul.cpp - ATen products and attention -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "NodeReader.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult setMatmul(NodeReader &reader, Value lhs, Value rhs,
                               Value bias, bool transposeRhs) {
  RankedTensorType type = reader.getResultType();
  // Products with vectors follow other rules, and are not worth sharding.
  if (!lhs || !rhs || !type || getTensor(lhs).getRank() < 2 ||
      getTensor(rhs).getRank() < 2)
    return failure();
  return reader.result(reader.create<tp::MatmulOp>(
      type, lhs, rhs, bias, /*lhs_scale=*/Value(), /*rhs_scale=*/Value(),
      /*transpose_lhs=*/false, transposeRhs));
}

static LogicalResult readMm(NodeReader &reader) {
  return setMatmul(reader, reader.tensor("self"), reader.tensor("mat2"),
                   Value(), /*transposeRhs=*/false);
}

static LogicalResult readMatmul(NodeReader &reader) {
  return setMatmul(reader, reader.tensor("self"), reader.tensor("other"),
                   Value(), /*transposeRhs=*/false);
}

static LogicalResult readLinear(NodeReader &reader) {
  Value bias;
  if (!reader.isAbsent("bias")) {
    bias = reader.tensor("bias");
    if (!bias)
      return failure();
  }
  return setMatmul(reader, reader.tensor("input"), reader.tensor("weight"),
                   bias, /*transposeRhs=*/true);
}

/// addmm and baddbmm: self * beta + (lhs @ rhs) * alpha. A plain sum is a
/// product with a bias.
static LogicalResult readAddProduct(NodeReader &reader) {
  bool isBatched = reader.find("batch1");
  Value bias = reader.tensor("self");
  Value lhs = reader.tensor(isBatched ? "batch1" : "mat1");
  Value rhs = reader.tensor(isBatched ? "batch2" : "mat2");
  std::optional<double> beta = reader.number("beta", 1);
  std::optional<double> alpha = reader.number("alpha", 1);
  RankedTensorType type = reader.getResultType();
  if (!bias || !beta || !alpha || !type)
    return failure();
  if (beta == 1.0 && alpha == 1.0)
    return setMatmul(reader, lhs, rhs, bias, /*transposeRhs=*/false);
  if (!lhs || !rhs || !isa<FloatType>(type.getElementType()))
    return failure();
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  Formula f(reader, type.getElementType());
  Value sum = f.multiply(
      f.of(reader.create<tp::MatmulOp>(
          reader.getSymbols().getType(type.getElementType(), sizes,
                                      tp::getContiguousStrides(sizes)),
          lhs, rhs, /*bias=*/Value(), /*lhs_scale=*/Value(),
          /*rhs_scale=*/Value(), /*transpose_lhs=*/false,
          /*transpose_rhs=*/false)),
      f.number(*alpha));
  // With beta = 0, PyTorch ignores self, whatever it holds.
  if (*beta != 0)
    sum = f.add(sum, f.multiply(f.of(bias), f.number(*beta)));
  return f.result(0, sum);
}

/// Returns the name of the format of operands with several scales per row. The
/// export schema has no type for elements of 4 bits.
static StringRef getBlockFormat(bool hasFourBits, Value scale) {
  Type type = getTensor(scale).getElementType();
  if (isa<Float8E8M0FNUType>(type))
    return hasFourBits ? "MXFP4 scales (one for 32 elements)"
                       : "MXFP8 scales (one for 32 elements)";
  if (isa<Float8E4M3FNType>(type))
    return "NVFP4 scales (one for 16 elements)";
  return "block-wise scales";
}

static LogicalResult declineScales(NodeReader &reader, const Twine &scales) {
  return reader.decline("it is a product with " + scales +
                        ", and PyTorch's fused products take one scale for a "
                        "tensor or for each row");
}

/// Creates a scaled product, whose scales are one for a tensor or one for each
/// row of the left-hand side and each column of the right-hand side.
static LogicalResult createScaledProduct(NodeReader &reader, Value lhsScale,
                                         Value rhsScale) {
  Value lhs = reader.tensor("self");
  Value rhs = reader.tensor("mat2");
  RankedTensorType type = reader.getResultType();
  Value bias;
  if (!reader.isAbsent("bias")) {
    bias = reader.tensor("bias");
    if (!bias)
      return failure();
  }
  if (!lhsScale || !rhsScale || !reader.boolean("use_fast_accum", false))
    return failure();
  auto isModelled = [](Value scale) {
    RankedTensorType type = getTensor(scale);
    return tp::hasOneElement(type) ||
           (type.hasStaticShape() && type.getRank() == 2 &&
            (type.getDimSize(0) == 1 || type.getDimSize(1) == 1));
  };
  for (Value scale : {lhsScale, rhsScale})
    if (!isModelled(scale))
      return declineScales(reader, getBlockFormat(!lhs || !rhs, scale));
  if (!lhs || !rhs || !type)
    return failure();
  return reader.result(reader.create<tp::MatmulOp>(
      type, lhs, rhs, bias, lhsScale, rhsScale, false, false));
}

/// _scaled_mm(self, mat2, scale_a, scale_b, bias, scale_result, out_dtype,
/// use_fast_accum): the fp8 product.
static LogicalResult readScaledMm(NodeReader &reader) {
  if (!reader.isAbsent("scale_result"))
    return failure();
  return createScaledProduct(reader, reader.tensor("scale_a"),
                             reader.tensor("scale_b"));
}

/// _scaled_mm_v2(self, mat2, scale_a, recipe_a, swizzle_a, scale_b, recipe_b,
/// swizzle_b, bias, out_dtype, contraction_dim, use_fast_accum): the form of
/// torch.nn.functional.scaled_mm, whose recipes name the format of the scales.
static LogicalResult readScaledMmV2(NodeReader &reader) {
  // torch.nn.functional.ScalingType.
  enum Recipe { TensorWise, RowWise, BlockWise1x16, BlockWise1x32 };
  auto readScale = [&](const char *scale, const char *recipe,
                       const char *swizzle, Value &result) -> LogicalResult {
    std::optional<SmallVector<Value>> tensors = reader.tensors(scale);
    std::optional<SmallVector<int64_t>> recipes = reader.integers(recipe);
    std::optional<SmallVector<int64_t>> swizzles = reader.integers(swizzle);
    if (!tensors || !recipes || !swizzles || tensors->empty() ||
        recipes->empty())
      return failure();
    int64_t first = recipes->front();
    if (first == BlockWise1x16 || first == BlockWise1x32)
      return declineScales(
          reader, getBlockFormat(!reader.tensor("self"), tensors->front()));
    if (first != TensorWise && first != RowWise)
      return declineScales(reader, "block-wise scales");
    result = tensors->front();
    return success(
        tensors->size() == 1 && recipes->size() == 1 &&
        llvm::all_of(*swizzles, [](int64_t value) { return value == 0; }));
  };
  Value lhsScale, rhsScale;
  if (failed(readScale("scale_a", "recipe_a", "swizzle_a", lhsScale)) ||
      failed(readScale("scale_b", "recipe_b", "swizzle_b", rhsScale)))
    return failure();
  std::optional<SmallVector<int64_t>> contraction =
      reader.isAbsent("contraction_dim") ? SmallVector<int64_t>()
                                         : reader.integers("contraction_dim");
  if (!contraction || !contraction->empty())
    return failure();
  return createScaledProduct(reader, lhsScale, rhsScale);
}

/// Writes the transposed operand as a node of its own, because PyTorch's
/// products have no transposition flags.
static StringRef writeTransposed(Value operand, NodeWriter &writer) {
  RankedTensorType type = getTensor(operand);
  tp::SymbolSpace symbols(type.getContext());
  tp::StridedShape shape = symbols.getShape(type);
  int64_t rank = type.getRank();
  std::swap(shape.sizes[rank - 2], shape.sizes[rank - 1]);
  if (shape.strides)
    std::swap((*shape.strides)[rank - 2], (*shape.strides)[rank - 1]);
  return writer.node(operand.getLoc(), "torch.ops.aten.transpose.int")
      .tensor("self", operand)
      .integer("dim0", rank - 2)
      .integer("dim1", rank - 1)
      .finishIntermediate(
          symbols.getType(type.getElementType(), shape.sizes, shape.strides));
}

/// Flattens all dims but the last one. Scaled products take their operands and
/// row scales in this form.
static RankedTensorType getFlattened(RankedTensorType type) {
  tp::SymbolSpace symbols(type.getContext());
  tp::Sizes sizes = symbols.getSizes(type);
  tp::Size rows = 1;
  for (const tp::Size &size : ArrayRef(sizes).drop_back())
    rows = tp::multiply(rows, size);
  tp::Sizes flattened{rows, sizes.back()};
  return symbols.getType(type.getElementType(), flattened,
                         tp::getContiguousStrides(flattened));
}

static StringRef writeFlattened(Value value, NodeWriter &writer) {
  RankedTensorType type = getTensor(value);
  if (type.getRank() <= 2)
    return writer.getName(value);
  return writer.node(value.getLoc(), "torch.ops.aten.flatten.using_ints")
      .tensor("self", value)
      .integer("start_dim", 0)
      .integer("end_dim", type.getRank() - 2)
      .finishIntermediate(getFlattened(type));
}

/// `_scaled_mm` accepts matrices only.
static LogicalResult writeScaledMm(tp::MatmulOp op, StringRef rhs,
                                   NodeWriter &writer) {
  RankedTensorType type = getTensor(op.getResult());
  bool isMatrix = getTensor(op.getLhs()).getRank() == 2;
  StringRef lhs = writeFlattened(op.getLhs(), writer);
  StringRef lhsScale = writeFlattened(op.getLhsScale(), writer);
  NodeBuilder node =
      writer.node(op.getLoc(), "torch.ops.aten._scaled_mm.default");
  node.named("self", lhs)
      .named("mat2", rhs)
      .named("scale_a", lhsScale)
      .tensor("scale_b", op.getRhsScale())
      .optionalTensor("bias", op.getBias())
      .none("scale_result")
      .scalarType("out_dtype", type.getElementType());
  if (isMatrix)
    return node.finish(op.getResult());
  StringRef product = node.finishIntermediate(getFlattened(type));
  return writer.node(op.getLoc(), "torch.ops.aten.view.default")
      .named("self", product)
      .sizes("size", type)
      .finish(op.getResult());
}

static LogicalResult writeMatmul(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::MatmulOp>(operation);
  int64_t lhsRank = getTensor(op.getLhs()).getRank();
  int64_t rhsRank = getTensor(op.getRhs()).getRank();
  bool isScaled = bool(op.getLhsScale());
  bool hasVectorBias = op.getBias() && getTensor(op.getBias()).getRank() == 1;
  // F.linear expresses the transposition and the bias in one node.
  if (!isScaled && op.getTransposeRhs() && !op.getTransposeLhs() &&
      rhsRank == 2 && (!op.getBias() || hasVectorBias)) {
    NodeBuilder node =
        writer.node(op.getLoc(), "torch.ops.aten.linear.default");
    node.tensor("input", op.getLhs()).tensor("weight", op.getRhs());
    if (op.getBias())
      node.tensor("bias", op.getBias());
    return node.finish(op.getResult());
  }
  auto getOperand = [&](Value value, bool isTransposed) {
    return isTransposed ? writeTransposed(value, writer)
                        : writer.getName(value);
  };
  if (isScaled && !op.getTransposeLhs())
    return writeScaledMm(op, getOperand(op.getRhs(), op.getTransposeRhs()),
                         writer);
  StringRef lhs = getOperand(op.getLhs(), op.getTransposeLhs());
  StringRef rhs = getOperand(op.getRhs(), op.getTransposeRhs());
  if (op.getBias()) {
    // addmm accepts matrices only, baddbmm batches of matrices.
    if (lhsRank == 2 && rhsRank == 2)
      return writer.node(op.getLoc(), "torch.ops.aten.addmm.default")
          .tensor("self", op.getBias())
          .named("mat1", lhs)
          .named("mat2", rhs)
          .finish(op.getResult());
    if (lhsRank == 3 && rhsRank == 3)
      return writer.node(op.getLoc(), "torch.ops.aten.baddbmm.default")
          .tensor("self", op.getBias())
          .named("batch1", lhs)
          .named("batch2", rhs)
          .finish(op.getResult());
    StringRef product =
        writer.node(op.getLoc(), "torch.ops.aten.matmul.default")
            .named("self", lhs)
            .named("other", rhs)
            .finishIntermediate(getTensor(op.getResult()));
    return writer.node(op.getLoc(), "torch.ops.aten.add.Tensor")
        .named("self", product)
        .tensor("other", op.getBias())
        .finish(op.getResult());
  }
  bool areMatrices = lhsRank == 2 && rhsRank == 2;
  return writer
      .node(op.getLoc(), areMatrices ? "torch.ops.aten.mm.default"
                                     : "torch.ops.aten.matmul.default")
      .named("self", lhs)
      .named(areMatrices ? "mat2" : "other", rhs)
      .finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

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

static LogicalResult readAttention(NodeReader &reader) {
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
  // The kernels that ATen decomposes attention into group heads without a flag.
  bool isKernel = reader.getNumResults() > 1;
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

void vocabulary::addAtenMatmul(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.aten.mm.default", "torch.ops.aten.bmm.default"},
                 readMm);
  vocabulary.add("torch.ops.aten.matmul.default", readMatmul);
  vocabulary.add("torch.ops.aten.linear.default", readLinear);
  vocabulary.add(
      {"torch.ops.aten.addmm.default", "torch.ops.aten.baddbmm.default"},
      readAddProduct);
  vocabulary.add("torch.ops.aten._scaled_mm.default", readScaledMm);
  vocabulary.add("torch.ops.aten._scaled_mm_v2.default", readScaledMmV2);
  vocabulary.add(
      {"torch.ops.aten.scaled_dot_product_attention.default",
       "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default",
       "torch.ops.aten._scaled_dot_product_flash_attention.default"},
      readAttention);
  vocabulary.add(backwardTarget, readAttentionBackward);
  vocabulary.addWriter<tp::MatmulOp>(writeMatmul);
  vocabulary.addWriter<tp::AttentionOp>(writeAttention);
  vocabulary.addWriter<tp::AttentionBackwardOp>(writeAttentionBackward);
}
