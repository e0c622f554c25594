//===- FieldAlgebra.cpp - evaluation over a prime field ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/FieldAlgebra.h"

#include "FieldFunctions.h"
#include "FieldOperands.h"
#include "commute/Dialect/StridedWalk.h"
#include "commute/Equivalence/PrimeField.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <ctime>
#include <numeric>

#include <malloc.h>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;
using tp::forEachOffset;
using tp::getRowMajorStrides;

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

/// The memory of the tensors of this thread's evaluations.
thread_local int64_t CountedBytes::total = 0;

int64_t FieldTensor::getNumBytes(ArrayRef<SampledDim> dims) {
  return countElements(dims) * static_cast<int64_t>(sizeof(uint64_t));
}

FieldTensor::FieldTensor(ArrayRef<SampledDim> dims, Type elementType)
    : AlgebraTensor(getRealSizes(dims), elementType),
      elements(countElements(dims)), dims(dims), counted(getNumBytes(dims)) {}

/// Sets the context's problem and returns false if the process would have grown
/// by more than the memory budget, with another `bytes` bytes.
static bool checkProcess(EvaluationContext &context, int64_t bytes) {
  // Much is not counted: maps, sets and what the analysis of sizes holds. A
  // small budget is one for tensors, and leaves room for these.
  constexpr int64_t uncounted = int64_t(256) << 20;
  auto getGrown = [&] {
    return getUsedMemory() - context.budget.usedAtStart + bytes;
  };
  int64_t most = std::max(context.budget.bytes, uncounted);
  if (getGrown() <= most)
    return true;
  // Freed memory is kept for later, and not needed.
  malloc_trim(0);
  int64_t grown = getGrown();
  if (grown > most)
    context.setTooLarge(grown, "");
  return grown <= most;
}

void EvaluationContext::checkTime() {
  // Asking for the processor time takes as long as a small op; the time of the
  // last tick does not.
  timespec tick = {};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &tick);
  if (tick.tv_nsec == lastTick)
    return;
  lastTick = tick.tv_nsec;
  double seconds = static_cast<double>(std::clock() - budget.start) /
                   static_cast<double>(CLOCKS_PER_SEC);
  if (budget.onTime)
    budget.onTime(seconds);
  if (seconds > budget.seconds && !problem)
    problem = SampleProblem{SampleProblem::TooLong, "the time is over", {}};
  checkProcess(*this, 0);
}

void EvaluationContext::setTooLarge(int64_t neededBytes, const Twine &message) {
  if (!problem)
    problem =
        SampleProblem{SampleProblem::TooLarge, message.str(), {}, neededBytes};
}

bool EvaluationContext::checkMemory(int64_t bytes) {
  // Asking for the memory of the process takes as long as a small op.
  constexpr int64_t large = int64_t(16) << 20;
  if (bytes <= budget.bytes - CountedBytes::getTotal())
    return bytes < large || checkProcess(*this, bytes);
  int64_t needed = 0;
  if (llvm::AddOverflow(bytes, CountedBytes::getTotal(), needed))
    needed = std::numeric_limits<int64_t>::max();
  setTooLarge(needed, bytes == 0
                          ? Twine()
                          : "a value of " + Twine(bytes / sizeof(uint64_t)) +
                                " elements");
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
  // A tensor of the right shape, because it may be used before the problem is
  // checked.
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
    // Absent operands have a single dummy element.
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

/// Returns true if float type `to` can represent every value of `from`.
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

/// Returns the type of the parts of complex numbers, or of floats.
static FloatType getFloatType(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  return dyn_cast<FloatType>(type);
}

AlgebraValue FieldAlgebra::joinParts(const AlgebraValue &input, Type type) {
  unsigned last = input->getRank() - 1;
  FieldValue from = makeWhole(share(input), last);
  Dims dims(from->getDims().drop_back());
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result || context.problem)
    return fail(SampleProblem::TooLarge, "", getRealSizes(dims), type);
  for (auto [index, element] : llvm::enumerate(result->elements))
    element = context.scalars.getComplexParts().join(
        {from->elements[2 * index], from->elements[2 * index + 1]});
  return result;
}

AlgebraValue FieldAlgebra::splitParts(const AlgebraValue &input, Type type) {
  const FieldTensor &from = get(input);
  Dims dims(from.getDims());
  dims.push_back(getDim(2));
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result)
    return fail(SampleProblem::TooLarge, "", getRealSizes(dims), type);
  for (auto [index, element] : llvm::enumerate(from.elements))
    std::tie(result->elements[2 * index], result->elements[2 * index + 1]) =
        context.scalars.getComplexParts().get(element);
  return result;
}

AlgebraValue FieldAlgebra::bitcast(const AlgebraValue &input, Type type) {
  const FieldTensor &from = get(input);
  bool wasComplex = isa<ComplexType>(from.getElementType());
  if (isa<ComplexType>(type) != wasComplex)
    return wasComplex ? splitParts(input, type) : joinParts(input, type);
  auto result = std::make_shared<FieldTensor>(from.getDims(), type);
  // Equal numbers have equal bits in one type, and different bits in different
  // types. As integers, the bits exceed their type until they are used in
  // arithmetic.
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
  FloatType fromFloat = getFloatType(from.getElementType());
  FloatType toFloat = getFloatType(type);
  bool rounds = context.precision == Precision::Strict && fromFloat &&
                toFloat && !holdsAll(fromFloat, toFloat);
  auto round = [&](uint64_t element) {
    return rounds ? PrimeField::mix(element, getCastKey(toFloat)) : element;
  };
  bool toComplex = isa<ComplexType>(type);
  bool wasComplex = isa<ComplexType>(from.getElementType());
  ComplexParts &parts = context.scalars.getComplexParts();
  for (auto [source, target] :
       llvm::zip_equal(from.elements, result->elements)) {
    target =
        convertElement(context.scalars, source, from.getElementType(), type);
    if (!toComplex) {
      target = round(target);
      continue;
    }
    auto [real, imaginary] =
        wasComplex ? parts.get(source) : ComplexParts::Parts{target, 0};
    if (rounds)
      target = parts.join({round(real), wasComplex ? round(imaginary) : 0});
    else
      parts.note(target, {real, imaginary});
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

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

bool equivalence::isZero(const FieldValue &value) {
  return value && value->isField() &&
         llvm::all_of(value->elements,
                      [](uint64_t element) { return element == 0; });
}
