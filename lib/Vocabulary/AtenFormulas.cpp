//===- AtenFormulas.cpp - operators that are formulas -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Operators without an op of their own, which are imported as formulas of other
// ops. Unless a pass rewrites a part of the formula, the exporter keeps the
// original node.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;
using tp::ReductionKind;

static bool isFloat(Value value) {
  return isa<FloatType>(getElementType(value));
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

/// Reads an operator of one float tensor `self`, whose result `build` computes.
template <Value (*build)(Formula &, NodeReader &, Value)>
static LogicalResult readOfSelf(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self || !isFloat(self))
    return failure();
  Formula f(reader, getElementType(self));
  Value value = build(f, reader, f.of(self));
  return value ? f.result(0, value) : failure();
}

static Value buildLog1p(Formula &f, NodeReader &, Value x) {
  return f.apply(MapFunction::Log, f.add(f.number(1), x));
}

static Value buildExpm1(Formula &f, NodeReader &, Value x) {
  return f.subtract(f.apply(MapFunction::Exp, x), f.number(1));
}

/// log(1 + exp(beta x)) / beta, or x itself if beta x is large.
static Value buildSoftplus(Formula &f, NodeReader &reader, Value x) {
  std::optional<double> beta = reader.number("beta", 1);
  std::optional<double> threshold = reader.number("threshold", 20);
  if (!beta || !threshold)
    return {};
  Value scaled = f.multiply(x, f.number(*beta));
  Value isLarge = f.test(MapFunction::Greater, {scaled, f.number(*threshold)});
  Value soft =
      f.divide(buildLog1p(f, reader, f.apply(MapFunction::Exp, scaled)),
               f.number(*beta));
  return f.select(isLarge, x, soft);
}

/// min(max(x + 3, 0), 6) / 6
static Value buildHardSigmoid(Formula &f, NodeReader &, Value x) {
  Value bounded =
      f.apply(MapFunction::Maximum, {f.add(x, f.number(3)), f.number(0)});
  bounded = f.apply(MapFunction::Minimum, {bounded, f.number(6)});
  return f.divide(bounded, f.number(6));
}

static Value buildHardSwish(Formula &f, NodeReader &reader, Value x) {
  return f.multiply(x, buildHardSigmoid(f, reader, x));
}

static Value buildLeakyRelu(Formula &f, NodeReader &reader, Value x) {
  std::optional<double> slope = reader.number("negative_slope", 0.01);
  if (!slope)
    return {};
  Value isPositive = f.test(MapFunction::Greater, {x, f.number(0)});
  return f.select(isPositive, x, f.multiply(x, f.number(*slope)));
}

/// self + value * tensor1 * tensor2, or / tensor2: a step of an optimizer.
template <bool divides>
static LogicalResult readAddProduct(NodeReader &reader) {
  Value self = reader.tensor("self");
  Value first = reader.tensor("tensor1"), second = reader.tensor("tensor2");
  std::optional<double> factor = reader.number("value", 1);
  if (!self || !first || !second || !factor || !isFloat(self) ||
      getElementType(self) != getElementType(first) ||
      getElementType(self) != getElementType(second))
    return failure();
  Formula f(reader, getElementType(self));
  Value scaled = f.multiply(f.number(*factor), f.of(first));
  Value term = divides ? f.divide(scaled, f.of(second))
                       : f.multiply(scaled, f.of(second));
  return f.result(0, f.add(f.of(self), term));
}

/// self + weight * (end - self)
static LogicalResult readLerp(NodeReader &reader) {
  Value self = reader.tensor("self"), end = reader.tensor("end");
  Value weight = reader.operand("weight");
  if (!self || !end || !weight || !isFloat(self) ||
      getElementType(self) != getElementType(end))
    return failure();
  Formula f(reader, getElementType(self));
  Value x = f.of(self);
  if (getTensor(weight).getRank() > 0)
    weight = f.of(weight);
  return f.result(0, f.add(x, f.multiply(weight, f.subtract(f.of(end), x))));
}

//===----------------------------------------------------------------------===//
// Statistics of rows
//===----------------------------------------------------------------------===//

/// Returns the dims of a reduction of a tensor of this rank, or nullopt if one
/// is out of range.
static std::optional<SmallVector<int64_t>> getDims(NodeReader &reader,
                                                   int64_t rank) {
  std::optional<SmallVector<int64_t>> dims = reader.dims("dim", rank);
  bool fits =
      dims && (dims->empty() || (dims->front() >= 0 && dims->back() < rank));
  return fits ? dims : std::nullopt;
}

static LogicalResult readLogSumExp(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<bool> keepDims = reader.boolean("keepdim", false);
  RankedTensorType type = reader.getResultType();
  if (!self || !keepDims || !type || !isFloat(self))
    return failure();
  auto dims = getDims(reader, getTensor(self).getRank());
  if (!dims)
    return failure();
  Formula f(reader, getElementType(self));
  Value x = f.of(self);
  Value largest = f.reduce(ReductionKind::Max, x, *dims);
  Value sum =
      f.reduce(ReductionKind::Sum,
               f.apply(MapFunction::Exp, f.subtract(x, largest)), *dims);
  Value result = f.add(f.apply(MapFunction::Log, sum), largest);
  return f.result(0,
                  reader.reshape(result, reader.getSymbols().getSizes(type)));
}

/// A softmax in which a row of minus infinities becomes zero. PyTorch computes
/// it in the same steps.
static LogicalResult readSafeSoftmax(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  // It is the element type of the result.
  (void)reader.find("dtype");
  if (!self || !type || !isFloat(self) ||
      !isa<FloatType>(type.getElementType()))
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  if (!dim)
    return failure();
  Formula f(reader, getElementType(self));
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  Value softmax = reader.create<tp::RowwiseOp>(
      reader.getSymbols().getType(type.getElementType(), sizes,
                                  tp::getContiguousStrides(sizes)),
      tp::RowFunction::Softmax, self, *dim);
  Value isMasked =
      f.test(MapFunction::Equal,
             {self, f.number(-std::numeric_limits<double>::infinity())});
  Value isEmpty = f.reduce(ReductionKind::Min, isMasked, *dim);
  return f.result(0, reader.map(MapFunction::Select,
                                {isEmpty, f.number(0), softmax},
                                type.getElementType()));
}

/// The variance, or its square root, of the elements along some dims.
template <bool takesRoot>
static LogicalResult readVariance(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<bool> keepDims = reader.boolean("keepdim", false);
  std::optional<bool> isUnbiased = reader.boolean("unbiased", true);
  RankedTensorType type = reader.getResultType();
  if (!self || !keepDims || !isUnbiased || !type || !isFloat(self))
    return failure();
  std::optional<double> correction =
      reader.number("correction", *isUnbiased ? 1 : 0);
  auto dims = getDims(reader, getTensor(self).getRank());
  if (!dims || !correction)
    return failure();
  int64_t count = 1;
  for (int64_t dim : *dims) {
    if (getTensor(self).isDynamicDim(dim))
      return failure();
    count *= getTensor(self).getDimSize(dim);
  }
  if (static_cast<double>(count) <= *correction)
    return failure();
  Formula f(reader, getElementType(self));
  Value x = f.of(self);
  Value distance = f.subtract(x, f.reduce(ReductionKind::Avg, x, *dims));
  Value sum =
      f.reduce(ReductionKind::Sum, f.multiply(distance, distance), *dims);
  Value result =
      f.divide(sum, f.number(static_cast<double>(count) - *correction));
  if (takesRoot)
    result = f.apply(MapFunction::Sqrt, result);
  return f.result(0,
                  reader.reshape(result, reader.getSymbols().getSizes(type)));
}

/// Returns the indices 0, 1, ... of `repeats`, each repeated as often as
/// `repeats` states, `count` in total. The index at a position is the number of
/// repeats that end at or before it.
static Value getRepeatedIndices(NodeReader &reader, Value repeats,
                                int64_t count) {
  Builder &builder = reader.getBuilder();
  Type integer = builder.getI64Type();
  int64_t size = getTensor(repeats).getNumElements();
  Value ends = reader.create<tp::RowwiseOp>(
      RankedTensorType::get({size}, integer), tp::RowFunction::CumulativeSum,
      repeats, /*dim=*/0);
  Value positions = reader.create<tp::IotaOp>(
      RankedTensorType::get({count}, integer), builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(1));
  Value hasEnded = reader.map(MapFunction::LessEqual,
                              {ends, reader.reshape(positions, {count, 1})},
                              builder.getI1Type());
  Formula f(reader, integer);
  return f.reduce(ReductionKind::Sum, f.of(hasEnded), 1, /*keepDims=*/false);
}

/// repeat_interleave(repeats), and repeat_interleave(self, repeats, dim): the
/// elements of self at these indices.
static LogicalResult readRepeatInterleave(NodeReader &reader) {
  Value repeats = reader.tensor("repeats");
  RankedTensorType type = reader.getResultType();
  // Which the result has.
  (void)reader.find("output_size");
  if (!repeats || !type || !getTensor(repeats).hasStaticShape() ||
      getTensor(repeats).getRank() != 1 || isFloat(repeats))
    return failure();
  Value self = reader.tensor("self");
  int64_t dim = 0;
  if (self) {
    // Without a dim, PyTorch flattens the tensor first.
    if (reader.isAbsent("dim")) {
      if (!getTensor(self).hasStaticShape())
        return failure();
      self = reader.reshape(self, {getTensor(self).getNumElements()});
    } else {
      std::optional<int64_t> stated = reader.dim("dim", type.getRank());
      if (!stated)
        return failure();
      dim = *stated;
    }
    // A single number for all elements is a different overload.
    if (getTensor(self).getDimSize(dim) != getTensor(repeats).getNumElements())
      return failure();
  }
  if (type.isDynamicDim(dim))
    return failure();
  Value indices = getRepeatedIndices(reader, repeats, type.getDimSize(dim));
  Formula f(reader, type.getElementType());
  if (!self)
    return f.result(0, indices);
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  return f.result(
      0, reader.create<tp::TakeOp>(
             reader.getSymbols().getType(type.getElementType(), sizes,
                                         tp::getContiguousStrides(sizes)),
             self, indices, dim, /*wraps_negative=*/false));
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

/// Returns prepend, self and append as one tensor; null if their element types
/// differ.
static Value join(NodeReader &reader, Value self, int64_t dim) {
  SmallVector<Value> parts = {self};
  for (StringRef name : {"prepend", "append"}) {
    if (reader.isAbsent(name))
      continue;
    Value part = reader.tensor(name);
    if (!part || getElementType(part) != getElementType(self))
      return {};
    parts.insert(name == "prepend" ? parts.begin() : parts.end(), part);
  }
  if (parts.size() == 1)
    return self;
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(self));
  sizes[dim] = 0;
  for (Value part : parts)
    sizes[dim] = tp::add(sizes[dim], symbols.getSizes(getTensor(part))[dim]);
  return reader.create<tp::ConcatOp>(
      symbols.getType(getElementType(self), sizes,
                      tp::getContiguousStrides(sizes)),
      parts, dim);
}

/// x[1:] - x[:-1] along a dim; for truth values, whether they differ.
static LogicalResult readDifference(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type || reader.integer("n", 1) != 1)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), -1);
  if (!dim)
    return failure();
  self = join(reader, self, *dim);
  if (!self || getTensor(self).getDimSize(*dim) == 0)
    return failure();
  tp::Size count = reader.getSymbols().getSizes(type)[*dim];
  Value next = reader.slice(self, *dim, 1, count);
  Value previous = reader.slice(self, *dim, 0, count);
  Type element = getElementType(self);
  auto function =
      element.isInteger(1) ? MapFunction::NotEqual : MapFunction::Sub;
  Formula f(reader, element);
  return f.result(0, reader.map(function, {next, previous}, element));
}

/// pad(x, [left, right, ...]): from the last dim to the first. Negative numbers
/// of elements crop.
static LogicalResult readPad(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<SmallVector<int64_t>> pad = reader.integers("pad");
  std::optional<StringRef> mode = reader.string("mode", StringRef("constant"));
  std::optional<double> number = reader.number("value", 0);
  RankedTensorType type = reader.getResultType();
  if (!self || !pad || !type || mode != StringRef("constant") || !number ||
      pad->size() % 2 != 0 ||
      static_cast<int64_t>(pad->size() / 2) > type.getRank())
    return failure();
  Value value = self;
  for (size_t pair = 0; pair < pad->size() / 2; ++pair) {
    int64_t dim = type.getRank() - 1 - static_cast<int64_t>(pair);
    int64_t left = (*pad)[2 * pair], right = (*pad)[2 * pair + 1];
    if (left == 0 && right == 0)
      continue;
    if (getTensor(value).isDynamicDim(dim))
      return failure();
    int64_t start = std::max<int64_t>(-left, 0);
    int64_t size =
        getTensor(value).getDimSize(dim) - start - std::max<int64_t>(-right, 0);
    if (size < 0)
      return failure();
    if (size != getTensor(value).getDimSize(dim))
      value = reader.slice(value, dim, start, size);
    tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(value));
    SmallVector<Value> parts;
    auto addPadding = [&](int64_t count) {
      if (count <= 0)
        return;
      tp::Sizes padding = sizes;
      padding[dim] = count;
      parts.push_back(reader.fill(*number, padding, type.getElementType()));
    };
    addPadding(left);
    parts.push_back(value);
    addPadding(right);
    if (parts.size() == 1)
      continue;
    sizes[dim] =
        size + std::max<int64_t>(left, 0) + std::max<int64_t>(right, 0);
    value = reader.create<tp::ConcatOp>(
        reader.getSymbols().getType(type.getElementType(), sizes,
                                    tp::getContiguousStrides(sizes)),
        parts, dim);
  }
  Formula f(reader, type.getElementType());
  return f.result(0, value);
}

/// The elements in reverse order along some dims.
static LogicalResult readFlip(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<SmallVector<int64_t>> dims = reader.integers("dims");
  if (!self || !dims)
    return failure();
  RankedTensorType type = getTensor(self);
  Value value = self;
  for (int64_t dim : *dims) {
    dim += dim < 0 ? type.getRank() : 0;
    if (dim < 0 || dim >= type.getRank() || type.isDynamicDim(dim))
      return failure();
    Builder &builder = reader.getBuilder();
    Value positions = reader.create<tp::IotaOp>(
        RankedTensorType::get({type.getDimSize(dim)}, builder.getI64Type()),
        builder.getI64IntegerAttr(type.getDimSize(dim) - 1),
        builder.getI64IntegerAttr(-1));
    tp::Sizes sizes = reader.getSymbols().getSizes(type);
    value = reader.create<tp::TakeOp>(
        reader.getSymbols().getType(type.getElementType(), sizes,
                                    tp::getContiguousStrides(sizes)),
        value, positions, dim, /*wraps_negative=*/false);
  }
  Formula f(reader, type.getElementType());
  return f.result(0, value);
}

/// Integers shifted by a constant: products by a power of two, or their
/// quotients rounded down.
template <bool toLeft>
static LogicalResult readShift(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<int64_t> distance = reader.integer("other");
  RankedTensorType type = reader.getResultType();
  if (!self || !distance || !type)
    return failure();
  auto integer = dyn_cast<IntegerType>(getTensor(self).getElementType());
  if (!integer || type.getElementType() != integer || *distance < 0 ||
      *distance + 1 >= static_cast<int64_t>(integer.getWidth()))
    return failure();
  return reader.result(reader.create<tp::MapOp>(
      type, toLeft ? tp::MapFunction::Mul : tp::MapFunction::FloorDiv,
      ValueRange{self, reader.constant(int64_t(1) << *distance)}));
}

void vocabulary::addAtenFormulas(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.aten.__lshift__.Scalar",
                  "torch.ops.aten.bitwise_left_shift.Tensor_Scalar"},
                 readShift</*toLeft=*/true>);
  vocabulary.add({"torch.ops.aten.__rshift__.Scalar",
                  "torch.ops.aten.bitwise_right_shift.Tensor_Scalar"},
                 readShift</*toLeft=*/false>);
  vocabulary.add("torch.ops.aten.log1p.default", readOfSelf<buildLog1p>);
  vocabulary.add("torch.ops.aten.expm1.default", readOfSelf<buildExpm1>);
  vocabulary.add("torch.ops.aten.softplus.default", readOfSelf<buildSoftplus>);
  vocabulary.add("torch.ops.aten.hardsigmoid.default",
                 readOfSelf<buildHardSigmoid>);
  vocabulary.add("torch.ops.aten.hardswish.default",
                 readOfSelf<buildHardSwish>);
  vocabulary.add("torch.ops.aten.leaky_relu.default",
                 readOfSelf<buildLeakyRelu>);
  vocabulary.add("torch.ops.aten.addcmul.default",
                 readAddProduct</*divides=*/false>);
  vocabulary.add("torch.ops.aten.addcdiv.default",
                 readAddProduct</*divides=*/true>);
  vocabulary.add({"torch.ops.aten.lerp.Scalar", "torch.ops.aten.lerp.Tensor"},
                 readLerp);
  vocabulary.add("torch.ops.aten.logsumexp.default", readLogSumExp);
  vocabulary.add("torch.ops.aten._safe_softmax.default", readSafeSoftmax);
  vocabulary.add({"torch.ops.aten.repeat_interleave.Tensor",
                  "torch.ops.aten.repeat_interleave.self_Tensor"},
                 readRepeatInterleave);
  vocabulary.add({"torch.ops.aten.var.correction", "torch.ops.aten.var.dim"},
                 readVariance</*takesRoot=*/false>);
  vocabulary.add({"torch.ops.aten.std.correction", "torch.ops.aten.std.dim"},
                 readVariance</*takesRoot=*/true>);
  vocabulary.add("torch.ops.aten.diff.default", readDifference);
  vocabulary.add(
      {"torch.ops.aten.constant_pad_nd.default", "torch.ops.aten.pad.default"},
      readPad);
  vocabulary.add("torch.ops.aten.flip.default", readFlip);
}
