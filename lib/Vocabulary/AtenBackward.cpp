//===- AtenBackward.cpp - gradients that AOTAutograd spells out -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Each backward operator is read as the formula of its gradient. As long as no
// part of the formula is rewritten, the node stays as it is.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;
using tp::ReductionKind;

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

/// Reads the gradient of a scalar function. `build` computes it from the
/// gradient of the function's result and one other tensor, the argument `name`.
static LogicalResult
setGradient(NodeReader &reader, StringRef name,
            llvm::function_ref<Value(Formula &, Value, Value)> build) {
  Value gradient = reader.tensor("grad_output");
  Value other = reader.tensor(name);
  if (!gradient || !other)
    return failure();
  Formula f(reader, getElementType(other));
  Value g = f.of(gradient), x = f.of(other);
  return f.result(0, build(f, g, x));
}

static LogicalResult readSigmoidBackward(NodeReader &reader) {
  return setGradient(reader, "output", [](Formula &f, Value g, Value y) {
    return f.multiply(g, f.multiply(f.subtract(f.number(1), y), y));
  });
}

static LogicalResult readTanhBackward(NodeReader &reader) {
  return setGradient(reader, "output", [](Formula &f, Value g, Value y) {
    return f.multiply(g, f.subtract(f.number(1), f.multiply(y, y)));
  });
}

static LogicalResult readSiluBackward(NodeReader &reader) {
  return setGradient(reader, "self", [](Formula &f, Value g, Value x) {
    Value s = f.apply(MapFunction::Sigmoid, x);
    Value slope = f.add(f.number(1), f.multiply(x, f.subtract(f.number(1), s)));
    return f.multiply(f.multiply(g, s), slope);
  });
}

/// Phi(x) + x phi(x), or the derivative of the tanh approximation.
static LogicalResult readGeluBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self");
  std::optional<StringRef> approximate =
      reader.string("approximate", StringRef("none"));
  if (!gradient || !self || !approximate)
    return failure();
  Formula f(reader, getElementType(self));
  Value x = f.of(self), half = f.number(0.5), one = f.number(1);
  Value square = f.multiply(x, x), slope;
  if (*approximate == "none") {
    Value cumulative = f.multiply(
        half,
        f.add(one, f.apply(MapFunction::Erf,
                           f.multiply(x, f.number(1 / std::numbers::sqrt2)))));
    Value density = f.multiply(
        f.apply(MapFunction::Exp, f.multiply(square, f.number(-0.5))),
        f.number(std::numbers::inv_sqrtpi / std::numbers::sqrt2));
    slope = f.add(cumulative, f.multiply(x, density));
  } else if (*approximate == "tanh") {
    double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    Value cube = f.multiply(square, f.number(0.044715));
    Value inner = f.multiply(f.number(root), f.add(x, f.multiply(cube, x)));
    Value t = f.apply(MapFunction::Tanh, inner);
    Value innerSlope =
        f.multiply(f.number(root), f.add(one, f.multiply(f.number(3), cube)));
    Value outer =
        f.multiply(f.multiply(half, x), f.subtract(one, f.multiply(t, t)));
    slope =
        f.add(f.multiply(half, f.add(one, t)), f.multiply(outer, innerSlope));
  } else {
    return failure();
  }
  return f.result(0, f.multiply(f.of(gradient), slope));
}

/// The gradient if self is above the threshold, else zero.
static LogicalResult readThresholdBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self");
  Value threshold = reader.operand("threshold");
  if (!gradient || !self || !threshold)
    return failure();
  Formula f(reader, getElementType(self));
  Value isBelow = f.test(MapFunction::LessEqual, {self, threshold});
  return f.result(0, f.select(isBelow, f.number(0), f.of(gradient)));
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

template <bool isLogarithm>
static LogicalResult readSoftmaxBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value output = reader.tensor("output");
  if (!gradient || !output)
    return failure();
  // It is the element type of the gradient.
  (void)reader.find("input_dtype");
  std::optional<int64_t> dim = reader.dim("dim", getTensor(output).getRank());
  if (!dim)
    return failure();
  Formula f(reader, getElementType(output));
  Value g = f.of(gradient), y = f.of(output);
  if (isLogarithm) {
    Value sum = f.reduce(ReductionKind::Sum, g, *dim);
    return f.result(
        0, f.subtract(g, f.multiply(f.apply(MapFunction::Exp, y), sum)));
  }
  Value product = f.multiply(g, y);
  Value sum = f.reduce(ReductionKind::Sum, product, *dim);
  return f.result(0, f.subtract(product, f.multiply(y, sum)));
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

namespace {
/// The operands of the gradient of a norm: the gradient of its result, and the
/// values that the forward operator saved.
struct NormGradient {
  Value gradient, input, weight;
  /// Positions of the normalized dims, and of all others.
  SmallVector<int64_t> rows, batch;
  /// The results that the node has.
  SmallVector<bool> mask;
};
} // namespace

static std::optional<NormGradient> getNormGradient(NodeReader &reader,
                                                   unsigned numResults) {
  NormGradient norm;
  norm.gradient = reader.tensor("grad_out");
  norm.input = reader.tensor("input");
  std::optional<SmallVector<int64_t>> shape =
      reader.integers("normalized_shape");
  const archive::Argument *mask = reader.find("output_mask");
  if (!norm.gradient || !norm.input || !shape || !mask ||
      mask->tag != archive::ArgumentTag::Bools)
    return std::nullopt;
  if (!reader.isAbsent("weight")) {
    norm.weight = reader.tensor("weight");
    if (!norm.weight)
      return std::nullopt;
  }
  int64_t rank = getTensor(norm.input).getRank();
  int64_t first = rank - static_cast<int64_t>(shape->size());
  if (first < 0)
    return std::nullopt;
  for (int64_t dim = 0; dim < rank; ++dim)
    (dim < first ? norm.batch : norm.rows).push_back(dim);
  for (const archive::Argument &element : mask->elements)
    norm.mask.push_back(element.integer != 0);
  if (norm.mask.size() != numResults)
    return std::nullopt;
  return norm;
}

/// Returns the gradients of input and weight, given the normalized input.
static LogicalResult setNormGradients(NodeReader &reader, Formula &f,
                                      const NormGradient &norm,
                                      Value normalized, Value scale,
                                      bool isCentered) {
  Value gradient = f.of(norm.gradient);
  size_t index = 0;
  if (norm.mask[0]) {
    Value g = gradient;
    if (norm.weight)
      g = f.multiply(g, f.of(norm.weight));
    auto mean = [&](Value value) {
      return f.reduce(ReductionKind::Avg, value, norm.rows);
    };
    Value inner =
        f.subtract(g, f.multiply(normalized, mean(f.multiply(g, normalized))));
    if (isCentered)
      inner = f.subtract(inner, mean(g));
    if (failed(f.result(index++, f.multiply(scale, inner))))
      return failure();
  }
  auto setSum = [&](Value value) {
    if (!norm.batch.empty())
      value = f.reduce(ReductionKind::Sum, value, norm.batch,
                       /*keepDims=*/false);
    return f.result(index++, value);
  };
  if (norm.mask[1] && failed(setSum(f.multiply(gradient, normalized))))
    return failure();
  if (norm.mask.size() > 2 && norm.mask[2] && failed(setSum(gradient)))
    return failure();
  return success();
}

static LogicalResult readLayerNormBackward(NodeReader &reader) {
  std::optional<NormGradient> norm = getNormGradient(reader, 3);
  Value mean = reader.tensor("mean"), rstd = reader.tensor("rstd");
  if (!norm || !mean || !rstd)
    return failure();
  // The gradient of the bias is a sum, which does not depend on the bias.
  (void)reader.find("bias");
  Formula f(reader, getElementType(norm->input));
  Value scale = f.of(rstd);
  Value normalized =
      f.multiply(f.subtract(f.of(norm->input), f.of(mean)), scale);
  return setNormGradients(reader, f, *norm, normalized, scale,
                          /*isCentered=*/true);
}

static LogicalResult readRmsNormBackward(NodeReader &reader) {
  std::optional<NormGradient> norm = getNormGradient(reader, 2);
  Value rstd = reader.tensor("rstd");
  if (!norm || !rstd)
    return failure();
  Formula f(reader, getElementType(norm->input));
  Value scale = f.of(rstd);
  return setNormGradients(reader, f, *norm,
                          f.multiply(f.of(norm->input), scale), scale,
                          /*isCentered=*/false);
}

void vocabulary::addAtenBackward(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.sigmoid_backward.default",
                 readSigmoidBackward);
  vocabulary.add("torch.ops.aten.tanh_backward.default", readTanhBackward);
  vocabulary.add("torch.ops.aten.silu_backward.default", readSiluBackward);
  vocabulary.add("torch.ops.aten.gelu_backward.default", readGeluBackward);
  vocabulary.add("torch.ops.aten.threshold_backward.default",
                 readThresholdBackward);
  vocabulary.add("torch.ops.aten._softmax_backward_data.default",
                 readSoftmaxBackward</*isLogarithm=*/false>);
  vocabulary.add("torch.ops.aten._log_softmax_backward_data.default",
                 readSoftmaxBackward</*isLogarithm=*/true>);
  vocabulary.add("torch.ops.aten.native_layer_norm_backward.default",
                 readLayerNormBackward);
  vocabulary.add("torch.ops.aten._fused_rms_norm_backward.default",
                 readRmsNormBackward);
}
