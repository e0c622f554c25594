//===- EngineKernels.cpp - kernels of serving engines ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What the kernels of serving engines compute and PyTorch has no operator for.
// No graph calls these operators (torch.ops.commute): vocabulary files define
// the engines' operators by them. An op that a pass changes is written as the
// elementwise operators that it consists of.
//
//===----------------------------------------------------------------------===//

#include "EngineKernels.h"

#include "Formula.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;

/// Slices along the last dim.
static Value sliceLast(NodeReader &reader, Value value, int64_t start,
                       int64_t size) {
  return reader.slice(value, getTensor(value).getRank() - 1, start, size);
}

static Value concatLast(NodeReader &reader, ArrayRef<Value> parts) {
  return reader.concat(parts, getTensor(parts.front()).getRank() - 1);
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// silu_and_mul(input): silu of the first half of the last dim, times the
/// second half.
static LogicalResult readSiluAndMul(NodeReader &reader) {
  Value input = reader.tensor("input");
  if (!input || getTensor(input).getRank() == 0)
    return failure();
  int64_t width = getTensor(input).getShape().back();
  if (ShapedType::isDynamic(width) || width % 2 != 0)
    return failure();
  Formula formula(reader, getElementType(input));
  Value gate = formula.of(sliceLast(reader, input, 0, width / 2));
  Value up = formula.of(sliceLast(reader, input, width / 2, width / 2));
  return formula.result(
      0, formula.multiply(formula.apply(MapFunction::Silu, {gate}), up));
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// The largest number of a type that values are quantized to, or nullopt.
static std::optional<double> getLargest(Type type) {
  if (isa<Float8E4M3FNType>(type))
    return 448;
  if (isa<Float8E4M3FNUZType>(type))
    return 240;
  return std::nullopt;
}

static Value clamp(Formula &formula, Value value, double largest) {
  value =
      formula.apply(MapFunction::Maximum, {value, formula.number(-largest)});
  return formula.apply(MapFunction::Minimum, {value, formula.number(largest)});
}

/// Makes value / scale, in an eight-bit float type, the first result.
static LogicalResult setQuantized(NodeReader &reader, Value input) {
  Value scale = reader.tensor("scale");
  RankedTensorType type = reader.getResultType(0);
  // One scale for all elements; the kernels disagree about other shapes.
  if (!scale || !type || !tp::hasOneElement(getTensor(scale)))
    return failure();
  std::optional<double> largest = getLargest(type.getElementType());
  if (!largest)
    return failure();
  Formula formula(reader, getElementType(input));
  if (getTensor(scale).getRank() > 0)
    scale = reader.reshape(scale, {});
  Value inverse = formula.apply(MapFunction::Reciprocal, {formula.of(scale)});
  Value scaled = formula.multiply(formula.of(input), inverse);
  return formula.result(0, clamp(formula, scaled, *largest));
}

/// quantize(input, scale): input / scale, in an eight-bit float type.
static LogicalResult readQuantize(NodeReader &reader) {
  Value input = reader.tensor("input");
  return input ? setQuantized(reader, input) : failure();
}

/// rms_norm_quantize(input, weight, scale, eps): the norm, quantized. With a
/// residual, the norm of the sum; the sum is the second result.
template <bool adds>
static LogicalResult readRmsNormQuantize(NodeReader &reader) {
  Value input = reader.tensor("input"), weight = reader.tensor("weight");
  Value residual = adds ? reader.tensor("residual") : Value();
  std::optional<double> epsilon = reader.number("eps");
  if (!input || !weight || !epsilon || adds != bool(residual) ||
      getTensor(weight).getRank() != 1)
    return failure();
  if (adds) {
    // Rounded, as it is stored: the norm is that of the second result.
    Type type = getElementType(input);
    input = reader.map(MapFunction::Add, {input, residual}, type);
    if (failed(Formula(reader, type).result(1, input)))
      return failure();
  }
  RankedTensorType type = reader.getDenseType(
      getElementType(input), reader.getSymbols().getSizes(getTensor(input)));
  return setQuantized(reader, reader.create<tp::RmsNormOp>(
                                  type, input, weight,
                                  reader.getBuilder().getF64FloatAttr(*epsilon),
                                  /*dims=*/1));
}

/// quantize_rows(input): the same with a scale for each row, which is the
/// second result.
static LogicalResult readQuantizeRows(NodeReader &reader) {
  Value input = reader.tensor("input");
  RankedTensorType type = reader.getResultType(0);
  RankedTensorType scaleType = reader.getResultType(1);
  if (!input || !type || !scaleType || getTensor(input).getRank() != 2)
    return failure();
  std::optional<double> largest = getLargest(type.getElementType());
  if (!largest)
    return failure();
  Formula formula(reader, getElementType(input));
  Value value = formula.of(input);
  Value peak = formula.reduce(tp::ReductionKind::Max,
                              formula.apply(MapFunction::Abs, {value}), {1});
  // A row of zeros has the smallest scale.
  Value scale = formula.apply(MapFunction::Maximum,
                              {formula.divide(peak, formula.number(*largest)),
                               formula.number(1 / (*largest * 512))});
  if (reader.getSymbols().getSizes(scaleType) !=
      reader.getSymbols().getSizes(getTensor(scale)))
    return failure();
  if (failed(formula.result(
          0, clamp(formula, formula.divide(value, scale), *largest))))
    return failure();
  return formula.result(1, scale);
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

namespace {
/// The rotation of the heads of query and key.
class Rotation {
public:
  Rotation(NodeReader &reader, Formula &formula, Value table, int64_t headSize,
           bool isInHalves);

  /// Returns null for a tensor that does not consist of heads.
  Value rotate(Value tensor);

private:
  NodeReader &reader;
  Formula &formula;
  int64_t headSize;
  /// Half of the elements of a head that are rotated.
  int64_t half;
  bool isInHalves;
  Value cosines, sines;
};
} // namespace

Rotation::Rotation(NodeReader &reader, Formula &formula, Value table,
                   int64_t headSize, bool isInHalves)
    : reader(reader), formula(formula), headSize(headSize),
      half(getTensor(table).getDimSize(1) / 2), isInHalves(isInHalves) {
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(table));
  // One factor for all heads of a token.
  auto getFactors = [&](int64_t start) {
    Value factors = formula.of(reader.slice(table, 1, start, half));
    return reader.reshape(factors, {sizes[0], 1, half});
  };
  cosines = getFactors(0);
  sines = getFactors(half);
}

Value Rotation::rotate(Value tensor) {
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(tensor));
  int64_t width = 1;
  for (const tp::Size &size : ArrayRef(sizes).drop_front()) {
    std::optional<int64_t> known = size.getConstant();
    if (!known)
      return {};
    width *= *known;
  }
  if (width % headSize != 0)
    return {};
  int64_t numHeads = width / headSize;
  Value heads =
      formula.of(reader.reshape(tensor, {sizes[0], numHeads, headSize}));
  Value rotated = sliceLast(reader, heads, 0, 2 * half);
  Value a, b;
  tp::Sizes pairs = {sizes[0], numHeads, half, 2};
  tp::Sizes halves = {sizes[0], numHeads, half};
  if (isInHalves) {
    a = sliceLast(reader, rotated, 0, half);
    b = sliceLast(reader, rotated, half, half);
  } else {
    Value paired = reader.reshape(rotated, pairs);
    a = reader.reshape(sliceLast(reader, paired, 0, 1), halves);
    b = reader.reshape(sliceLast(reader, paired, 1, 1), halves);
  }
  Value first = formula.subtract(formula.multiply(a, cosines),
                                 formula.multiply(b, sines));
  Value second =
      formula.add(formula.multiply(b, cosines), formula.multiply(a, sines));
  Value result;
  if (isInHalves) {
    result = concatLast(reader, {first, second});
  } else {
    tp::Sizes single = {sizes[0], numHeads, half, 1};
    result = concatLast(reader, {reader.reshape(first, single),
                                 reader.reshape(second, single)});
    result = reader.reshape(result, {sizes[0], numHeads, 2 * half});
  }
  if (2 * half < headSize)
    result = concatLast(reader, {result, sliceLast(reader, heads, 2 * half,
                                                   headSize - 2 * half)});
  return reader.reshape(result, sizes);
}

/// rotary_embedding(positions, query, key, head_size, cos_sin_cache, is_neox):
/// the cache has the cosines of a position, then its sines. In the form of
/// NeoX, element i of a head is rotated with i + half, else with i + 1.
static LogicalResult readRotaryEmbedding(NodeReader &reader) {
  Value positions = reader.tensor("positions");
  Value query = reader.tensor("query"), key = reader.tensor("key");
  Value cache = reader.tensor("cos_sin_cache");
  std::optional<int64_t> headSize = reader.integer("head_size");
  std::optional<bool> isNeox = reader.boolean("is_neox");
  bool hasKey = !reader.isAbsent("key");
  if (!positions || !query || (hasKey && !key) || !cache || !headSize ||
      !isNeox || *headSize < 1 || getTensor(positions).getRank() != 1 ||
      getTensor(cache).getRank() != 2 || getTensor(query).getRank() < 2)
    return failure();
  int64_t width = getTensor(cache).getDimSize(1);
  if (ShapedType::isDynamic(width) || width % 2 != 0 || width == 0 ||
      width > *headSize)
    return failure();
  tp::Sizes tokens = reader.getSymbols().getSizes(getTensor(positions));
  tp::Sizes sizes = {tokens[0], width};
  Value table = reader.create<tp::TakeOp>(
      reader.getDenseType(getElementType(cache), sizes), cache, positions,
      /*dim=*/0, /*wraps_negative=*/false);
  Formula formula(reader, getElementType(query));
  Rotation rotation(reader, formula, table, *headSize, *isNeox);
  Value rotated = rotation.rotate(query);
  if (!rotated || failed(formula.result(0, rotated)))
    return failure();
  if (!hasKey)
    return success();
  rotated = rotation.rotate(key);
  return rotated ? formula.result(1, rotated) : failure();
}

void vocabulary::addEngineKernels(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.commute.silu_and_mul.default", readSiluAndMul);
  vocabulary.add("torch.ops.commute.quantize.default", readQuantize);
  vocabulary.add("torch.ops.commute.quantize_rows.default", readQuantizeRows);
  vocabulary.add("torch.ops.commute.rms_norm_quantize.default",
                 readRmsNormQuantize<false>);
  vocabulary.add("torch.ops.commute.add_rms_norm_quantize.default",
                 readRmsNormQuantize<true>);
  vocabulary.add("torch.ops.commute.rotary_embedding.default",
                 readRotaryEmbedding);
}
