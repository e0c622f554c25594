//===- SplitRewrite.cpp - products in segments, side by side ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SplitRewrite.h"

#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using analysis::DimParts;
using analysis::DimStep;
using analysis::JoinedProducts;
using analysis::JoinedRun;
using analysis::Legal;
using analysis::PartialProducts;
using analysis::ProductContext;
using analysis::ProductSegment;
using analysis::ProductSlice;
using analysis::Refusal;
using analysis::RefusalCode;
using analysis::SegmentOperand;
using analysis::SlicedProduct;
using tp::getElementType;
using tp::getTensor;

//===----------------------------------------------------------------------===//
// Parts of drafts
//===----------------------------------------------------------------------===//

Value commute::takeSteps(OpDraft &ops, Value value, ArrayRef<DimStep> steps,
                         Location location) {
  for (auto [index, step] : llvm::enumerate(steps)) {
    tp::Size size = ops.getSizes(value)[step.operandDim];
    tp::Sizes sizes = ops.getSizes(step.op->getResult(0));
    sizes[step.resultDim] = size;
    value = ops.addLike(step.op, value, sizes);
  }
  return value;
}

Value commute::takeSegment(OpDraft &ops, const SegmentOperand &operand,
                           tp::Size size, bool takesShard, Location location) {
  tp::AllGatherOp gather = operand.gather;
  Value value = takesShard ? gather.getInput() : operand.base;
  if (operand.isSliced)
    value = ops.add<tp::SliceOp>(location, value, ops.getSymbols(), operand.dim,
                                 operand.start, /*step=*/1, size,
                                 operand.countsBlocks);
  return takeSteps(ops, value, operand.steps, location);
}

/// The value of which `values` are consecutive slices, beginning at `start`.
static Value findSlicedValue(ArrayRef<Value> values, unsigned dim,
                             int64_t &start) {
  Value whole;
  int64_t end = 0;
  for (auto [index, value] : llvm::enumerate(values)) {
    auto slice = value.getDefiningOp<tp::SliceOp>();
    if (!slice || slice.getDim() != dim || slice.getStep() != 1 ||
        slice.getBlocks() || getTensor(value).isDynamicDim(dim))
      return Value();
    if (index == 0) {
      whole = slice.getInput();
      start = end = slice.getStart();
    }
    if (slice.getInput() != whole || int64_t(slice.getStart()) != end)
      return Value();
    end += getTensor(value).getDimSize(dim);
  }
  return whole;
}

Value commute::joinValues(OpDraft &ops, ArrayRef<Value> values, unsigned dim,
                          Location location) {
  if (values.size() == 1)
    return values.front();
  tp::Sizes sizes = ops.getSizes(values.front());
  for (Value value : values.drop_front())
    sizes[dim] = tp::add(sizes[dim], ops.getSizes(value)[dim]);
  int64_t start = 0;
  if (Value whole = findSlicedValue(values, dim, start)) {
    if (ops.getSizes(whole) == sizes)
      return whole;
    return ops.add<tp::SliceOp>(location, whole, ops.getSymbols(), dim, start,
                                /*step=*/1, sizes[dim]);
  }
  return ops.add<tp::ConcatOp>(location, values, dim);
}

/// Clones a product with other operands.
static Value addProduct(SplitDraft &draft, tp::MatmulOp product,
                        ArrayRef<Value> operands) {
  ++draft.numProducts;
  return draft.ops.add<tp::MatmulOp>(
      product.getLoc(), operands[0], operands[1],
      product.getBias() ? operands[2] : Value(), /*lhs_scale=*/Value(),
      /*rhs_scale=*/Value(), product.getTransposeLhs(),
      product.getTransposeRhs(), getElementType(product.getResult()));
}

//===----------------------------------------------------------------------===//
// Strides of users
//===----------------------------------------------------------------------===//

/// Limit on the values that get new strides when one value does.
static constexpr unsigned maxRetyped = 64;

/// Finds the values that get new strides along with `value`. Refuses if a user
/// depends on the old strides.
static Legal<>
findRetyped(Value value, RankedTensorType type, tp::SymbolSpace &symbols,
            SmallVectorImpl<std::pair<Value, RankedTensorType>> &retyped) {
  if (value.getType() == type)
    return {};
  for (Operation *user : value.getUsers()) {
    auto strided = dyn_cast<tp::StrideOpInterface>(user);
    if (!strided || isa<tp::CallOp>(user) || retyped.size() > maxRetyped)
      return Refusal{user, RefusalCode::Strides,
                     (user->hasTrait<OpTrait::IsTerminator>()
                          ? std::string("the return op")
                          : getNodeName(user)) +
                         " depends on the strides of a slice"};
    SmallVector<tp::StridedShape> shapes;
    for (Value operand : user->getOperands()) {
      auto operandType = dyn_cast<RankedTensorType>(operand.getType());
      if (operand == value)
        operandType = type;
      shapes.push_back(operandType ? symbols.getShape(operandType)
                                   : tp::StridedShape());
    }
    for (OpResult result : user->getResults()) {
      auto before = cast<RankedTensorType>(result.getType());
      tp::Sizes sizes = symbols.getSizes(before);
      tp::Strides strides =
          strided.inferStrides(result.getResultNumber(), shapes, sizes);
      RankedTensorType after =
          symbols.getType(before.getElementType(), sizes, strides);
      // Results whose strides the rule cannot infer keep the recorded ones.
      if (!strides || after == before)
        continue;
      if (Legal<> found = findRetyped(result, after, symbols, retyped); !found)
        return found;
      retyped.emplace_back(result, after);
    }
  }
  return {};
}

/// Replaces a slice, and copies of it with the same type, with `after`.
static Legal<> replaceSlice(SplitDraft &draft, tp::SliceOp slice, Value after,
                            tp::SymbolSpace &symbols) {
  SmallVector<std::pair<Value, RankedTensorType>> retyped;
  if (Legal<> found =
          findRetyped(slice.getResult(), getTensor(after), symbols, retyped);
      !found)
    return found;
  llvm::append_range(draft.retyped, retyped);
  draft.values.emplace_back(slice.getResult(), after);
  for (Operation *user : slice.getResult().getUsers())
    if (isa<tp::CopyOp>(user) && user->getResultTypes()[0] == after.getType())
      draft.values.emplace_back(user->getResult(0), after);
  return {};
}

//===----------------------------------------------------------------------===//
// Side by side
//===----------------------------------------------------------------------===//

std::unique_ptr<SplitDraft>
commute::draftProductsSideBySide(const PartialProducts &products,
                                 ProductContext &context) {
  SplitDraft draft(context);
  tp::MatmulOp product = products.product;
  draft.position = product;
  SmallVector<Value> values;
  // By start position, as far as it is known.
  DenseMap<int64_t, Value> valueAt;
  std::optional<int64_t> start = 0;
  for (const ProductSegment &segment : products.segments) {
    SmallVector<Value> operands(product->getOperands());
    for (auto [operand, cut] : llvm::zip_equal(operands, segment.operands))
      if (cut)
        operand = takeSegment(draft.ops, *cut, segment.size,
                              /*takesShard=*/false, product.getLoc());
    values.push_back(addProduct(draft, product, operands));
    std::optional<int64_t> size = tp::getConstant(segment.size);
    if (start && size)
      valueAt[*start] = values.back();
    start = start && size ? std::optional(*start + *size) : std::nullopt;
  }
  // Replace slices that are exactly one segment.
  bool isReadWhole = false;
  for (Operation *user : product.getResult().getUsers()) {
    auto slice = dyn_cast<tp::SliceOp>(user);
    Value value = slice && slice.getDim() == products.resultDim &&
                          slice.getStep() == 1 && !slice.getBlocks()
                      ? valueAt.lookup(slice.getStart())
                      : Value();
    bool isSegment =
        value &&
        getTensor(value).getDimSize(products.resultDim) ==
            getTensor(slice.getResult()).getDimSize(products.resultDim) &&
        replaceSlice(draft, slice, value, context.getSymbols());
    isReadWhole |= !isSegment;
  }
  if (isReadWhole) {
    Value whole =
        joinValues(draft.ops, values, products.resultDim, product.getLoc());
    draft.values.emplace_back(
        product.getResult(),
        draft.ops.convert(whole, product.getType(), product.getLoc()));
  }
  draft.note("every element is the same sum as before");
  return std::make_unique<SplitDraft>(std::move(draft));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// The range of an operand that a slice of the result needs. If the range is
/// exactly one part of a concatenation, returns that part.
static Value sliceOperand(SplitDraft &draft, Value value, unsigned dim,
                          tp::SliceOp slice, const ProductContext &context) {
  OpDraft &ops = draft.ops;
  tp::Size size = ops.getSizes(slice.getResult())[slice.getDim()];
  std::optional<int64_t> count = tp::getConstant(size);
  std::optional<DimParts> parts = analysis::findDimParts(value, dim);
  if (parts && count && slice.getStep() == 1 &&
      !context.getWriteOrder().isWriteBetween(parts->source, draft.position)) {
    int64_t start = slice.getStart() * (slice.getBlocks() ? *count : 1);
    int64_t begin = 0;
    for (Value part : parts->parts) {
      int64_t partSize = getTensor(part).getDimSize(parts->dim);
      if (ShapedType::isDynamic(partSize) || begin > start)
        break;
      if (begin == start && partSize == *count &&
          getElementType(part) == getElementType(parts->source->getResult(0)) &&
          isa<tp::ConcatOp>(parts->source))
        return takeSteps(ops, part, parts->steps, slice.getLoc());
      begin += partSize;
    }
  }
  return ops.add<tp::SliceOp>(slice.getLoc(), value, ops.getSymbols(), dim,
                              slice.getStart(), slice.getStep(), size,
                              slice.getBlocks());
}

Legal<std::unique_ptr<SplitDraft>>
commute::draftSlicedProduct(const SlicedProduct &sliced,
                            ProductContext &context) {
  SplitDraft draft(context);
  SlicedProduct found = sliced;
  tp::MatmulOp product = found.product;
  draft.position = product;
  // The left operand, with rows grouped as in the sliced value.
  Value lhs = product.getLhs();
  if (found.rows) {
    tp::Sizes sizes = draft.ops.getSizes(found.getResult());
    sizes.back() = draft.ops.getSizes(lhs).back();
    lhs = draft.ops.reshape(lhs, sizes, product.getLoc());
  }
  // Slices of the same range share a product.
  SmallVector<std::pair<const ProductSlice *, Value>> known;
  auto isSameRange = [](const ProductSlice &a, const ProductSlice &b) {
    tp::SliceOp x = a.slice, y = b.slice;
    return a.resultDim == b.resultDim && x.getStart() == y.getStart() &&
           x.getStep() == y.getStep() && x.getBlocks() == y.getBlocks() &&
           getTensor(x.getResult()).getEncoding() ==
               getTensor(y.getResult()).getEncoding() &&
           getTensor(x.getResult()).getDimSize(x.getDim()) ==
               getTensor(y.getResult()).getDimSize(y.getDim());
  };
  for (const ProductSlice &entry : sliced.slices) {
    tp::SliceOp slice = entry.slice;
    Value value;
    for (const auto &[other, result] : known)
      if (isSameRange(*other, entry))
        value = result;
    if (!value) {
      SmallVector<Value> operands(product->getOperands());
      operands[0] = lhs;
      for (auto [number, operand] : llvm::enumerate(operands))
        if (std::optional<unsigned> dim =
                found.getOperandDim(number, entry.resultDim))
          operand = sliceOperand(draft, operand, *dim, slice, context);
      value = addProduct(draft, product, operands);
      known.emplace_back(&entry, value);
    }
    value = takeSteps(draft.ops, value, entry.steps, slice.getLoc());
    if (Legal<> legal = replaceSlice(draft, slice, value, context.getSymbols());
        !legal) {
      // The reason names the user; the product is what is not split.
      legal.getRefusal().op = product;
      return std::move(legal.getRefusal());
    }
  }
  draft.note("every element is the same sum as before");
  return std::make_unique<SplitDraft>(std::move(draft));
}

std::unique_ptr<SplitDraft>
commute::draftSlicedConcat(tp::SliceOp slice, ProductContext &context) {
  auto concat = slice.getInput().getDefiningOp<tp::ConcatOp>();
  unsigned dim = slice.getDim();
  int64_t size = getTensor(slice.getResult()).getDimSize(dim);
  if (!concat || concat.getDim() != dim || slice.getStep() != 1 ||
      slice.getBlocks() || ShapedType::isDynamic(size) ||
      context.getWriteOrder().isWriteBetween(concat, slice))
    return nullptr;
  SplitDraft draft(context);
  draft.position = slice;
  int64_t begin = 0, start = slice.getStart();
  for (Value part : concat.getInputs()) {
    int64_t partSize = getTensor(part).getDimSize(dim);
    if (ShapedType::isDynamic(partSize) || begin > start ||
        getElementType(part) != getElementType(concat.getResult()))
      return nullptr;
    if (start + size <= begin + partSize) {
      SegmentOperand operand;
      operand.base = part;
      operand.dim = dim;
      operand.isSliced = size != partSize;
      operand.start = start - begin;
      Value value = takeSegment(draft.ops, operand,
                                draft.ops.getSizes(slice.getResult())[dim],
                                /*takesShard=*/false, slice.getLoc());
      if (!replaceSlice(draft, slice, value, context.getSymbols()))
        return nullptr;
      draft.note("every element is unchanged");
      return std::make_unique<SplitDraft>(std::move(draft));
    }
    begin += partSize;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

/// Drafts one product for a run of products, followed by their shared steps.
static Value draftRun(SplitDraft &draft, const JoinedRun &run) {
  tp::MatmulOp first = run.products.front();
  tp::DimensionRule rule = first.getDimensionRule();
  SmallVector<Value> operands(first->getOperands());
  for (auto [number, operand] : llvm::enumerate(operands)) {
    std::optional<unsigned> dim =
        analysis::findDimOfFactor(rule.operands[number], run.factor);
    if (!dim)
      continue;
    SmallVector<Value> parts;
    for (tp::MatmulOp product : run.products)
      parts.push_back(product->getOperand(number));
    operand = joinValues(draft.ops, parts, *dim, first.getLoc());
  }
  Value value = addProduct(draft, first, operands);
  return takeSteps(draft.ops, value, run.steps, first.getLoc());
}

std::unique_ptr<SplitDraft>
commute::draftJoinedProducts(const JoinedProducts &joined,
                             ProductContext &context) {
  SplitDraft draft(context);
  tp::ConcatOp concat = joined.concat;
  draft.position = concat;
  SmallVector<Value> values;
  unsigned next = 0;
  for (const JoinedRun &run : joined.runs) {
    for (; next < run.firstInput; ++next)
      values.push_back(concat.getInputs()[next]);
    values.push_back(draftRun(draft, run));
    next += run.products.size();
  }
  for (; next < concat.getInputs().size(); ++next)
    values.push_back(concat.getInputs()[next]);
  Value value = joinValues(draft.ops, values, concat.getDim(), concat.getLoc());
  draft.values.emplace_back(
      concat.getResult(),
      draft.ops.convert(value, getTensor(concat.getResult()), concat.getLoc()));
  draft.note("every element is the same sum as before");
  return std::make_unique<SplitDraft>(std::move(draft));
}
