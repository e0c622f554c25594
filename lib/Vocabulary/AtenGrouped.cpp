//===- AtenGrouped.cpp - products of a mixture of experts -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

static constexpr StringLiteral atenTarget =
    "torch.ops.aten._grouped_mm.default";
static constexpr StringLiteral fallbackTarget =
    "torch.ops.transformers.grouped_mm_fallback.default";

/// Returns a view with the last two dims swapped.
static Value transpose(NodeReader &reader, Value value) {
  int64_t rank = getTensor(value).getRank();
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  return reader.permute(value, permutation);
}

static bool isMatrixStack(Value value, int64_t rank) {
  return value && getTensor(value).getRank() == rank &&
         isa<FloatType>(getElementType(value));
}

/// The operator of transformers sets rows of no group to zero.
static LogicalResult readFallback(NodeReader &reader) {
  Value input = reader.tensor("input"), weight = reader.tensor("weight");
  Value offsets = reader.tensor("offs");
  RankedTensorType type = reader.getResultType();
  if (!isMatrixStack(input, 2) || !isMatrixStack(weight, 3) || !offsets ||
      !type)
    return failure();
  return reader.result(reader.create<tp::GroupedMatmulOp>(
      type, input, weight, offsets, /*rest=*/Value()));
}

static LogicalResult readFallbackBackward(NodeReader &reader) {
  Value input = reader.tensor("input"), weight = reader.tensor("weight");
  Value offsets = reader.tensor("offs");
  Value gradient = reader.tensor("grad_output");
  RankedTensorType ofInput = reader.getResultType(0);
  RankedTensorType ofWeight = reader.getResultType(1);
  if (!isMatrixStack(input, 2) || !isMatrixStack(weight, 3) ||
      !isMatrixStack(gradient, 2) || !offsets || !ofInput || !ofWeight)
    return failure();
  reader.setResult(0, reader.create<tp::GroupedMatmulOp>(
                          ofInput, gradient, transpose(reader, weight), offsets,
                          /*rest=*/Value()));
  reader.setResult(1, reader.create<tp::GroupedMatmulOp>(
                          ofWeight, transpose(reader, input), gradient, offsets,
                          /*rest=*/Value()));
  return success();
}

/// A grouped product of rows. PyTorch does not write the rows of no group.
static Value createRows(NodeReader &reader, Value lhs, Value rhs, Value offsets,
                        RankedTensorType type) {
  Value rest = reader.create<tp::EmptyOp>(type);
  return reader.create<tp::GroupedMatmulOp>(type, lhs, rhs, offsets, rest);
}

/// _grouped_mm(self, mat2, offs, bias, out_dtype)
static LogicalResult readGrouped(NodeReader &reader) {
  Value self = reader.tensor("self"), other = reader.tensor("mat2");
  RankedTensorType type = reader.getResultType();
  // The result type already states it.
  (void)reader.find("out_dtype");
  if (!self || !other || !type || !reader.isAbsent("bias"))
    return failure();
  bool isStack = isMatrixStack(self, 3), isOtherStack = isMatrixStack(other, 3);
  if ((!isStack && !isMatrixStack(self, 2)) ||
      (!isOtherStack && !isMatrixStack(other, 2)))
    return failure();
  if (isStack && isOtherStack)
    return reader.isAbsent("offs")
               ? reader.result(reader.create<tp::MatmulOp>(
                     type, self, other, /*bias=*/Value(), Value(), Value(),
                     /*transpose_lhs=*/false, /*transpose_rhs=*/false))
               : failure();
  Value offsets = reader.tensor("offs");
  if (!offsets)
    return failure();
  if (isOtherStack)
    return reader.result(createRows(reader, self, other, offsets, type));
  if (!isStack)
    return reader.result(reader.create<tp::GroupedMatmulOp>(
        type, self, other, offsets, /*rest=*/Value()));
  // The columns of the result belong to groups, so compute the transposed
  // product, whose rows do.
  tp::StridedShape shape = reader.getSymbols().getShape(type);
  std::swap(shape.sizes[0], shape.sizes[1]);
  RankedTensorType transposed =
      reader.getDenseType(type.getElementType(), shape.sizes);
  Value rows = createRows(reader, transpose(reader, other),
                          transpose(reader, self), offsets, transposed);
  return reader.result(reader.create<tp::CopyOp>(type, transpose(reader, rows),
                                                 /*preserve_strides=*/false));
}

static LogicalResult writeGrouped(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::GroupedMatmulOp>(operation);
  // Only the operator of transformers sets the rows of no group to zero.
  if (!op.getRest() && !op.groupsContraction())
    return writer.node(op.getLoc(), fallbackTarget)
        .tensor("input", op.getLhs())
        .tensor("weight", op.getRhs())
        .tensor("offs", op.getOffsets())
        .finish(op.getResult());
  if (op.getRest() && !op.getRest().getDefiningOp<tp::EmptyOp>())
    return op.emitError("cannot write a grouped product with `rest`: PyTorch's "
                        "operator has no such operand");
  StringRef offsets = writer.getName(op.getOffsets());
  RankedTensorType type = getTensor(op.getOffsets());
  if (!type.getElementType().isInteger(32)) {
    Type narrow = IntegerType::get(type.getContext(), 32);
    offsets = writer.node(op.getLoc(), "torch.ops.aten._to_copy.default")
                  .tensor("self", op.getOffsets())
                  .keywords()
                  .scalarType("dtype", narrow)
                  .finishIntermediate(RankedTensorType::get(
                      type.getShape(), narrow, type.getEncoding()));
  }
  return writer.node(op.getLoc(), atenTarget)
      .tensor("self", op.getLhs())
      .tensor("mat2", op.getRhs())
      .named("offs", offsets)
      .finish(op.getResult());
}

void vocabulary::addAtenGrouped(Vocabulary &vocabulary) {
  vocabulary.add(fallbackTarget, readFallback);
  vocabulary.add("torch.ops.transformers.grouped_mm_fallback_backward.default",
                 readFallbackBackward);
  vocabulary.add(atenTarget, readGrouped);
  vocabulary.addWriter<tp::GroupedMatmulOp>(writeGrouped);
}
