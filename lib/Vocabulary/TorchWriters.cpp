//===- TorchWriters.cpp - tp ops as PyTorch functions -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Writers of new nodes in graphs of Python functions, in the form in which
// users write them. Ops without such a writer are written as operators, which
// these graphs may also contain.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;

/// lhs @ rhs.T + sum, where the sum is not a vector.
static LogicalResult writeAddedLinear(tp::MatmulOp op, NodeWriter &writer) {
  RankedTensorType rhs = getTensor(op.getRhs());
  auto isMatrix = [](Value value) { return getTensor(value).getRank() == 2; };
  if (!isMatrix(op.getLhs()) || !isMatrix(op.getBias())) {
    StringRef product = writer.node(op.getLoc(), "torch._C._nn.linear")
                            .tensor("", op.getLhs())
                            .tensor("", op.getRhs())
                            .finishIntermediate(getTensor(op.getResult()));
    return writer.node(op.getLoc(), "_operator.add")
        .named("", product)
        .tensor("", op.getBias())
        .finish(op.getResult());
  }
  tp::SymbolSpace symbols(op.getContext());
  tp::StridedShape shape = symbols.getShape(rhs);
  std::reverse(shape.sizes.begin(), shape.sizes.end());
  if (shape.strides)
    std::reverse(shape.strides->begin(), shape.strides->end());
  StringRef transposed =
      writer.node(op.getLoc(), "torch.Tensor.t")
          .tensor("", op.getRhs())
          .finishIntermediate(symbols.getType(rhs.getElementType(), shape.sizes,
                                              shape.strides));
  return writer.node(op.getLoc(), "torch.addmm")
      .tensor("", op.getBias())
      .tensor("", op.getLhs())
      .named("", transposed)
      .finish(op.getResult());
}

static LogicalResult writeMatmul(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::MatmulOp>(operation);
  Value bias = op.getBias();
  bool hasVectorBias = bias && getTensor(bias).getRank() == 1;
  int64_t lhsRank = getTensor(op.getLhs()).getRank();
  int64_t rhsRank = getTensor(op.getRhs()).getRank();
  if (op.getLhsScale() || op.getRhsScale() || op.getTransposeLhs())
    return writer.writeAsOperator(op);
  if (op.getTransposeRhs()) {
    if (rhsRank != 2)
      return writer.writeAsOperator(op);
    if (bias && !hasVectorBias)
      return writeAddedLinear(op, writer);
    NodeBuilder node = writer.node(op.getLoc(), "torch._C._nn.linear");
    node.tensor("", op.getLhs()).tensor("", op.getRhs());
    if (bias)
      node.tensor("", bias);
    return node.finish(op.getResult());
  }
  if (!bias)
    return writer.node(op.getLoc(), "torch.matmul")
        .tensor("", op.getLhs())
        .tensor("", op.getRhs())
        .finish(op.getResult());
  bool areMatrices = lhsRank == 2 && rhsRank == 2;
  if (!areMatrices && (lhsRank != 3 || rhsRank != 3))
    return writer.writeAsOperator(op);
  return writer.node(op.getLoc(), areMatrices ? "torch.addmm" : "torch.baddbmm")
      .tensor("", bias)
      .tensor("", op.getLhs())
      .tensor("", op.getRhs())
      .finish(op.getResult());
}

/// Writes sums and products of tensors and numbers.
static LogicalResult writeMap(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::MapOp>(operation);
  MapFunction function = op.getFunction();
  if (function != MapFunction::Add && function != MapFunction::Sub &&
      function != MapFunction::Mul)
    return writer.writeAsOperator(op);
  StringRef target =
      writer.save(("_operator." + tp::stringifyMapFunction(function)).str());
  return writer.node(op.getLoc(), target)
      .operand("", op.getOperands()[0])
      .operand("", op.getOperands()[1])
      .finish(op.getResult());
}

static LogicalResult writeSlice(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::SliceOp>(operation);
  RankedTensorType type = getTensor(op.getResult());
  int64_t dim = op.getDim();
  if (type.isDynamicDim(dim) || op.getStep() != 1)
    return writer.writeAsOperator(op);
  int64_t size = type.getDimSize(dim);
  return writer.node(op.getLoc(), "torch.narrow")
      .tensor("", op.getInput())
      .integer("", dim)
      .integer("", op.getStart() * (op.getBlocks() ? size : 1))
      .integer("", size)
      .finish(op.getResult());
}

static LogicalResult writeConcat(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ConcatOp>(operation);
  return writer.node(op.getLoc(), "torch.cat")
      .tensors("", op.getInputs())
      .keywords()
      .integer("dim", op.getDim())
      .finish(op.getResult());
}

static LogicalResult writePermute(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::PermuteOp>(operation);
  return writer.node(op.getLoc(), "torch.permute")
      .tensor("", op.getInput())
      .integers("", op.getPermutation())
      .finish(op.getResult());
}

static LogicalResult writeReshape(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ReshapeOp>(operation);
  // PyTorch can infer one symbolic size.
  SmallVector<int64_t> sizes(getTensor(op.getResult()).getShape());
  llvm::for_each(sizes, [](int64_t &size) {
    if (ShapedType::isDynamic(size))
      size = -1;
  });
  if (llvm::count(sizes, -1) > 1)
    return writer.writeAsOperator(op);
  return writer.node(op.getLoc(), "torch.reshape")
      .tensor("", op.getInput())
      .integers("", sizes)
      .finish(op.getResult());
}

static LogicalResult writeCopy(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::CopyOp>(operation);
  NodeBuilder node = writer.node(op.getLoc(), "torch.clone");
  node.tensor("", op.getInput());
  if (!op.getPreserveStrides())
    node.keywords().memoryFormat("memory_format",
                                 archive::MemoryFormat::Contiguous);
  return node.finish(op.getResult());
}

void vocabulary::addTorchWriters(Vocabulary &vocabulary) {
  vocabulary.addFunctionWriter<tp::MatmulOp>(writeMatmul);
  vocabulary.addFunctionWriter<tp::MapOp>(writeMap);
  vocabulary.addFunctionWriter<tp::SliceOp>(writeSlice);
  vocabulary.addFunctionWriter<tp::ConcatOp>(writeConcat);
  vocabulary.addFunctionWriter<tp::PermuteOp>(writePermute);
  vocabulary.addFunctionWriter<tp::ReshapeOp>(writeReshape);
  vocabulary.addFunctionWriter<tp::CopyOp>(writeCopy);
}
