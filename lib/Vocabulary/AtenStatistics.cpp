//===- AtenStatistics.cpp - statistics of rows ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Statistics of the elements along some dims, which are imported as formulas.
// Unless a pass rewrites a part of the formula, the exporter keeps the original
// node.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;
using tp::ReductionKind;

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

/// The maximum of each row, and the sum of exponentials of the distances from
/// it: the statistics of a softmax, which Inductor computes in one pass.
static LogicalResult readSoftmaxStatistics(NodeReader &reader) {
  Value self = reader.tensor("a");
  if (!self || !isFloat(self))
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank());
  if (!dim)
    return failure();
  Formula f(reader, getElementType(self));
  Value x = f.of(self);
  Value largest = f.reduce(ReductionKind::Max, x, *dim);
  Value sum = f.reduce(ReductionKind::Sum,
                       f.apply(MapFunction::Exp, f.subtract(x, largest)), *dim);
  if (failed(f.result(0, largest)))
    return failure();
  return f.result(1, sum);
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
      reader.getDenseType(type.getElementType(), sizes),
      tp::RowFunction::Softmax, self, *dim);
  Value isMasked =
      f.test(MapFunction::Equal,
             {self, f.number(-std::numeric_limits<double>::infinity())});
  Value isEmpty = f.reduce(ReductionKind::Min, isMasked, *dim);
  return f.result(0, reader.map(MapFunction::Select,
                                {isEmpty, f.number(0), softmax},
                                type.getElementType()));
}

/// The variance, or its square root, of the elements along some dims. The mean
/// is a second result of some operators.
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
  Value mean = f.reduce(ReductionKind::Avg, x, *dims);
  Value distance = f.subtract(x, mean);
  Value sum =
      f.reduce(ReductionKind::Sum, f.multiply(distance, distance), *dims);
  Value result =
      f.divide(sum, f.number(static_cast<double>(count) - *correction));
  if (takesRoot)
    result = f.apply(MapFunction::Sqrt, result);
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  if (reader.getNumResults() > 1 &&
      failed(f.result(1, reader.reshape(mean, sizes))))
    return failure();
  return f.result(0, reader.reshape(result, sizes));
}

/// The sum of absolute values, the root of the sum of squares, or the extreme
/// absolute value, as the argument `order` states.
static LogicalResult setNorm(NodeReader &reader, StringRef order) {
  Value self = reader.tensor("self");
  std::optional<double> which = reader.number(order, 2);
  std::optional<bool> keepDims = reader.boolean("keepdim", false);
  RankedTensorType type = reader.getResultType();
  // It is the element type of the result.
  (void)reader.find("dtype");
  if (!self || !which || !keepDims || !type || !isFloat(self) ||
      !isa<FloatType>(type.getElementType()))
    return failure();
  auto dims = getDims(reader, getTensor(self).getRank());
  if (!dims)
    return failure();
  Formula f(reader, type.getElementType());
  Value x = f.of(self);
  auto reduce = [&](ReductionKind kind, Value value) {
    return f.reduce(kind, value, *dims, *keepDims);
  };
  if (*which == 2)
    return f.result(0, f.apply(MapFunction::Sqrt,
                               reduce(ReductionKind::Sum, f.multiply(x, x))));
  Value absolute = f.apply(MapFunction::Abs, x);
  if (*which == 1)
    return f.result(0, reduce(ReductionKind::Sum, absolute));
  if (std::isinf(*which))
    return f.result(
        0,
        reduce(*which > 0 ? ReductionKind::Max : ReductionKind::Min, absolute));
  return failure();
}

static LogicalResult readVectorNorm(NodeReader &reader) {
  return setNorm(reader, "ord");
}

static LogicalResult readNorm(NodeReader &reader) {
  return setNorm(reader, "p");
}

static LogicalResult readCountNonzero(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self)
    return failure();
  auto dims = getDims(reader, getTensor(self).getRank());
  if (!dims)
    return failure();
  Formula f(reader, reader.getBuilder().getI64Type());
  Value isNonzero =
      f.test(MapFunction::NotEqual, {self, reader.constant(int64_t(0))});
  return f.result(0, f.reduce(ReductionKind::Sum, f.of(isNonzero), *dims,
                              /*keepDims=*/false));
}

/// Normalizes groups of channels of input[N, C, ...] by their mean and
/// variance. The second and third result of the kernel are the means and one
/// over the standard deviations.
static LogicalResult setGroupNorm(NodeReader &reader, StringRef groupCount) {
  Value input = reader.tensor("input");
  std::optional<int64_t> groups = reader.integer(groupCount);
  std::optional<double> epsilon = reader.number("eps", 1e-5);
  RankedTensorType type = reader.getResultType();
  if (!input || !groups || !epsilon || *epsilon < 0 || !type ||
      !isFloat(input) || getTensor(input).getRank() < 2 ||
      getTensor(input).isDynamicDim(1))
    return failure();
  int64_t channels = getTensor(input).getDimSize(1);
  if (*groups < 1 || channels == 0 || channels % *groups != 0)
    return failure();
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(input));
  tp::Sizes grouped = sizes;
  grouped[1] = channels / *groups;
  grouped.insert(grouped.begin() + 1, *groups);
  Formula f(reader, getElementType(input));
  Value x = f.of(reader.reshape(input, grouped));
  auto rows = llvm::to_vector(llvm::seq<int64_t>(2, grouped.size()));
  Value mean = f.reduce(ReductionKind::Avg, x, rows);
  x = f.subtract(x, mean);
  Value variance = f.reduce(ReductionKind::Avg, f.multiply(x, x), rows);
  Value scale =
      f.apply(MapFunction::Rsqrt, f.add(variance, f.number(*epsilon)));
  Value result = reader.reshape(f.multiply(x, scale), sizes);
  tp::Sizes column(sizes.size() - 1, 1);
  column[0] = channels;
  for (StringRef name : {"weight", "bias"}) {
    if (reader.isAbsent(name))
      continue;
    Value parameter = reader.tensor(name);
    if (!parameter)
      return failure();
    parameter = f.of(reader.reshape(parameter, column));
    result = name == "weight" ? f.multiply(result, parameter)
                              : f.add(result, parameter);
  }
  if (failed(f.result(0, result)))
    return failure();
  for (auto [index, statistic] : {std::pair(1, mean), std::pair(2, scale)}) {
    RankedTensorType own = reader.getResultType(index);
    if (own && failed(f.result(
                   index, reader.reshape(statistic,
                                         reader.getSymbols().getSizes(own)))))
      return failure();
  }
  return success();
}

static LogicalResult readGroupNorm(NodeReader &reader) {
  return setGroupNorm(reader, "num_groups");
}

static LogicalResult readNativeGroupNorm(NodeReader &reader) {
  return setGroupNorm(reader, "group");
}

void vocabulary::addAtenStatistics(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.logsumexp.default", readLogSumExp);
  vocabulary.add("torch.ops.aten._safe_softmax.default", readSafeSoftmax);
  vocabulary.add("torch.ops.prims.prepare_softmax_online.default",
                 readSoftmaxStatistics);
  vocabulary.add({"torch.ops.aten.var.correction", "torch.ops.aten.var.dim",
                  "torch.ops.aten.var.default",
                  "torch.ops.aten.var_mean.correction",
                  "torch.ops.aten.var_mean.dim"},
                 readVariance</*takesRoot=*/false>);
  vocabulary.add({"torch.ops.aten.std.correction", "torch.ops.aten.std.dim",
                  "torch.ops.aten.std.default",
                  "torch.ops.aten.std_mean.correction",
                  "torch.ops.aten.std_mean.dim"},
                 readVariance</*takesRoot=*/true>);
  vocabulary.add("torch.ops.aten.linalg_vector_norm.default", readVectorNorm);
  vocabulary.add(
      {"torch.ops.aten.norm.ScalarOpt_dim", "torch.ops.aten.norm.Scalar"},
      readNorm);
  vocabulary.add({"torch.ops.aten.count_nonzero.default",
                  "torch.ops.aten.count_nonzero.dim_IntList"},
                 readCountNonzero);
  vocabulary.add("torch.ops.aten.group_norm.default", readGroupNorm);
  vocabulary.add("torch.ops.aten.native_group_norm.default",
                 readNativeGroupNorm);
}
