//===- AtenActivationGradients.cpp - gradients of activations ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The gradients of activations that are defined piece by piece, or by a few
// elementary functions, as AOTAutograd leaves them in a graph.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;

/// Reads the gradient of a scalar function of `self`. `build` returns the
/// gradient with respect to x, given that of the result; null if an argument is
/// not modelled.
template <Value (*build)(Formula &, NodeReader &, Value g, Value x)>
static LogicalResult readGradient(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self");
  if (!gradient || !self || !isFloat(self) || !isFloat(gradient))
    return failure();
  Formula f(reader, getElementType(self));
  Value value = build(f, reader, f.of(gradient), f.of(self));
  return value ? f.result(0, value) : failure();
}

/// g if x is above zero, else the slope times g.
static Value buildLeakyRelu(Formula &f, NodeReader &reader, Value g, Value x) {
  std::optional<double> slope = reader.number("negative_slope");
  std::optional<bool> isResult = reader.boolean("self_is_result", false);
  // The result has the sign of the operand unless the slope is negative.
  if (!slope || !isResult || (*isResult && *slope < 0))
    return {};
  return f.select(f.test(MapFunction::Greater, {x, f.number(0)}), g,
                  f.multiply(g, f.number(*slope)));
}

/// scale g if x is above zero, else g times the slope of
/// scale alpha (exp(input_scale x) - 1).
static LogicalResult readEluBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self_or_result");
  std::optional<double> alpha = reader.number("alpha");
  std::optional<double> scale = reader.number("scale");
  std::optional<double> inputScale = reader.number("input_scale");
  std::optional<bool> isResult = reader.boolean("is_result");
  if (!gradient || !self || !alpha || !scale || !inputScale || !isResult)
    return failure();
  Formula f(reader, getElementType(self));
  Value g = f.of(gradient), x = f.of(self);
  Value height = f.multiply(f.number(*alpha), f.number(*scale));
  Value decay =
      *isResult
          ? f.add(x, height)
          : f.multiply(height, f.apply(MapFunction::Exp,
                                       f.multiply(x, f.number(*inputScale))));
  Value below = f.multiply(f.multiply(g, f.number(*inputScale)), decay);
  return f.result(0, f.select(f.test(MapFunction::LessEqual, {x, f.number(0)}),
                              below, f.multiply(g, f.number(*scale))));
}

/// g if x is between the bounds, else zero.
static Value buildHardTanh(Formula &f, NodeReader &reader, Value g, Value x) {
  std::optional<double> least = reader.number("min_val");
  std::optional<double> most = reader.number("max_val");
  if (!least || !most)
    return {};
  Value isOutside =
      f.test(MapFunction::LogicalOr,
             {f.test(MapFunction::LessEqual, {x, f.number(*least)}),
              f.test(MapFunction::GreaterEqual, {x, f.number(*most)})});
  return f.select(isOutside, f.number(0), g);
}

/// g / 6 if x is between -3 and 3, else zero.
static Value buildHardSigmoid(Formula &f, NodeReader &, Value g, Value x) {
  Value isInside = f.test(MapFunction::LogicalAnd,
                          {f.test(MapFunction::Greater, {x, f.number(-3)}),
                           f.test(MapFunction::Less, {x, f.number(3)})});
  return f.select(isInside, f.divide(g, f.number(6)), f.number(0));
}

/// g exp(beta x) / (1 + exp(beta x)), or g itself if beta x is large.
static Value buildSoftplus(Formula &f, NodeReader &reader, Value g, Value x) {
  std::optional<double> beta = reader.number("beta");
  std::optional<double> threshold = reader.number("threshold");
  if (!beta || !threshold)
    return {};
  Value scaled = f.multiply(x, f.number(*beta));
  Value growth = f.apply(MapFunction::Exp, scaled);
  Value soft = f.divide(f.multiply(g, growth), f.add(growth, f.number(1)));
  return f.select(f.test(MapFunction::Greater, {scaled, f.number(*threshold)}),
                  g, soft);
}

/// g (1 - sigmoid(x))
static Value buildLogSigmoid(Formula &f, NodeReader &reader, Value g, Value x) {
  // A part of the forward result that the kernel of the CPU saves.
  (void)reader.tensor("buffer");
  return f.multiply(g,
                    f.subtract(f.number(1), f.apply(MapFunction::Sigmoid, x)));
}

/// The gradient of the first half times the sigmoid of the second one.
static LogicalResult readGluBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self");
  if (!gradient || !self)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank());
  if (!dim || getTensor(self).isDynamicDim(*dim) ||
      getTensor(self).getDimSize(*dim) % 2 != 0)
    return failure();
  int64_t half = getTensor(self).getDimSize(*dim) / 2;
  Formula f(reader, getElementType(self));
  Value g = f.of(gradient), x = f.of(self);
  Value first = reader.slice(x, *dim, 0, half);
  Value gate = f.apply(MapFunction::Sigmoid, reader.slice(x, *dim, half, half));
  Value slope = f.multiply(gate, f.subtract(f.number(1), gate));
  Value parts[] = {f.multiply(g, gate),
                   f.multiply(f.multiply(g, first), slope)};
  return f.result(0, reader.concat(parts, *dim));
}

/// The gradients of both operands of a leaky ReLU with learned slopes.
static LogicalResult readPreluBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self"), weight = reader.tensor("weight");
  if (!gradient || !self || !weight)
    return failure();
  Formula f(reader, getElementType(self));
  Value g = f.of(gradient), x = f.of(self);
  Value isAbove = f.test(MapFunction::Greater, {x, f.number(0)});
  if (failed(f.result(0, f.select(isAbove, g, f.multiply(f.of(weight), g)))))
    return failure();
  return f.result(1, f.select(isAbove, f.number(0), f.multiply(x, g)));
}

/// The gradient where the forward kept elements, scaled as it scaled them.
static LogicalResult readDropoutBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output"), mask = reader.tensor("mask");
  std::optional<double> scale = reader.number("scale");
  if (!gradient || !mask || !scale || !getElementType(mask).isInteger(1))
    return failure();
  Formula f(reader, getElementType(gradient));
  return f.result(0,
                  f.select(mask, f.multiply(f.of(gradient), f.number(*scale)),
                           f.number(0)));
}

void vocabulary::addAtenActivationGradients(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.leaky_relu_backward.default",
                 readGradient<buildLeakyRelu>);
  vocabulary.add("torch.ops.aten.elu_backward.default", readEluBackward);
  vocabulary.add("torch.ops.aten.hardtanh_backward.default",
                 readGradient<buildHardTanh>);
  vocabulary.add("torch.ops.aten.hardsigmoid_backward.default",
                 readGradient<buildHardSigmoid>);
  vocabulary.add("torch.ops.aten.softplus_backward.default",
                 readGradient<buildSoftplus>);
  vocabulary.add("torch.ops.aten.log_sigmoid_backward.default",
                 readGradient<buildLogSigmoid>);
  vocabulary.add("torch.ops.aten.glu_backward.default", readGluBackward);
  vocabulary.add("torch.ops.aten._prelu_kernel_backward.default",
                 readPreluBackward);
  vocabulary.add("torch.ops.aten.native_dropout_backward.default",
                 readDropoutBackward);
}
