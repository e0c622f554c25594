//===- FieldAlgebra.cpp - evaluation over a prime field ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/FieldAlgebra.h"

#include "FieldFunctions.h"
#include "commute/Dialect/StridedWalk.h"
#include "commute/Equivalence/PrimeField.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;
using tp::forEachOffset;
using tp::getRowMajorStrides;

static const FieldTensor &get(const AlgebraValue &value) {
  return static_cast<const FieldTensor &>(*value);
}
static FieldValue share(const AlgebraValue &value) {
  return std::static_pointer_cast<const FieldTensor>(value);
}

//===----------------------------------------------------------------------===//
// FieldTensor
//===----------------------------------------------------------------------===//

static SmallVector<int64_t> getRealSizes(ArrayRef<SampledDim> dims) {
  return llvm::map_to_vector(dims,
                             [](SampledDim dim) { return dim.getSize(); });
}

static int64_t countElements(ArrayRef<SampledDim> dims) {
  int64_t count = 1;
  for (SampledDim dim : dims)
    if (llvm::MulOverflow(count, dim.getCount(), count))
      return std::numeric_limits<int64_t>::max() / sizeof(uint64_t);
  return count;
}

/// Of the tensors of this thread's evaluations.
thread_local int64_t CountedBytes::total = 0;

int64_t FieldTensor::getNumBytes(ArrayRef<SampledDim> dims) {
  return countElements(dims) * static_cast<int64_t>(sizeof(uint64_t));
}

FieldTensor::FieldTensor(ArrayRef<SampledDim> dims, Type elementType)
    : AlgebraTensor(getRealSizes(dims), elementType),
      elements(countElements(dims)), dims(dims), counted(getNumBytes(dims)) {}

void EvaluationContext::checkTime() {
  double seconds = static_cast<double>(std::clock() - budget.start) /
                   static_cast<double>(CLOCKS_PER_SEC);
  if (budget.onTime)
    budget.onTime(seconds);
  if (seconds > budget.seconds && !problem)
    problem = SampleProblem{SampleProblem::TooLong, "the time is over", {}};
}

bool EvaluationContext::checkMemory(int64_t bytes) {
  if (bytes <= budget.bytes - CountedBytes::getTotal())
    return true;
  if (!problem)
    problem = SampleProblem{
        SampleProblem::TooLarge,
        "a value of " + std::to_string(bytes / sizeof(uint64_t)) + " elements",
        {}};
  return false;
}

SmallVector<int64_t> FieldTensor::getCounts() const {
  return llvm::map_to_vector(dims,
                             [](SampledDim dim) { return dim.getCount(); });
}

AlgebraValue FieldAlgebra::fail(SampleProblem::Kind kind, const Twine &message,
                                ArrayRef<int64_t> sizes, Type type) {
  if (!context.problem)
    context.problem = SampleProblem{kind, message.str(), {}};
  // Of the right shape, for whoever looks at it before the problem is.
  Dims dims;
  for (int64_t size : sizes)
    dims.push_back(getUniform(size));
  return std::make_shared<FieldTensor>(dims, type);
}

std::shared_ptr<FieldTensor> FieldAlgebra::make(ArrayRef<SampledDim> dims,
                                                Type type) {
  if (!context.checkMemory(FieldTensor::getNumBytes(dims)))
    return nullptr;
  return std::make_shared<FieldTensor>(dims, type);
}

std::optional<SampledDim> FieldAlgebra::join(SampledDim a, SampledDim b) {
  if (a.isUniform || b.isUniform) {
    if (a.isUniform && b.isUniform)
      return a.sample->isFull() ? b : a;
    return a.isUniform ? b : a;
  }
  if (a.sample == b.sample || b.sample->isFull())
    return a;
  if (a.sample->isFull())
    return b;
  return std::nullopt;
}

FieldValue FieldAlgebra::pick(const FieldValue &value, unsigned dim,
                              SampledDim target, ArrayRef<int64_t> positions) {
  Dims dims(value->getDims());
  dims[dim] = target;
  std::shared_ptr<FieldTensor> result = make(dims, value->getElementType());
  if (!result)
    return value;
  SmallVector<int64_t> counts = value->getCounts();
  int64_t inner = 1, outer = 1;
  for (size_t index = 0; index < counts.size(); ++index)
    (index < dim ? outer : inner) *= index == dim ? 1 : counts[index];
  uint64_t *output = result->elements.data();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t position : positions) {
      const uint64_t *source =
          value->elements.data() + (o * counts[dim] + position) * inner;
      output = std::copy(source, source + inner, output);
    }
  return result;
}

FieldValue FieldAlgebra::conform(const FieldValue &value, unsigned dim,
                                 SampledDim target) {
  SampledDim own = value->getDims()[dim];
  if (own.sample == target.sample && own.isUniform == target.isUniform)
    return value;
  SmallVector<int64_t> positions(target.getCount());
  if (!own.isUniform)
    for (auto [index, position] : llvm::enumerate(positions))
      position = *own.sample->find(target.sample->getIndex(index));
  return pick(value, dim, target, positions);
}

FieldValue FieldAlgebra::assume(const FieldValue &value,
                                ArrayRef<const IndexSample *> samples) {
  FieldValue result = value;
  for (auto [dim, sample] : llvm::enumerate(samples)) {
    SampledDim own = result->getDims()[dim];
    if (own.sample == sample || sample->getSize() != own.getSize() ||
        !own.sample->isFull() || own.getSize() == 1)
      continue;
    result = conform(result, dim, {sample, own.isUniform});
  }
  return result;
}

std::optional<std::pair<FieldValue, FieldValue>>
FieldAlgebra::align(const FieldValue &a, const FieldValue &b) {
  FieldValue x = a, y = b;
  for (unsigned dim = 0; dim < a->getRank(); ++dim) {
    std::optional<SampledDim> joined =
        join(x->getDims()[dim], y->getDims()[dim]);
    if (!joined) {
      fail(SampleProblem::Mismatch, "two values have different samples",
           a->getSizes(), a->getElementType());
      return std::nullopt;
    }
    x = conform(x, dim, *joined);
    y = conform(y, dim, *joined);
  }
  if (context.problem)
    return std::nullopt;
  return std::pair(x, y);
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
  Dims dims;
  for (int64_t size : sizes)
    dims.push_back(getUniform(size));
  auto result = std::make_shared<FieldTensor>(dims, type);
  uint64_t element = getConstant(value, type);
  std::fill(result->elements.begin(), result->elements.end(), element);
  if (result->isField())
    context.scalars.noteConstant(element, getNumber(value));
  return result;
}

const IndexSample *FieldAlgebra::guessSample(int64_t size) {
  const IndexSample *full = context.samples.getFull(size), *guess = full;
  auto consider = [&](const IndexSample *sample) {
    if (sample->getSize() != size || sample == guess)
      return true;
    bool isFirst = guess == full;
    guess = sample;
    return isFirst;
  };
  bool isCertain = llvm::all_of(resultSamples, consider);
  for (const AlgebraValue &operand : operands)
    for (SampledDim dim : get(operand).getDims())
      isCertain &= consider(dim.sample);
  return isCertain ? guess : full;
}

AlgebraValue FieldAlgebra::iota(TypedAttr start, TypedAttr step, int64_t size,
                                Type type) {
  SampledDim dim = {guessSample(size)};
  std::shared_ptr<FieldTensor> result = make(dim, type);
  if (!result)
    return fail(SampleProblem::TooLarge, "", size, type);
  Builder builder(type.getContext());
  Type wide = builder.getI64Type();
  bool isWhole = isa<IntegerAttr>(start) && isa<IntegerAttr>(step);
  for (auto [position, element] : llvm::enumerate(result->elements)) {
    auto index = static_cast<uint64_t>(dim.sample->getIndex(position));
    if (isWhole) {
      element = convertElement(context.scalars,
                               getConstant(start, wide) +
                                   index * getConstant(step, wide),
                               wide, type);
      continue;
    }
    Type real = builder.getF64Type();
    element = convertElement(
        context.scalars,
        PrimeField::add(getConstant(start, real),
                        PrimeField::multiply(PrimeField::reduce(index),
                                             getConstant(step, real))),
        real, type);
  }
  return result;
}

AlgebraValue FieldAlgebra::map(tp::MapFunction function,
                               ArrayRef<AlgebraValue> operands, Type type) {
  SmallVector<int64_t> sizes;
  for (const AlgebraValue &operand : operands)
    if (!tp::broadcastSizes(operand->getSizes(), sizes))
      return fail(SampleProblem::Sizes, "operands have different sizes", sizes,
                  type);
  if (context.problem)
    return fail(SampleProblem::Mismatch, "", sizes, type);
  Dims dims;
  for (int64_t size : sizes)
    dims.push_back(getUniform(size));
  auto getOwnDim = [&](const FieldTensor &operand, size_t dim) {
    return static_cast<int64_t>(dim + operand.getRank()) -
           static_cast<int64_t>(sizes.size());
  };
  for (const AlgebraValue &operand : operands)
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      int64_t own = getOwnDim(get(operand), dim);
      if (own < 0 || operand->getSizes()[own] != sizes[dim])
        continue;
      std::optional<SampledDim> joined =
          join(dims[dim], get(operand).getDims()[own]);
      if (!joined)
        return fail(SampleProblem::Mismatch, "operands have different samples",
                    sizes, type);
      dims[dim] = *joined;
    }
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  ScalarFunction scalar(context.scalars, function, operands, type);
  std::array<SmallVector<int64_t>, 3> strides;
  std::array<const uint64_t *, 3> data{};
  std::array<FieldValue, 3> held;
  for (size_t which = 0; which < 3; ++which) {
    // Absent operands stay at one dummy element.
    static const uint64_t none = 0;
    data[which] = &none;
    strides[which].assign(sizes.size(), 0);
    if (which >= operands.size())
      continue;
    FieldValue operand = share(operands[which]);
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      int64_t own = getOwnDim(*operand, dim);
      if (own >= 0 && operand->getSizes()[own] == sizes[dim] &&
          !operand->getDims()[own].isUniform)
        operand = conform(operand, own, dims[dim]);
    }
    SmallVector<int64_t> ownStrides = getRowMajorStrides(operand->getCounts());
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      int64_t own = getOwnDim(*operand, dim);
      if (own >= 0 && operand->getDims()[own].getCount() != 1)
        strides[which][dim] = ownStrides[own];
    }
    data[which] = operand->elements.data();
    held[which] = std::move(operand);
  }
  if (context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  uint64_t *output = result->elements.data();
  forEachOffset<3>(result->getCounts(), strides, [&](const auto &offsets) {
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
  auto result = std::make_shared<FieldTensor>(from.getDims(), type);
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
  auto result = std::make_shared<FieldTensor>(from.getDims(), type);
  auto fromFloat = dyn_cast<FloatType>(from.getElementType());
  auto toFloat = dyn_cast<FloatType>(type);
  bool rounds = context.precision == Precision::Strict && fromFloat &&
                toFloat && !holdsAll(fromFloat, toFloat);
  for (auto [source, target] : llvm::zip_equal(from.elements, result->elements))
    target = rounds ? PrimeField::mix(source, getCastKey(toFloat))
                    : convertElement(context.scalars, source,
                                     from.getElementType(), type);
  return result;
}

AlgebraValue FieldAlgebra::reduce(tp::ReductionKind kind,
                                  const AlgebraValue &input,
                                  ArrayRef<int64_t> dims, bool keepDims,
                                  Type type) {
  const FieldTensor &from = get(input);
  Dims kept(from.getDims()), resultDims;
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= kept[dim].getSize();
    kept[dim] = getDim(1);
  }
  for (auto [dim, own] : llvm::enumerate(kept))
    if (keepDims || !llvm::is_contained(dims, static_cast<int64_t>(dim)))
      resultDims.push_back(own);
  auto result = std::make_shared<FieldTensor>(resultDims, type);
  SmallVector<int64_t> outputStrides = getRowMajorStrides(
      llvm::map_to_vector(kept, [](SampledDim dim) { return dim.getCount(); }));
  for (auto [stride, dim] : llvm::zip_equal(outputStrides, kept))
    if (dim.getCount() == 1)
      stride = 0;
  // How many elements each stored one stands for.
  SmallVector<int64_t> counts = from.getCounts();
  std::vector<int64_t> weights = {1};
  SmallVector<int64_t> weightStrides(counts.size(), 0);
  int64_t weightStride = 1;
  for (size_t dim = counts.size(); dim-- > 0;) {
    SampledDim own = from.getDims()[dim];
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      continue;
    std::vector<int64_t> next;
    for (int64_t position = 0; position < own.getCount(); ++position)
      for (int64_t weight : weights)
        next.push_back(weight * (own.isUniform
                                     ? own.getSize()
                                     : own.sample->getWeight(position)));
    weights = std::move(next);
    weightStrides[dim] = counts[dim] == 1 ? 0 : weightStride;
    weightStride *= counts[dim];
  }
  Combiner combiner(context.scalars, kind, from.getElementType(), type);
  std::array<SmallVector<int64_t>, 3> strides = {getRowMajorStrides(counts),
                                                 outputStrides, weightStrides};
  // What is reduced to one element lies together: a maximum is made of a set.
  size_t numOutputs = result->elements.size();
  size_t numInputs = numOutputs == 0 ? 0 : from.elements.size() / numOutputs;
  std::vector<uint64_t> inputs(numOutputs * numInputs);
  std::vector<uint32_t> filled(numOutputs);
  forEachOffset<3>(counts, strides, [&](const auto &offsets) {
    size_t output = offsets[1];
    inputs[output * numInputs + filled[output]++] =
        combiner.prepare(from.elements[offsets[0]], weights[offsets[2]]);
  });
  for (auto [index, element] : llvm::enumerate(result->elements))
    element = combiner.finish(
        combiner.combine(ArrayRef(inputs).slice(index * numInputs, numInputs)),
        count);
  return result;
}

AlgebraValue FieldAlgebra::cumulativeSum(const AlgebraValue &input,
                                         unsigned dim, Type type) {
  FieldValue from = share(input);
  SampledDim own = from->getDims()[dim];
  if (!own.sample->hasRuns())
    return fail(SampleProblem::Mismatch,
                "prefixes cannot be summed along merged dims", from->getSizes(),
                type);
  from = conform(from, dim, {own.sample});
  if (context.problem)
    return fail(SampleProblem::TooLarge, "", from->getSizes(), type);
  auto result = std::make_shared<FieldTensor>(from->getDims(), type);
  Combiner combiner(context.scalars, tp::ReductionKind::Sum,
                    from->getElementType(), type);
  SmallVector<int64_t> counts = from->getCounts();
  int64_t stride = getRowMajorStrides(counts)[dim];
  for (size_t index = 0; index < from->elements.size(); ++index) {
    int64_t position = static_cast<int64_t>(index) / stride % counts[dim];
    uint64_t value = combiner.prepare(from->elements[index],
                                      own.sample->getWeight(position));
    result->elements[index] =
        position == 0
            ? value
            : combiner.combine(result->elements[index - stride], value);
  }
  return result;
}

AlgebraValue FieldAlgebra::matmul(const AlgebraValue &lhs,
                                  const AlgebraValue &rhs, Type type) {
  FieldValue a = share(lhs), b = share(rhs);
  unsigned aRank = a->getRank(), bRank = b->getRank();
  SmallVector<int64_t> sizes;
  for (ArrayRef<int64_t> own :
       {a->getSizes().drop_back(2), b->getSizes().drop_back(2)})
    if (!tp::broadcastSizes(own, sizes))
      return fail(SampleProblem::Sizes, "batch dims have different sizes",
                  sizes, type);
  SmallVector<int64_t> batchSizes(sizes);
  sizes.append({a->getSizes()[aRank - 2], b->getSizes()[bRank - 1]});
  if (a->getSizes()[aRank - 1] != b->getSizes()[bRank - 2])
    return fail(SampleProblem::Sizes,
                "the contraction has size " + Twine(a->getSizes()[aRank - 1]) +
                    " in one operand and " + Twine(b->getSizes()[bRank - 2]) +
                    " in the other",
                sizes, type);
  std::optional<SampledDim> inner =
      join(a->getDims()[aRank - 1], b->getDims()[bRank - 2]);
  if (!inner)
    return fail(SampleProblem::Mismatch,
                "operands have different samples along the contraction", sizes,
                type);
  Dims dims;
  for (auto [dim, size] : llvm::enumerate(batchSizes)) {
    SampledDim joined = getUniform(size);
    for (const FieldValue &operand : {a, b}) {
      int64_t own = static_cast<int64_t>(dim) + operand->getRank() - 2 -
                    static_cast<int64_t>(batchSizes.size());
      if (own < 0 || operand->getSizes()[own] != size)
        continue;
      std::optional<SampledDim> next = join(joined, operand->getDims()[own]);
      if (!next)
        return fail(SampleProblem::Mismatch,
                    "operands have different samples along a batch dim", sizes,
                    type);
      joined = *next;
    }
    dims.push_back(joined);
  }
  a = conform(a, aRank - 1, *inner);
  b = conform(b, bRank - 2, *inner);
  for (FieldValue *operand : {&a, &b})
    for (size_t dim = 0; dim < batchSizes.size(); ++dim) {
      int64_t own = static_cast<int64_t>(dim) + (*operand)->getRank() - 2 -
                    static_cast<int64_t>(batchSizes.size());
      if (own >= 0 && (*operand)->getSizes()[own] == batchSizes[dim] &&
          !(*operand)->getDims()[own].isUniform)
        *operand = conform(*operand, own, dims[dim]);
    }
  dims.push_back(a->getDims()[aRank - 2]);
  dims.push_back(b->getDims()[bRank - 1]);
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result || context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  bool isField = result->isField();
  // Products of truth values or of integers with floats are those of what they
  // are cast to.
  auto prepare = [&](FieldValue &operand) {
    if (operand->isField() != isField)
      operand = share(cast(operand, type));
  };
  prepare(a);
  prepare(b);
  SmallVector<int64_t> aCounts = a->getCounts(), bCounts = b->getCounts();
  int64_t rows = aCounts[aRank - 2], columns = bCounts[bRank - 1];
  int64_t count = inner->getCount();
  std::vector<uint64_t> weights(count);
  for (int64_t k = 0; k < count; ++k)
    weights[k] =
        inner->isUniform ? inner->getSize() : inner->sample->getWeight(k);
  SmallVector<int64_t> batch =
      llvm::map_to_vector(ArrayRef(dims).drop_back(2),
                          [](SampledDim dim) { return dim.getCount(); });
  uint64_t *output = result->elements.data();
  // Columns of b lie apart: a transposed copy makes both inner loops walk.
  std::vector<uint64_t> transposed(count * columns);
  forEachOffset<2>(
      batch,
      {tp::getBroadcastStrides(ArrayRef(aCounts).drop_back(2), batch),
       tp::getBroadcastStrides(ArrayRef(bCounts).drop_back(2), batch)},
      [&](const auto &offsets) {
        const uint64_t *left = a->elements.data() + offsets[0] * rows * count;
        const uint64_t *right =
            b->elements.data() + offsets[1] * count * columns;
        for (int64_t k = 0; k < count; ++k)
          for (int64_t j = 0; j < columns; ++j) {
            uint64_t value = right[k * columns + j];
            transposed[j * count + k] =
                weights[k] == 1 ? value
                : isField       ? PrimeField::multiply(value, weights[k])
                                : value * weights[k];
          }
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            *output++ = isField
                            ? dotField(left + i * count,
                                       transposed.data() + j * count, count)
                            : dotInteger(left + i * count,
                                         transposed.data() + j * count, count);
      });
  return result;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// The sizes of which some, from each list, have one product: where the two
/// lists can be cut. Each entry is the number of sizes taken from either.
static std::optional<SmallVector<std::pair<unsigned, unsigned>>>
matchProducts(ArrayRef<int64_t> before, ArrayRef<int64_t> after) {
  SmallVector<std::pair<unsigned, unsigned>> groups;
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    size_t firstI = i, firstJ = j;
    int64_t a = 1, b = 1;
    if (i < before.size())
      a = before[i++];
    if (j < after.size())
      b = after[j++];
    while (a != b) {
      bool takesBefore = a < b;
      if (takesBefore ? i == before.size() : j == after.size())
        return std::nullopt;
      if (takesBefore ? llvm::MulOverflow(a, before[i++], a)
                      : llvm::MulOverflow(b, after[j++], b))
        return std::nullopt;
    }
    groups.push_back({i - firstI, j - firstJ});
  }
  return groups;
}

AlgebraValue FieldAlgebra::reshape(const AlgebraValue &input,
                                   ArrayRef<int64_t> sizes) {
  if (input->getSizes() == sizes)
    return input;
  FieldValue from = share(input);
  Type type = from->getElementType();
  if (llvm::is_contained(sizes, 0)) {
    Dims dims;
    for (int64_t size : sizes)
      dims.push_back(getDim(size));
    return std::make_shared<FieldTensor>(dims, type);
  }
  auto groups = matchProducts(from->getSizes(), sizes);
  if (!groups || context.problem)
    return fail(SampleProblem::Sizes,
                "the reshaped value has another number of elements", sizes,
                type);
  Dims dims;
  unsigned before = 0;
  for (auto [numBefore, numAfter] : *groups) {
    ArrayRef<int64_t> ownSizes = sizes.slice(dims.size(), numAfter);
    if (numBefore == 1 && numAfter == 1) {
      dims.push_back(from->getDims()[before++]);
      continue;
    }
    bool isUniform = true;
    for (SampledDim dim : from->getDims().slice(before, numBefore))
      isUniform &= dim.isUniform || dim.getSize() == 1;
    if (isUniform) {
      for (int64_t size : ownSizes)
        dims.push_back(getUniform(size));
      before += numBefore;
      continue;
    }
    SmallVector<const IndexSample *> factors;
    for (unsigned index = 0; index < numBefore; ++index, ++before) {
      const IndexSample *sample = from->getDims()[before].sample;
      from = conform(from, before, {sample});
      factors.push_back(sample);
    }
    if (context.problem)
      return fail(SampleProblem::TooLarge, "", sizes, type);
    auto split =
        context.samples.split(context.samples.getProduct(factors), ownSizes);
    if (!split)
      return fail(SampleProblem::Mismatch,
                  "the samples of a dim are no product of those it is split "
                  "into",
                  sizes, type);
    for (const IndexSample *sample : *split)
      dims.push_back({sample});
  }
  auto result = std::make_shared<FieldTensor>(dims, type);
  result->elements = from->elements;
  return result;
}

static AlgebraValue gatherStrided(const FieldTensor &from,
                                  ArrayRef<SampledDim> dims,
                                  ArrayRef<int64_t> strides) {
  auto result = std::make_shared<FieldTensor>(dims, from.getElementType());
  uint64_t *output = result->elements.data();
  forEachOffset<1>(
      result->getCounts(), {SmallVector<int64_t>(strides)},
      [&](const auto &offsets) { *output++ = from.elements[offsets[0]]; });
  return result;
}

AlgebraValue FieldAlgebra::permute(const AlgebraValue &input,
                                   ArrayRef<int64_t> permutation) {
  const FieldTensor &from = get(input);
  SmallVector<int64_t> ownStrides = getRowMajorStrides(from.getCounts());
  Dims dims;
  SmallVector<int64_t> strides;
  for (int64_t dim : permutation) {
    dims.push_back(from.getDims()[dim]);
    strides.push_back(ownStrides[dim]);
  }
  return gatherStrided(from, dims, strides);
}

AlgebraValue FieldAlgebra::slice(const AlgebraValue &input, unsigned dim,
                                 int64_t start, int64_t step, int64_t size) {
  FieldValue from = share(input);
  SampledDim own = from->getDims()[dim];
  const IndexSample *sample =
      context.samples.getSlice(own.sample, start, step, size);
  if (own.isUniform || (sample && size == own.getSize())) {
    Dims dims(from->getDims());
    dims[dim] = {sample ? sample : context.samples.getFull(size),
                 own.isUniform && size != 1};
    if (size != 0) {
      auto result = std::make_shared<FieldTensor>(dims, from->getElementType());
      result->elements = from->elements;
      return result;
    }
    sample = context.samples.getFull(0);
  }
  if (!sample) {
    SmallVector<int64_t> sizes(from->getSizes());
    sizes[dim] = size;
    return fail(SampleProblem::Mismatch,
                "the samples of a dim are not cut where the slice is", sizes,
                from->getElementType());
  }
  SmallVector<int64_t> positions(sample->getCount());
  for (auto [index, position] : llvm::enumerate(positions))
    position = *own.sample->find(start + sample->getIndex(index) * step);
  return pick(from, dim, {sample}, positions);
}

AlgebraValue FieldAlgebra::concat(ArrayRef<AlgebraValue> inputs, unsigned dim) {
  Type type = inputs.front()->getElementType();
  SmallVector<int64_t> sizes(inputs.front()->getSizes());
  sizes[dim] = 0;
  for (const AlgebraValue &input : inputs)
    sizes[dim] += input->getSizes()[dim];
  Dims dims(get(inputs.front()).getDims());
  SmallVector<const IndexSample *> parts;
  for (const AlgebraValue &input : inputs) {
    const FieldTensor &from = get(input);
    parts.push_back(from.getDims()[dim].sample);
    for (size_t other = 0; other < dims.size(); ++other) {
      if (other == dim)
        continue;
      std::optional<SampledDim> joined;
      if (from.getSizes()[other] == sizes[other])
        joined = join(dims[other], from.getDims()[other]);
      if (!joined)
        return fail(SampleProblem::Mismatch, "operands have different samples",
                    sizes, type);
      dims[other] = *joined;
    }
  }
  dims[dim] = {context.samples.getConcat(parts)};
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result || context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  SmallVector<FieldValue> operands;
  int64_t outer = 1;
  for (size_t other = 0; other < dim; ++other)
    outer *= dims[other].getCount();
  for (const AlgebraValue &input : inputs) {
    FieldValue operand = share(input);
    for (size_t other = 0; other < dims.size(); ++other)
      operand =
          conform(operand, other,
                  other == dim ? SampledDim{operand->getDims()[dim].sample}
                               : dims[other]);
    operands.push_back(std::move(operand));
  }
  if (context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  uint64_t *output = result->elements.data();
  for (int64_t o = 0; o < outer; ++o)
    for (const FieldValue &operand : operands) {
      int64_t run = static_cast<int64_t>(operand->elements.size()) / outer;
      const uint64_t *source = operand->elements.data() + o * run;
      output = std::copy(source, source + run, output);
    }
  return result;
}

AlgebraValue FieldAlgebra::broadcast(const AlgebraValue &input,
                                     ArrayRef<int64_t> sizes) {
  const FieldTensor &from = get(input);
  Dims dims;
  size_t shift = sizes.size() - from.getRank();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    bool isOwn = dim >= shift && from.getSizes()[dim - shift] == size;
    if (!isOwn && dim >= shift && from.getSizes()[dim - shift] != 1)
      return fail(SampleProblem::Mismatch, "sizes do not fit", sizes,
                  from.getElementType());
    dims.push_back(isOwn       ? from.getDims()[dim - shift]
                   : size == 0 ? getDim(0)
                               : getUniform(size));
  }
  auto result = std::make_shared<FieldTensor>(dims, from.getElementType());
  // Repeated dims are stored once, so that the elements are the same.
  if (!result->elements.empty())
    result->elements = from.elements;
  return result;
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

FieldValue equivalence::collapse(const FieldValue &value) {
  SmallVector<int64_t> counts = value->getCounts();
  SmallVector<SampledDim, 4> dims(value->getDims());
  std::vector<uint64_t> elements = value->elements;
  bool isCollapsed = false;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    if (counts[dim] < 2)
      continue;
    int64_t inner = 1;
    for (size_t other = dim + 1; other < dims.size(); ++other)
      inner *= counts[other];
    int64_t run = inner * counts[dim];
    bool isUniform = true;
    for (size_t index = 0; index < elements.size() && isUniform; ++index)
      isUniform =
          elements[index] == elements[index / run * run + index % inner];
    if (!isUniform)
      continue;
    std::vector<uint64_t> kept;
    for (size_t begin = 0; begin < elements.size(); begin += run)
      kept.insert(kept.end(), elements.begin() + begin,
                  elements.begin() + begin + inner);
    elements = std::move(kept);
    counts[dim] = 1;
    dims[dim].isUniform = true;
    isCollapsed = true;
  }
  if (!isCollapsed)
    return value;
  auto result = std::make_shared<FieldTensor>(dims, value->getElementType());
  result->elements = std::move(elements);
  return result;
}

uint64_t equivalence::getContentHash(const FieldValue &value) {
  FieldValue tensor = collapse(value);
  uint64_t hash = tensor->isField() + 2 * tensor->isTruth();
  for (SampledDim dim : tensor->getDims()) {
    hash = PrimeField::mix(dim.getSize(), hash + 1);
    for (int64_t position = 0;
         !dim.isUniform && !dim.sample->isFull() && position < dim.getCount();
         ++position)
      hash = PrimeField::mix(dim.sample->getIndex(position), hash + 2);
  }
  for (uint64_t element : tensor->elements)
    hash = PrimeField::mix(element, hash + 3);
  return hash;
}
