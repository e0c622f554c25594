//===- AtenScalarFormulas.cpp - formulas of elements ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Functions of single elements without an op of their own, which are imported
// as formulas. Unless a pass rewrites a part of the formula, the exporter keeps
// the original node.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;

static constexpr double infinity = std::numeric_limits<double>::infinity();

//===----------------------------------------------------------------------===//
// Functions of one tensor
//===----------------------------------------------------------------------===//

/// Reads an operator of one float tensor `self`, whose result `build` computes.
template <Value (*build)(Formula &, NodeReader &, Value)>
static LogicalResult readOfSelf(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !isFloat(self) || !type ||
      !isa<FloatType>(type.getElementType()))
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

/// scale * x if x is not negative, else scale * alpha * (exp(input_scale * x) -
/// 1)
static Value buildElu(Formula &f, NodeReader &reader, Value x) {
  std::optional<double> alpha = reader.number("alpha", 1);
  std::optional<double> scale = reader.number("scale", 1);
  std::optional<double> inputScale = reader.number("input_scale", 1);
  if (!alpha || !scale || !inputScale)
    return {};
  Value isNegative = f.test(MapFunction::Less, {x, f.number(0)});
  Value curve = buildExpm1(f, reader, f.multiply(x, f.number(*inputScale)));
  return f.select(isNegative, f.multiply(curve, f.number(*alpha * *scale)),
                  f.multiply(x, f.number(*scale)));
}

/// x * tanh(log(1 + exp(x)))
static Value buildMish(Formula &f, NodeReader &reader, Value x) {
  Value soft = buildLog1p(f, reader, f.apply(MapFunction::Exp, x));
  return f.multiply(x, f.apply(MapFunction::Tanh, soft));
}

static Value buildLogSigmoid(Formula &f, NodeReader &, Value x) {
  return f.logSigmoid(x);
}

/// Other numbers instead of NaN and the infinities: by default zero and the
/// largest numbers of the element type.
static Value buildNanToNum(Formula &f, NodeReader &reader, Value x) {
  auto type = cast<FloatType>(reader.getResultType().getElementType());
  double largest =
      APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  std::optional<double> nan = reader.number("nan", 0);
  std::optional<double> above = reader.number("posinf", largest);
  std::optional<double> below = reader.number("neginf", -largest);
  if (!nan || !above || !below)
    return {};
  auto isEqual = [&](double number) {
    return f.test(MapFunction::Equal, {x, f.number(number)});
  };
  Value finite = f.select(isEqual(-infinity), f.number(*below), x);
  finite = f.select(isEqual(infinity), f.number(*above), finite);
  return f.select(f.test(MapFunction::IsNan, x), f.number(*nan), finite);
}

/// Rounds to zero.
static LogicalResult readTruncate(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self || getElementType(self).isInteger(1))
    return failure();
  Formula f(reader, getElementType(self));
  Value x = f.of(self);
  Value isNegative =
      f.test(MapFunction::Less, {x, reader.constant(int64_t(0))});
  return f.result(0, f.select(isNegative, f.apply(MapFunction::Ceil, x),
                              f.apply(MapFunction::Floor, x)));
}

/// Compares the distance from zero with infinity. NaN is neither infinite nor
/// finite.
template <MapFunction comparison>
static LogicalResult readIsInfinite(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type || !isFloat(self))
    return failure();
  Formula f(reader, getElementType(self));
  Value distance = f.apply(MapFunction::Abs, f.of(self));
  return f.result(0, f.test(comparison, {distance, f.number(infinity)}));
}

/// The first half of the elements along a dim, gated by the second half.
static LogicalResult readGlu(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type || !isFloat(self) ||
      getTensor(self).getRank() != type.getRank())
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank(), -1);
  if (!dim || type.isDynamicDim(*dim))
    return failure();
  int64_t half = type.getDimSize(*dim);
  Formula f(reader, getElementType(self));
  Value first = f.of(reader.slice(self, *dim, 0, half));
  Value gate = f.of(reader.slice(self, *dim, half, half));
  return f.result(0, f.multiply(first, f.apply(MapFunction::Sigmoid, gate)));
}

//===----------------------------------------------------------------------===//
// Functions of several tensors
//===----------------------------------------------------------------------===//

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

/// The remainder with the sign of the dividend.
static LogicalResult readFmod(NodeReader &reader) {
  Value self = reader.tensor("self"), other = reader.operand("other");
  RankedTensorType type = reader.getResultType();
  if (!self || !other || !type || type.getElementType().isInteger(1))
    return failure();
  Type element = type.getElementType();
  Formula f(reader, element);
  Value x = f.of(self);
  Value zero = reader.constant(int64_t(0));
  Value isNegative = f.test(MapFunction::Less, {x, zero});
  if (isa<FloatType>(element)) {
    // Nothing is rounded.
    Value rest = f.apply(
        MapFunction::Remainder,
        {f.apply(MapFunction::Abs, x), f.apply(MapFunction::Abs, f.of(other))});
    return f.result(
        0, f.select(isNegative, f.apply(MapFunction::Neg, rest), rest));
  }
  // The magnitude of the smallest integer is not representable.
  Value y = f.of(other);
  Value rest = f.apply(MapFunction::Remainder, {x, y});
  Value signsDiffer =
      f.test(MapFunction::NotEqual,
             {isNegative, f.test(MapFunction::Less, {y, zero})});
  Value isMoved =
      f.test(MapFunction::LogicalAnd,
             {signsDiffer, f.test(MapFunction::NotEqual, {rest, zero})});
  return f.result(0, f.select(isMoved, f.subtract(rest, y), rest));
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

/// a b + c, which Inductor's decompositions of gradients and optimizers
/// contain.
static LogicalResult readMultiplyAdd(NodeReader &reader) {
  Value a = reader.tensor("a"), b = reader.tensor("b"), c = reader.tensor("c");
  RankedTensorType type = reader.getResultType();
  if (!a || !b || !c || !isFloat(a) || !isFloat(b) || !isFloat(c) || !type ||
      !isa<FloatType>(type.getElementType()))
    return failure();
  Formula f(reader, type.getElementType());
  return f.result(0, f.add(f.multiply(f.of(a), f.of(b)), f.of(c)));
}

void vocabulary::addAtenScalarFormulas(Vocabulary &vocabulary) {
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
  vocabulary.add("torch.ops.aten.elu.default", readOfSelf<buildElu>);
  vocabulary.add("torch.ops.aten.mish.default", readOfSelf<buildMish>);
  vocabulary.add({"torch.ops.aten.log_sigmoid.default",
                  "torch.ops.aten.log_sigmoid_forward.default"},
                 readOfSelf<buildLogSigmoid>);
  vocabulary.add("torch.ops.aten.nan_to_num.default",
                 readOfSelf<buildNanToNum>);
  vocabulary.add("torch.ops.aten.trunc.default", readTruncate);
  vocabulary.add("torch.ops.aten.isinf.default",
                 readIsInfinite<MapFunction::Equal>);
  vocabulary.add("torch.ops.aten.isfinite.default",
                 readIsInfinite<MapFunction::Less>);
  vocabulary.add("torch.ops.aten.glu.default", readGlu);
  vocabulary.add({"torch.ops.aten.fmod.Scalar", "torch.ops.aten.fmod.Tensor"},
                 readFmod);
  vocabulary.add("torch.ops.prims.fma.default", readMultiplyAdd);
  vocabulary.add("torch.ops.aten.addcmul.default",
                 readAddProduct</*divides=*/false>);
  vocabulary.add("torch.ops.aten.addcdiv.default",
                 readAddProduct</*divides=*/true>);
  vocabulary.add({"torch.ops.aten.lerp.Scalar", "torch.ops.aten.lerp.Tensor"},
                 readLerp);
}
