//===- AtenMatmul.cpp - ATen products ---------------------------*- C++ -*-===//
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

/// Returns a product in which a vector as the left-hand side is a row and a
/// vector as the right-hand side is a column; null if the sizes do not tell
/// that they fit. `type` is the type of the vectors' product, without these
/// dims.
static Value multiplyVectors(NodeReader &reader, Value lhs, Value rhs,
                             RankedTensorType type) {
  Type element = getElementType(lhs);
  if (element != getElementType(rhs) || element.isInteger(1))
    return {};
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(type);
  tp::Sizes left = symbols.getSizes(getTensor(lhs));
  tp::Sizes right = symbols.getSizes(getTensor(rhs));
  bool isLeftVector = left.size() == 1, isRightVector = right.size() == 1;
  if (left.empty() || right.empty() || (sizes.empty() && !isRightVector))
    return {};
  if (isRightVector) {
    right.push_back(1);
    rhs = reader.reshape(rhs, right);
    sizes.push_back(1);
  }
  if (isLeftVector) {
    left.insert(left.begin(), 1);
    lhs = reader.reshape(lhs, left);
    sizes.insert(sizes.end() - 1, 1);
  }
  Value product = reader.create<tp::MatmulOp>(
      reader.getDenseType(element, sizes), lhs, rhs, /*bias=*/Value(),
      /*lhs_scale=*/Value(), /*rhs_scale=*/Value(),
      /*transpose_lhs=*/false, /*transpose_rhs=*/false);
  return reader.reshape(product, symbols.getSizes(type));
}

static LogicalResult setVectorProduct(NodeReader &reader, Value lhs,
                                      Value rhs) {
  RankedTensorType type = reader.getResultType();
  Value product =
      lhs && rhs && type ? multiplyVectors(reader, lhs, rhs, type) : Value();
  return product ? Formula(reader, type.getElementType()).result(0, product)
                 : failure();
}

static LogicalResult readMatmul(NodeReader &reader) {
  Value lhs = reader.tensor("self"), rhs = reader.tensor("other");
  if (lhs && rhs &&
      (getTensor(lhs).getRank() == 1 || getTensor(rhs).getRank() == 1))
    return setVectorProduct(reader, lhs, rhs);
  return setMatmul(reader, lhs, rhs, Value(), /*transposeRhs=*/false);
}

static LogicalResult readMv(NodeReader &reader) {
  return setVectorProduct(reader, reader.tensor("self"), reader.tensor("vec"));
}

static LogicalResult readDot(NodeReader &reader) {
  return setVectorProduct(
      reader, reader.tensor("self"),
      reader.tensor(reader.find("tensor") ? "tensor" : "other"));
}

/// addmv: self * beta + (mat @ vec) * alpha.
static LogicalResult readAddMv(NodeReader &reader) {
  Value self = reader.tensor("self"), matrix = reader.tensor("mat");
  Value vector = reader.tensor("vec");
  std::optional<double> beta = reader.number("beta", 1);
  std::optional<double> alpha = reader.number("alpha", 1);
  RankedTensorType type = reader.getResultType();
  if (!self || !matrix || !vector || !beta || !alpha || !type ||
      !isa<FloatType>(type.getElementType()))
    return failure();
  Value product = multiplyVectors(reader, matrix, vector, type);
  if (!product)
    return failure();
  Formula f(reader, type.getElementType());
  Value sum = f.multiply(f.of(product), f.number(*alpha));
  // With beta = 0, PyTorch ignores self, whatever it holds.
  if (*beta != 0)
    sum = f.add(sum, f.multiply(f.of(self), f.number(*beta)));
  return f.result(0, sum);
}

/// The product of each pair of elements of two vectors.
static LogicalResult readOuter(NodeReader &reader) {
  Value self = reader.tensor("self"), other = reader.tensor("vec2");
  RankedTensorType type = reader.getResultType();
  if (!self || !other || !type || getTensor(self).getRank() != 1 ||
      getTensor(other).getRank() != 1 || type.getElementType().isInteger(1))
    return failure();
  tp::Sizes column = reader.getSymbols().getSizes(getTensor(self));
  column.push_back(1);
  return reader.result(reader.create<tp::MapOp>(
      type, tp::MapFunction::Mul,
      ValueRange{reader.reshape(self, column), other}));
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
  Value sum = f.multiply(f.of(reader.create<tp::MatmulOp>(
                             reader.getDenseType(type.getElementType(), sizes),
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

void vocabulary::addAtenMatmul(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.aten.mm.default", "torch.ops.aten.bmm.default"},
                 readMm);
  vocabulary.add("torch.ops.aten.matmul.default", readMatmul);
  vocabulary.add("torch.ops.aten.mv.default", readMv);
  vocabulary.add({"torch.ops.aten.dot.default", "torch.ops.aten.vdot.default"},
                 readDot);
  vocabulary.add("torch.ops.aten.addmv.default", readAddMv);
  vocabulary.add({"torch.ops.aten.outer.default", "torch.ops.aten.ger.default"},
                 readOuter);
  vocabulary.add("torch.ops.aten.linear.default", readLinear);
  vocabulary.add(
      {"torch.ops.aten.addmm.default", "torch.ops.aten.baddbmm.default"},
      readAddProduct);
  vocabulary.add("torch.ops.aten._scaled_mm.default", readScaledMm);
  vocabulary.add("torch.ops.aten._scaled_mm_v2.default", readScaledMmV2);
  vocabulary.addWriter<tp::MatmulOp>(writeMatmul);
}
