//===- FieldAlgebra.cpp - evaluation over a prime field ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/FieldAlgebra.h"

#include "FieldFunctions.h"
#include "commute/Dialect/StridedWalk.h"
#include "commute/Equivalence/PrimeField.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;
using tp::forEachOffset;
using tp::getBroadcastStrides;
using tp::getRowMajorStrides;

static const FieldTensor &get(const AlgebraValue &value) {
  return static_cast<const FieldTensor &>(*value);
}

FailureOr<SmallVector<int64_t>> FieldAlgebra::getSizes(RankedTensorType type) {
  if (!type.hasStaticShape())
    return failure();
  return SmallVector<int64_t>(type.getShape());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

AlgebraValue FieldAlgebra::constant(TypedAttr value, ArrayRef<int64_t> sizes,
                                    Type type) {
  auto result = std::make_shared<FieldTensor>(sizes, type);
  std::fill(result->elements.begin(), result->elements.end(),
            getConstant(value, result->isField()));
  return result;
}

AlgebraValue FieldAlgebra::iota(TypedAttr start, TypedAttr step, int64_t size,
                                Type type) {
  int64_t sizes[] = {size};
  auto result = std::make_shared<FieldTensor>(sizes, type);
  int64_t value = llvm::cast<IntegerAttr>(start).getInt();
  for (uint64_t &element : result->elements) {
    element = result->isField() ? PrimeField::fromInteger(value)
                                : static_cast<uint64_t>(value);
    value += llvm::cast<IntegerAttr>(step).getInt();
  }
  return result;
}

AlgebraValue FieldAlgebra::map(tp::MapFunction function,
                               ArrayRef<AlgebraValue> operands, Type type) {
  SmallVector<int64_t> sizes;
  for (const AlgebraValue &operand : operands)
    tp::broadcastSizes(operand->getSizes(), sizes);
  auto result = std::make_shared<FieldTensor>(sizes, type);
  ScalarFunction scalar(function, operands, type);
  std::array<SmallVector<int64_t>, 3> strides;
  std::array<const uint64_t *, 3> data{};
  for (size_t which = 0; which < 3; ++which) {
    // Absent operands stay at one dummy element.
    static const uint64_t none = 0;
    data[which] = &none;
    strides[which].assign(sizes.size(), 0);
    if (which < operands.size()) {
      data[which] = get(operands[which]).elements.data();
      strides[which] = getBroadcastStrides(operands[which]->getSizes(), sizes);
    }
  }
  uint64_t *output = result->elements.data();
  forEachOffset<3>(sizes, strides, [&](const auto &offsets) {
    *output++ =
        scalar(data[0][offsets[0]], data[1][offsets[1]], data[2][offsets[2]]);
  });
  return result;
}

/// Whether every value of float type `from` is one of `to`.
static bool holdsAll(FloatType from, FloatType to) {
  const llvm::fltSemantics &a = from.getFloatSemantics();
  const llvm::fltSemantics &b = to.getFloatSemantics();
  return llvm::APFloat::semanticsPrecision(b) >=
             llvm::APFloat::semanticsPrecision(a) &&
         llvm::APFloat::semanticsMaxExponent(b) >=
             llvm::APFloat::semanticsMaxExponent(a) &&
         llvm::APFloat::semanticsMinExponent(b) <=
             llvm::APFloat::semanticsMinExponent(a);
}

AlgebraValue FieldAlgebra::bitcast(const AlgebraValue &input, Type type) {
  const FieldTensor &from = get(input);
  auto result = std::make_shared<FieldTensor>(from.getSizes(), type);
  // Numbers have other bits in each type, and the same in the same. As integers
  // bits are larger than their type, until they are computed with.
  uint64_t fromKey = from.isField() ? getCastKey(from.getElementType()) : 0;
  uint64_t toKey = result->isField() ? getCastKey(type) : 0;
  for (auto [source, target] :
       llvm::zip_equal(from.elements, result->elements)) {
    uint64_t bits =
        from.isField() ? PrimeField::scramble(source ^ fromKey) : source;
    target = result->isField()
                 ? PrimeField::reduce(PrimeField::unscramble(bits) ^ toKey)
                 : bits;
  }
  return result;
}

AlgebraValue FieldAlgebra::cast(const AlgebraValue &input, Type type) {
  const FieldTensor &from = get(input);
  if (from.getElementType() == type)
    return input;
  auto result = std::make_shared<FieldTensor>(from.getSizes(), type);
  auto fromFloat = dyn_cast<FloatType>(from.getElementType());
  auto toFloat = dyn_cast<FloatType>(type);
  for (auto [source, target] :
       llvm::zip_equal(from.elements, result->elements)) {
    if (from.isField() && result->isField()) {
      bool rounds = precision == Precision::Strict && fromFloat && toFloat &&
                    !holdsAll(fromFloat, toFloat);
      target = rounds ? PrimeField::mix(source, getCastKey(toFloat)) : source;
    } else if (result->isField()) {
      target = PrimeField::fromInteger(static_cast<int64_t>(source));
    } else if (from.isField()) {
      // Truth is whether it is zero; any other integer is a random one.
      target = type.isInteger(1)
                   ? source != 0
                   : PrimeField::mix(source, getCastKey(type)) & 0xffff;
    } else {
      target = wrapInteger(static_cast<int64_t>(source), type);
    }
  }
  return result;
}

AlgebraValue FieldAlgebra::reduce(tp::ReductionKind kind,
                                  const AlgebraValue &input,
                                  ArrayRef<int64_t> dims, bool keepDims,
                                  Type type) {
  const FieldTensor &from = get(input);
  SmallVector<int64_t> kept(from.getSizes()), sizes;
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= kept[dim];
    kept[dim] = 1;
  }
  for (auto [dim, size] : llvm::enumerate(kept))
    if (keepDims || !llvm::is_contained(dims, static_cast<int64_t>(dim)))
      sizes.push_back(size);
  auto result = std::make_shared<FieldTensor>(sizes, type);
  SmallVector<int64_t> outputStrides = getRowMajorStrides(kept);
  for (int64_t dim : dims)
    outputStrides[dim] = 0;
  Combiner combiner(kind, from.getElementType(), type);
  std::fill(result->elements.begin(), result->elements.end(),
            combiner.getStart());
  std::vector<bool> started(result->elements.size());
  forEachOffset<2>(
      from.getSizes(), {getRowMajorStrides(from.getSizes()), outputStrides},
      [&](const auto &offsets) {
        uint64_t &output = result->elements[offsets[1]];
        uint64_t value = combiner.convert(from.elements[offsets[0]]);
        output = started[offsets[1]] ? combiner.combine(output, value) : value;
        started[offsets[1]] = true;
      });
  for (uint64_t &element : result->elements)
    element = combiner.finish(element, averageCount.value_or(count));
  return result;
}

AlgebraValue FieldAlgebra::cumulativeSum(const AlgebraValue &input,
                                         unsigned dim, Type type) {
  const FieldTensor &from = get(input);
  auto result = std::make_shared<FieldTensor>(from.getSizes(), type);
  Combiner combiner(tp::ReductionKind::Sum, from.getElementType(), type);
  int64_t stride = getRowMajorStrides(from.getSizes())[dim];
  int64_t size = from.getSizes()[dim];
  for (size_t position = 0; position < from.elements.size(); ++position) {
    uint64_t value = combiner.convert(from.elements[position]);
    bool isFirst = (position / stride) % size == 0;
    result->elements[position] =
        isFirst ? value
                : combiner.combine(result->elements[position - stride], value);
  }
  return result;
}

AlgebraValue FieldAlgebra::matmul(const AlgebraValue &lhs,
                                  const AlgebraValue &rhs, Type type) {
  const FieldTensor &a = get(lhs);
  const FieldTensor &b = get(rhs);
  ArrayRef<int64_t> aSizes = a.getSizes();
  ArrayRef<int64_t> bSizes = b.getSizes();
  int64_t rows = aSizes[aSizes.size() - 2];
  int64_t inner = aSizes.back();
  int64_t columns = bSizes.back();
  ArrayRef<int64_t> aBatch = aSizes.drop_back(2);
  ArrayRef<int64_t> bBatch = bSizes.drop_back(2);
  SmallVector<int64_t> batch;
  for (ArrayRef<int64_t> own : {aBatch, bBatch})
    tp::broadcastSizes(own, batch);
  SmallVector<int64_t> sizes(batch);
  sizes.append({rows, columns});
  auto result = std::make_shared<FieldTensor>(sizes, type);
  bool isField = result->isField();
  uint64_t *output = result->elements.data();
  // Columns of b lie apart: a transposed copy makes both inner loops walk.
  std::vector<uint64_t> transposed(inner * columns);
  forEachOffset<2>(
      batch,
      {getBroadcastStrides(aBatch, batch), getBroadcastStrides(bBatch, batch)},
      [&](const auto &offsets) {
        const uint64_t *left = a.elements.data() + offsets[0] * rows * inner;
        const uint64_t *right =
            b.elements.data() + offsets[1] * inner * columns;
        for (int64_t k = 0; k < inner; ++k)
          for (int64_t j = 0; j < columns; ++j)
            transposed[j * inner + k] = right[k * columns + j];
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            *output++ = isField
                            ? dotField(left + i * inner,
                                       transposed.data() + j * inner, inner)
                            : dotInteger(left + i * inner,
                                         transposed.data() + j * inner, inner);
      });
  return result;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static AlgebraValue gatherStrided(const FieldTensor &from,
                                  const tp::StridedView &view) {
  auto result =
      std::make_shared<FieldTensor>(view.sizes, from.getElementType());
  uint64_t *output = result->elements.data();
  const uint64_t *source = from.elements.data() + view.start;
  forEachOffset<1>(view.sizes, {view.strides}, [&](const auto &offsets) {
    *output++ = source[offsets[0]];
  });
  return result;
}

AlgebraValue FieldAlgebra::take(const AlgebraValue &table,
                                const AlgebraValue &indices, unsigned dim,
                                bool) {
  const FieldTensor &from = get(table);
  const FieldTensor &at = get(indices);
  ArrayRef<int64_t> tableSizes = from.getSizes();
  SmallVector<int64_t> sizes(tableSizes.take_front(dim));
  llvm::append_range(sizes, at.getSizes());
  llvm::append_range(sizes, tableSizes.drop_front(dim + 1));
  auto result = std::make_shared<FieldTensor>(sizes, from.getElementType());
  int64_t inner = getRowMajorStrides(tableSizes)[dim];
  int64_t extent = tableSizes[dim];
  int64_t outer = from.getNumElements() / std::max<int64_t>(inner * extent, 1);
  uint64_t *output = result->elements.data();
  for (int64_t o = 0; o < outer; ++o)
    for (uint64_t element : at.elements) {
      // Indices count modulo the extent, which is theirs to be below: -1 is
      // the last one in Python too.
      int64_t index = static_cast<int64_t>(element) % extent;
      index += index < 0 ? extent : 0;
      const uint64_t *row = from.elements.data() + (o * extent + index) * inner;
      output = std::copy(row, row + inner, output);
    }
  return result;
}

AlgebraValue FieldAlgebra::reshape(const AlgebraValue &input,
                                   ArrayRef<int64_t> sizes) {
  if (input->getSizes() == sizes)
    return input;
  auto result =
      std::make_shared<FieldTensor>(sizes, get(input).getElementType());
  result->elements = get(input).elements;
  return result;
}

AlgebraValue FieldAlgebra::permute(const AlgebraValue &input,
                                   ArrayRef<int64_t> permutation) {
  return gatherStrided(get(input),
                       tp::getPermutedView(input->getSizes(), permutation));
}

AlgebraValue FieldAlgebra::slice(const AlgebraValue &input, unsigned dim,
                                 int64_t start, int64_t step, int64_t size) {
  return gatherStrided(
      get(input), tp::getSliceView(input->getSizes(), dim, start, step, size));
}

AlgebraValue FieldAlgebra::concat(ArrayRef<AlgebraValue> inputs, unsigned dim) {
  SmallVector<int64_t> sizes(inputs.front()->getSizes());
  sizes[dim] = 0;
  for (const AlgebraValue &input : inputs)
    sizes[dim] += input->getSizes()[dim];
  auto result =
      std::make_shared<FieldTensor>(sizes, inputs.front()->getElementType());
  int64_t outer = std::accumulate(sizes.begin(), sizes.begin() + dim,
                                  int64_t(1), std::multiplies<>());
  uint64_t *output = result->elements.data();
  for (int64_t o = 0; o < outer; ++o)
    for (const AlgebraValue &input : inputs) {
      int64_t run = input->getNumElements() / outer;
      const uint64_t *source = get(input).elements.data() + o * run;
      output = std::copy(source, source + run, output);
    }
  return result;
}

AlgebraValue FieldAlgebra::broadcast(const AlgebraValue &input,
                                     ArrayRef<int64_t> sizes) {
  return gatherStrided(get(input),
                       {SmallVector<int64_t>(sizes),
                        getBroadcastStrides(input->getSizes(), sizes)});
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<AlgebraValue>>
FieldAlgebra::exchange(Operation *, tp::GroupAttr group,
                       ArrayRef<AlgebraValue> toMembers) {
  waiting = false;
  if (nextExchange < exchanges.size() && exchanges[nextExchange].isComplete)
    return exchanges[nextExchange++].fromMembers;
  if (nextExchange == exchanges.size())
    exchanges.push_back({group, SmallVector<AlgebraValue>(toMembers), {}});
  waiting = true;
  return failure();
}

FailureOr<int64_t> FieldAlgebra::getPosition(tp::GroupAttr group) {
  std::optional<int64_t> position = group.getPosition(rank);
  if (!position)
    return failure();
  return *position;
}

uint64_t equivalence::getContentHash(const FieldTensor &tensor) {
  uint64_t hash = tensor.isField();
  for (int64_t size : tensor.getSizes())
    hash = PrimeField::mix(size, hash + 1);
  for (uint64_t element : tensor.elements)
    hash = PrimeField::mix(element, hash + 2);
  return hash;
}
