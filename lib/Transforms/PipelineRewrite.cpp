//===- PipelineRewrite.cpp - fused ops in place of their parts --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PipelineRewrite.h"

using namespace mlir;
using namespace commute;
using analysis::GatheredProduct;
using analysis::GatherFusion;
using analysis::PieceRange;
using analysis::ScatterFusion;
using tp::getElementType;
using tp::getTensor;

/// The number of leading dims that can be dropped to turn blocks along `axis`
/// into blocks along dim 0: all dims before `axis` if they have size 1 and at
/// least one dim follows `axis`.
static unsigned countOuterDims(const tp::Sizes &sizes, unsigned axis) {
  bool areOnes =
      llvm::all_of(ArrayRef(sizes).take_front(axis), [](const tp::Size &size) {
        return tp::isConstant(size, 1);
      });
  return areOnes && axis + 1 < sizes.size() ? axis : 0;
}

/// A value as one matrix of all its rows.
static Value reshapeToMatrix(OpDraft &ops, Value value, Location location) {
  tp::Sizes sizes = ops.getSizes(value);
  tp::Size rows = 1;
  for (const tp::Size &size : ArrayRef(sizes).drop_back())
    rows = tp::multiply(rows, size);
  return ops.reshape(value, {rows, sizes.back()}, location);
}

/// The right operand of a product as a matrix [K, N].
static Value getRightOperand(OpDraft &ops, tp::MatmulOp matmul) {
  Location location = matmul.getLoc();
  Value matrix = analysis::getRightMatrix(matmul);
  if (getTensor(matrix).getRank() > 2) {
    tp::Sizes sizes = ops.getSizes(matrix);
    matrix =
        ops.reshape(matrix, tp::Sizes(ArrayRef(sizes).take_back(2)), location);
  }
  return matmul.getTransposeRhs() ? ops.transpose(matrix, location) : matrix;
}

//===----------------------------------------------------------------------===//
// All-gather
//===----------------------------------------------------------------------===//

/// The concatenated pieces of a value along a dim; the value itself if there
/// are no pieces or if together they are the value.
static Value takePieces(OpDraft &ops, Value value, unsigned dim,
                        ArrayRef<PieceRange> pieces, Location location) {
  SmallVector<PieceRange> merged;
  int64_t total = 0;
  for (const PieceRange &piece : pieces) {
    total += piece.end - piece.begin;
    if (!merged.empty() && merged.back().end == piece.begin)
      merged.back().end = piece.end;
    else
      merged.push_back(piece);
  }
  tp::Sizes sizes = ops.getSizes(value);
  if (merged.empty() ||
      (merged.size() == 1 && tp::isConstant(sizes[dim], total)))
    return value;
  SmallVector<Value> parts;
  for (const PieceRange &piece : merged)
    parts.push_back(ops.add<tp::SliceOp>(location, value, ops.getSymbols(), dim,
                                         piece.begin, /*step=*/1,
                                         piece.end - piece.begin));
  if (parts.size() == 1)
    return parts.front();
  return ops.add<tp::ConcatOp>(location, parts, dim);
}

/// The position of each part of the whole among the pieces, in the order of
/// the whole.
static SmallVector<PieceRange> invertPieces(ArrayRef<PieceRange> pieces) {
  SmallVector<std::pair<int64_t, PieceRange>> places;
  int64_t position = 0;
  for (const PieceRange &piece : pieces) {
    int64_t size = piece.end - piece.begin;
    places.push_back({piece.begin, {position, position + size}});
    position += size;
  }
  llvm::sort(places,
             [](const auto &a, const auto &b) { return a.first < b.first; });
  return llvm::to_vector(llvm::make_second_range(places));
}

ReplacementDraft commute::draftGatherFusion(const GatherFusion &fusion) {
  tp::AllGatherOp gather = fusion.gather;
  ReplacementDraft draft(gather.getContext());
  OpDraft &ops = draft.ops;
  Location location = gather.getLoc();
  draft.position = fusion.position;
  draft.hoisted = fusion.hoisted;

  Value shard = gather.getInput();
  unsigned axis = fusion.axis;
  if (fusion.transposesShard) {
    bool gathersColumns = axis + 1 == ops.getSizes(shard).size();
    shard = ops.transpose(reshapeToMatrix(ops, shard, location), location);
    axis = gathersColumns ? 0 : 1;
  }
  Value scale = fusion.shardScale;
  tp::Sizes sizes = ops.getSizes(shard);
  unsigned numOuter = fusion.contracts ? 0 : countOuterDims(sizes, axis);
  auto dropOuter = [&](Value value) {
    if (numOuter == 0)
      return value;
    tp::Sizes all = ops.getSizes(value);
    return ops.reshape(value, tp::Sizes(llvm::drop_begin(all, numOuter)),
                       location);
  };
  shard = dropOuter(shard);
  if (scale && getTensor(scale).getRank() == int64_t(sizes.size()))
    scale = dropOuter(scale);
  axis -= numOuter;

  // Along the contraction, reorder the rows of the right operand to match the
  // pieces. Rows of the product are rearranged afterwards.
  SmallVector<PieceRange> rowsOfPieces;
  if (fusion.contracts)
    rowsOfPieces = invertPieces(fusion.pieces);
  auto putTogether = [&](Value value, Location place) {
    return fusion.contracts
               ? value
               : takePieces(ops, value, axis, fusion.pieces, place);
  };
  SmallVector<Value> rightOperands, rightScales;
  for (const GatheredProduct &product : fusion.products) {
    tp::MatmulOp matmul = product.matmul;
    if (product.isRightOperand)
      rightOperands.push_back(
          matmul.getTransposeLhs()
              ? matmul.getLhs()
              : ops.transpose(matmul.getLhs(), matmul.getLoc()));
    else
      rightOperands.push_back(takePieces(ops, getRightOperand(ops, matmul),
                                         /*dim=*/0, rowsOfPieces,
                                         matmul.getLoc()));
    if (scale)
      rightScales.push_back(matmul.getRhsScale());
  }

  // PyTorch's scaled op always returns the gathered value.
  bool returnsGathered = fusion.returnsGathered || scale;
  SmallVector<Type> elementTypes;
  for (const GatheredProduct &product : fusion.products) {
    tp::MatmulOp matmul = product.matmul;
    elementTypes.push_back(getElementType(matmul.getResult()));
  }
  auto fused = ops.add<tp::AllGatherMatmulOp>(
      location, shard, rightOperands, /*biases=*/ValueRange(), scale,
      rightScales, axis, gather.getGroup(), returnsGathered, elementTypes);

  ValueRange outputs = fused.getOutputs().take_back(fusion.products.size());
  if (fusion.returnsGathered) {
    Value whole = fused.getOutputs().front();
    if (fusion.transposesShard)
      whole = ops.transpose(whole, location);
    whole = putTogether(whole, location);
    whole = ops.convert(whole, getTensor(fusion.gathered.front()), location);
    for (Value value : fusion.gathered)
      draft.values.emplace_back(value, whole);
  }
  for (auto [product, output] : llvm::zip_equal(fusion.products, outputs)) {
    tp::MatmulOp matmul = product.matmul;
    Value value = output;
    if (product.isRightOperand)
      value = ops.transpose(reshapeToMatrix(ops, value, matmul.getLoc()),
                            matmul.getLoc());
    value = putTogether(value, matmul.getLoc());
    // PyTorch's fused op has no bias.
    Value bias = matmul.getBias();
    // Most products are reshaped to the fused op's result shape already.
    bool isRead = bool(bias);
    for (Operation *user : matmul->getUsers()) {
      if (bias || !isa<tp::ReshapeOp>(user) ||
          user->getResult(0).getType() != value.getType()) {
        isRead = true;
        continue;
      }
      draft.values.emplace_back(user->getResult(0), value);
      draft.replaced.push_back(user);
    }
    draft.replaced.push_back(matmul);
    if (!isRead)
      continue;
    value = ops.convert(value, getTensor(matmul.getResult()), matmul.getLoc());
    if (bias) {
      // The bias may be computed after the fused op.
      OpDraft tail(gather.getContext());
      value = tail.add<tp::MapOp>(matmul.getLoc(), tp::MapFunction::Add,
                                  ValueRange{value, bias},
                                  getElementType(matmul.getResult()));
      draft.tails.emplace_back(std::move(tail), matmul);
    }
    draft.values.emplace_back(matmul.getResult(), value);
  }
  for (Value value : fusion.gathered)
    if (value != gather.getResult() && fusion.pieces.empty())
      draft.replaced.push_back(value.getDefiningOp());
  llvm::append_range(draft.replaced, llvm::reverse(fusion.reassembly));
  draft.replaced.push_back(gather);
  return draft;
}

//===----------------------------------------------------------------------===//
// Reduce-scatter
//===----------------------------------------------------------------------===//

/// The sum of the biases of the scattered products as one row [N], or as one
/// element if none has more.
static Value addBiases(OpDraft &ops, const ScatterFusion &fusion,
                       Location location) {
  Value sum;
  for (Value bias : fusion.biases) {
    tp::Sizes sizes = ops.getSizes(bias);
    bool isElement = tp::hasOneElement(getTensor(bias));
    bias = ops.reshape(bias, isElement ? tp::Sizes{} : tp::Sizes{sizes.back()},
                       location);
    sum = sum ? Value(ops.add<tp::MapOp>(location, tp::MapFunction::Add,
                                         ValueRange{sum, bias},
                                         getElementType(bias)))
              : bias;
  }
  return sum;
}

/// What the scatter of a bias that every rank adds to its own summand leaves on
/// this rank:
///
///     reduce_scatter(y + bias) = reduce_scatter(y) + reduce(bias)
///
/// with the block of the reduced bias if columns are scattered.
static Value reduceBias(OpDraft &ops, const ScatterFusion &fusion, Value bias,
                        bool scattersColumns,
                        llvm::function_ref<bool(Value)> isReplicated) {
  tp::ReduceScatterOp scatter = fusion.scatter;
  Location location = scatter.getLoc();
  if (scattersColumns && !tp::hasOneElement(getTensor(bias))) {
    bias = takePieces(ops, bias, /*dim=*/0, fusion.pieces, location);
    return ops.add<tp::ReduceScatterOp>(location, scatter.getReduction(), bias,
                                        /*scatter_axis=*/0, scatter.getGroup(),
                                        /*async=*/false);
  }
  if (!llvm::all_of(fusion.biases, isReplicated))
    return ops.add<tp::AllReduceOp>(location, scatter.getReduction(), bias,
                                    scatter.getGroup(), /*in_place=*/false,
                                    /*async=*/false);
  if (scatter.getReduction() == tp::ReductionKind::Avg)
    return bias;
  Type element = getElementType(bias);
  Value ranks = ops.add<tp::ConstantOp>(
      location,
      FloatAttr::get(Float64Type::get(scatter.getContext()),
                     static_cast<double>(scatter.getGroup().getSize())),
      ops.getSymbols(), element, tp::Sizes{});
  return ops.add<tp::MapOp>(location, tp::MapFunction::Mul,
                            ValueRange{bias, ranks}, element);
}

ReplacementDraft
commute::draftScatterFusion(const ScatterFusion &fusion,
                            llvm::function_ref<bool(Value)> isReplicated) {
  tp::ReduceScatterOp scatter = fusion.scatter;
  ReplacementDraft draft(scatter.getContext());
  OpDraft &ops = draft.ops;
  Location location = scatter.getLoc();
  draft.position = scatter;

  unsigned axis = fusion.axis;
  tp::Sizes sizes = ops.getSizes(fusion.scattered);
  unsigned numOuter = countOuterDims(sizes, axis);
  tp::Sizes rows(ArrayRef<tp::Size>(sizes).drop_front(numOuter).drop_back());
  axis -= numOuter;
  auto addColumns = [&](const tp::Size &size) {
    tp::Sizes result = rows;
    result.push_back(size);
    return result;
  };

  SmallVector<Value> left, right;
  for (tp::MatmulOp matmul : fusion.products) {
    Value lhs = matmul.getLhs();
    left.push_back(
        matmul.getTransposeLhs() ? ops.transpose(lhs, matmul.getLoc()) : lhs);
    right.push_back(getRightOperand(ops, matmul));
  }
  // a_0 @ b_0 + a_1 @ b_1 is one product of operands concatenated along the
  // contraction.
  auto join = [&](ArrayRef<Value> values, unsigned dim) -> Value {
    return values.size() == 1 ? values.front()
                              : ops.add<tp::ConcatOp>(location, values, dim);
  };
  Value lhs = join(left, 1), rhs = join(right, 0);
  lhs = ops.reshape(lhs, addColumns(ops.getSizes(lhs).back()), location);
  // Multiply in the order of the scattered pieces.
  bool scattersColumns = axis == rows.size();
  if (scattersColumns)
    rhs = takePieces(ops, rhs, /*dim=*/1, fusion.pieces, location);
  else
    lhs = takePieces(ops, lhs, axis, fusion.pieces, location);
  tp::MatmulOp first = fusion.products.front();
  Value scale = first.getLhsScale();
  if (scale && !tp::hasOneElement(getTensor(scale)))
    scale = ops.reshape(scale, addColumns(1), location);

  Value value = ops.add<tp::MatmulReduceScatterOp>(
      location, scatter.getReduction(), lhs, rhs, /*bias=*/Value(), scale,
      first.getRhsScale(), axis, scatter.getGroup(),
      getElementType(scatter.getResult()));
  value = ops.convert(value, getTensor(scatter.getResult()), location);
  // PyTorch's fused op takes no bias.
  if (Value bias = addBiases(ops, fusion, location)) {
    Value reduced =
        reduceBias(ops, fusion, bias, scattersColumns, isReplicated);
    value = ops.add<tp::MapOp>(location, tp::MapFunction::Add,
                               ValueRange{value, reduced},
                               getElementType(scatter.getResult()));
    value = ops.convert(value, getTensor(scatter.getResult()), location);
  }
  for (Operation *user : scatter.getResult().getUsers())
    if (scatter.getAsync() && isa<tp::CompletionOpInterface>(user)) {
      draft.values.emplace_back(user->getResult(0), value);
      draft.replaced.push_back(user);
    }
  draft.values.emplace_back(scatter.getResult(), value);
  draft.replaced.push_back(scatter);
  llvm::append_range(draft.replaced, llvm::reverse(fusion.reassembly));
  // The ops between the scattered value and the products have one use each.
  SmallVector<Value> pending = {fusion.scattered};
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    draft.replaced.push_back(op);
    if (isa<tp::MatmulOp>(op))
      continue;
    for (Value operand : op->getOperands())
      if (!llvm::is_contained(fusion.biases, operand))
        pending.push_back(operand);
  }
  return draft;
}
