//===- AtenLosses.cpp - losses and their gradients --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Each loss is read as its formula. As long as no part of the formula is
// rewritten, the node stays as it is.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;
using tp::ReductionKind;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// PyTorch's numbers for the argument `reduction`.
static constexpr int64_t reductionNone = 0, reductionMean = 1, reductionSum = 2;

static std::optional<int64_t> getReduction(NodeReader &reader) {
  std::optional<int64_t> reduction = reader.integer("reduction", reductionMean);
  bool isKnown = reduction == reductionNone || reduction == reductionMean ||
                 reduction == reductionSum;
  return isKnown ? reduction : std::nullopt;
}

/// Combines all elements.
static Value reduceAll(Formula &f, ReductionKind kind, Value value) {
  auto dims =
      llvm::to_vector(llvm::seq<int64_t>(0, getTensor(value).getRank()));
  return f.reduce(kind, value, dims, /*keepDims=*/false);
}

//===----------------------------------------------------------------------===//
// Losses of elements
//===----------------------------------------------------------------------===//

/// Returns the product with an optional tensor argument; null if the argument
/// is not modelled.
static Value scaleBy(Formula &f, NodeReader &reader, StringRef name,
                     Value value) {
  if (reader.isAbsent(name))
    return value;
  Value factor = reader.tensor(name);
  return factor && isFloat(factor) ? f.multiply(value, f.of(factor)) : Value();
}

/// Reads a loss of two float tensors, `self` and `target`. `build` computes the
/// loss of each element.
template <Value (*build)(Formula &, NodeReader &, Value, Value)>
static LogicalResult readLoss(NodeReader &reader) {
  Value self = reader.tensor("self"), target = reader.tensor("target");
  std::optional<int64_t> reduction = getReduction(reader);
  if (!self || !target || !reduction || !isFloat(self) ||
      getElementType(self) != getElementType(target))
    return failure();
  Formula f(reader, getElementType(self));
  Value losses = build(f, reader, f.of(self), f.of(target));
  if (!losses)
    return failure();
  if (*reduction == reductionNone)
    return f.result(0, losses);
  return f.result(0, reduceAll(f,
                               *reduction == reductionMean ? ReductionKind::Avg
                                                           : ReductionKind::Sum,
                               losses));
}

static Value buildSquaredError(Formula &f, NodeReader &, Value x, Value y) {
  Value difference = f.subtract(x, y);
  return f.multiply(difference, difference);
}

static Value buildDistance(Formula &f, NodeReader &, Value x, Value y) {
  return f.apply(MapFunction::Abs, f.subtract(x, y));
}

/// With the distance d: d^2 / (2 beta) below beta, else d - beta / 2.
static Value buildSmoothL1(Formula &f, NodeReader &reader, Value x, Value y) {
  std::optional<double> beta = reader.number("beta", 1);
  if (!beta || *beta < 0)
    return {};
  Value distance = buildDistance(f, reader, x, y);
  if (*beta == 0)
    return distance;
  Value square = f.multiply(f.multiply(f.number(0.5), distance), distance);
  return f.select(f.test(MapFunction::Less, {distance, f.number(*beta)}),
                  f.divide(square, f.number(*beta)),
                  f.subtract(distance, f.number(0.5 * *beta)));
}

/// With the distance d: d^2 / 2 up to delta, else delta (d - delta / 2).
static Value buildHuber(Formula &f, NodeReader &reader, Value x, Value y) {
  std::optional<double> delta = reader.number("delta", 1);
  if (!delta || *delta <= 0)
    return {};
  Value distance = buildDistance(f, reader, x, y);
  Value square = f.multiply(f.multiply(f.number(0.5), distance), distance);
  Value line = f.multiply(f.number(*delta),
                          f.subtract(distance, f.number(0.5 * *delta)));
  return f.select(f.test(MapFunction::LessEqual, {distance, f.number(*delta)}),
                  square, line);
}

/// (1 - y) x - log(sigmoid(x)) (1 + (p - 1) y) with the weight p of positive
/// elements.
static Value buildLogitsEntropy(Formula &f, NodeReader &reader, Value x,
                                Value y) {
  Value logarithm = f.logSigmoid(x);
  if (!reader.isAbsent("pos_weight")) {
    Value positive = reader.tensor("pos_weight");
    if (!positive || !isFloat(positive))
      return {};
    Value excess = f.subtract(f.of(positive), f.number(1));
    logarithm =
        f.multiply(logarithm, f.add(f.multiply(excess, y), f.number(1)));
  }
  Value losses =
      f.subtract(f.multiply(f.subtract(f.number(1), y), x), logarithm);
  return scaleBy(f, reader, "weight", losses);
}

/// (y - 1) log(1 - x) - y log(x), with logarithms of at least -100.
static Value buildEntropy(Formula &f, NodeReader &reader, Value x, Value y) {
  auto getLogarithm = [&](Value value) {
    return f.apply(MapFunction::Maximum,
                   {f.apply(MapFunction::Log, value), f.number(-100)});
  };
  Value one = f.number(1);
  Value losses = f.subtract(
      f.multiply(f.subtract(y, one), getLogarithm(f.subtract(one, x))),
      f.multiply(y, getLogarithm(x)));
  return scaleBy(f, reader, "weight", losses);
}

/// y (log(y) - x), which is zero if y is; exp(y) (y - x) with `log_target`.
static Value buildDivergence(Formula &f, NodeReader &reader, Value x, Value y) {
  std::optional<bool> isLogarithm = reader.boolean("log_target", false);
  if (!isLogarithm)
    return {};
  if (*isLogarithm)
    return f.multiply(f.apply(MapFunction::Exp, y), f.subtract(y, x));
  Value isZero = f.test(MapFunction::Equal, {y, f.number(0)});
  Value entropy = f.select(isZero, f.number(0),
                           f.multiply(y, f.apply(MapFunction::Log, y)));
  return f.subtract(entropy, f.multiply(y, x));
}

/// Reads the gradient of a loss of two float tensors. `build` returns the
/// slope of the loss of each element as a function of `self - target`; null if
/// an argument is not modelled.
template <Value (*build)(Formula &, NodeReader &, Value)>
static LogicalResult readLossBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self"), target = reader.tensor("target");
  std::optional<int64_t> reduction = getReduction(reader);
  if (!gradient || !self || !target || !reduction || !isFloat(self) ||
      getElementType(self) != getElementType(target))
    return failure();
  Formula f(reader, getElementType(self));
  Value slope = build(f, reader, f.subtract(f.of(self), f.of(target)));
  if (!slope)
    return failure();
  Value g = f.multiply(f.of(gradient), slope);
  if (*reduction == reductionMean) {
    tp::Size count =
        tp::multiply(reader.getSymbols().getSizes(getTensor(slope)));
    if (!tp::getConstant(count))
      return failure();
    g = f.divide(g, f.number(static_cast<double>(*tp::getConstant(count))));
  }
  return f.result(0, g);
}

static Value buildSlopeOfSquare(Formula &f, NodeReader &, Value difference) {
  return f.multiply(f.number(2), difference);
}

static Value buildSlopeOfSmoothL1(Formula &f, NodeReader &reader, Value d) {
  std::optional<double> beta = reader.number("beta", 1);
  if (!beta || *beta < 0)
    return {};
  Value sign = f.apply(MapFunction::Sign, d);
  if (*beta == 0)
    return sign;
  Value distance = f.apply(MapFunction::Abs, d);
  return f.select(f.test(MapFunction::Less, {distance, f.number(*beta)}),
                  f.divide(d, f.number(*beta)), sign);
}

static Value buildSlopeOfHuber(Formula &f, NodeReader &reader, Value d) {
  std::optional<double> delta = reader.number("delta", 1);
  if (!delta || *delta <= 0)
    return {};
  return f.apply(MapFunction::Minimum,
                 {f.apply(MapFunction::Maximum, {d, f.number(-*delta)}),
                  f.number(*delta)});
}

//===----------------------------------------------------------------------===//
// Negative log-likelihood
//===----------------------------------------------------------------------===//

namespace {
/// The class indices of a loss without class weights, and a mask of the rows
/// that count.
struct Targets {
  int64_t reduction;
  /// The dim of the classes.
  int64_t dim;
  /// One truth value and one class for each row; `dim` has size 1.
  Value isCounted, classes;
};
} // namespace

/// Reads the targets of scores[classes] or scores[N, classes, ...].
static std::optional<Targets> getTargets(NodeReader &reader, Value self) {
  Value target = reader.tensor("target");
  std::optional<int64_t> reduction = getReduction(reader);
  std::optional<int64_t> ignored = reader.integer("ignore_index", -100);
  if (!self || !target || !reduction || !ignored ||
      !reader.isAbsent("weight") || !isFloat(self) ||
      !getElementType(target).isInteger(64) ||
      getTensor(self).getRank() != getTensor(target).getRank() + 1)
    return std::nullopt;
  int64_t dim = getTensor(self).getRank() == 1 ? 0 : 1;
  tp::Sizes rows = reader.getSymbols().getSizes(getTensor(target));
  rows.insert(rows.begin() + dim, 1);
  Value classes = reader.reshape(target, rows);
  Builder &builder = reader.getBuilder();
  Value isCounted =
      reader.map(MapFunction::NotEqual, {classes, reader.constant(*ignored)},
                 builder.getI1Type());
  classes = reader.map(MapFunction::Select,
                       {isCounted, classes, reader.constant(int64_t(0))},
                       builder.getI64Type());
  return Targets{*reduction, dim, isCounted, classes};
}

/// Sets the loss of logarithms of probabilities as the node's result. The
/// second result of some operators is the number of rows that count, if the
/// loss is reduced.
static LogicalResult setNllLoss(NodeReader &reader, Value logarithms,
                                const Targets &targets) {
  tp::SymbolSpace &symbols = reader.getSymbols();
  Formula f(reader, getElementType(logarithms));
  tp::Sizes rows = symbols.getSizes(getTensor(targets.classes));
  Value chosen = reader.create<tp::TakeAlongOp>(
      reader.getDenseType(getElementType(logarithms), rows), logarithms,
      targets.classes, targets.dim);
  Value losses = f.select(targets.isCounted,
                          f.apply(MapFunction::Neg, f.of(chosen)), f.number(0));
  bool hasCount = reader.getNumResults() > 1;
  if (targets.reduction == reductionNone) {
    rows.erase(rows.begin() + targets.dim);
    // The count is zero without a reduction.
    return hasCount && reader.isResultUsed(1)
               ? failure()
               : f.result(0, reader.reshape(losses, rows));
  }
  Value count = reduceAll(f, ReductionKind::Sum, f.of(targets.isCounted));
  Value loss = reduceAll(f, ReductionKind::Sum, losses);
  if (targets.reduction == reductionMean)
    loss = f.divide(loss, count);
  if (failed(f.result(0, loss)))
    return failure();
  return hasCount ? f.result(1, count) : success();
}

static LogicalResult readNllLoss(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<Targets> targets = getTargets(reader, self);
  return targets ? setNllLoss(reader, self, *targets) : failure();
}

/// The loss of the logarithms of a softmax, with class indices as targets.
static LogicalResult readCrossEntropy(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<Targets> targets = getTargets(reader, self);
  if (!targets || reader.number("label_smoothing", 0) != 0.0)
    return failure();
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(self));
  Value logarithms = reader.create<tp::RowwiseOp>(
      reader.getDenseType(getElementType(self), sizes),
      tp::RowFunction::LogSoftmax, self, targets->dim);
  return setNllLoss(reader, logarithms, *targets);
}

static LogicalResult readNllLossBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value self = reader.tensor("self"), total = reader.tensor("total_weight");
  std::optional<Targets> targets = getTargets(reader, self);
  if (!gradient || !total || !targets)
    return failure();
  tp::SymbolSpace &symbols = reader.getSymbols();
  Formula f(reader, getElementType(self));
  Value g = f.of(gradient);
  if (targets->reduction == reductionMean)
    g = f.divide(g, f.of(total));
  if (targets->reduction == reductionNone)
    g = reader.reshape(g, symbols.getSizes(getTensor(targets->classes)));
  Value updates =
      f.select(targets->isCounted, f.apply(MapFunction::Neg, g), f.number(0));
  tp::Sizes sizes = symbols.getSizes(getTensor(self));
  Value zeros = reader.fill(0, sizes, getElementType(updates));
  return f.result(0, reader.create<tp::ScatterOp>(
                         zeros.getType(), zeros, targets->classes, updates,
                         targets->dim, /*accumulate=*/false,
                         /*wraps_negative=*/false));
}

void vocabulary::addAtenLosses(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.mse_loss_backward.default",
                 readLossBackward<buildSlopeOfSquare>);
  vocabulary.add("torch.ops.aten.smooth_l1_loss_backward.default",
                 readLossBackward<buildSlopeOfSmoothL1>);
  vocabulary.add("torch.ops.aten.huber_loss_backward.default",
                 readLossBackward<buildSlopeOfHuber>);
  vocabulary.add("torch.ops.aten.mse_loss.default",
                 readLoss<buildSquaredError>);
  vocabulary.add("torch.ops.aten.l1_loss.default", readLoss<buildDistance>);
  vocabulary.add("torch.ops.aten.smooth_l1_loss.default",
                 readLoss<buildSmoothL1>);
  vocabulary.add("torch.ops.aten.huber_loss.default", readLoss<buildHuber>);
  vocabulary.add("torch.ops.aten.binary_cross_entropy_with_logits.default",
                 readLoss<buildLogitsEntropy>);
  vocabulary.add("torch.ops.aten.binary_cross_entropy.default",
                 readLoss<buildEntropy>);
  vocabulary.add("torch.ops.aten.kl_div.default", readLoss<buildDivergence>);
  vocabulary.add({"torch.ops.aten.nll_loss.default",
                  "torch.ops.aten.nll_loss_nd.default",
                  "torch.ops.aten.nll_loss_forward.default",
                  "torch.ops.aten.nll_loss2d_forward.default"},
                 readNllLoss);
  vocabulary.add("torch.ops.aten.cross_entropy_loss.default", readCrossEntropy);
  vocabulary.add({"torch.ops.aten.nll_loss_backward.default",
                  "torch.ops.aten.nll_loss2d_backward.default"},
                 readNllLossBackward);
}
