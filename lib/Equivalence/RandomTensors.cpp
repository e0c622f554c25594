//===- RandomTensors.cpp - tensors without structure ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RandomTensors.h"

#include "FieldFunctions.h"
#include "commute/Equivalence/PrimeField.h"
#include "commute/Equivalence/ResolvedPrograms.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;

namespace {
/// How the elements of a random tensor repeat: not at all, only few numbers
/// occur, or the slices along one dim repeat.
struct Repetition {
  static Repetition choose(ArrayRef<SampledDim> dims, uint64_t key) {
    uint64_t choice = PrimeField::mix(key, 0x3ade68b1a2c5d9f7);
    uint64_t dim = (choice >> 8) % (dims.size() + 1);
    if (choice % 4 < 2 || dim == dims.size())
      return {.numNumbers = 2 + (choice >> 4) % 4};
    // Each slice but one occurs twice.
    return {.dim = static_cast<int64_t>(dim),
            .numSlices = std::max<int64_t>(1, dims[dim].getSize() / 2)};
  }

  uint64_t numNumbers = 0;
  int64_t dim = -1;
  int64_t numSlices = 0;
};
} // namespace

/// Returns the index of an element in the dense row-major tensor of real sizes,
/// modulo 2^64, which suffices as a key. Repeated elements have the same index.
template <typename Visitor>
static void forEachIndex(const FieldTensor &tensor,
                         const Repetition &repetition, Visitor visit) {
  SmallVector<int64_t> counts = tensor.getCounts();
  SmallVector<int64_t> position(counts.size());
  for (size_t element = 0; element < tensor.elements.size(); ++element) {
    uint64_t index = 0;
    for (auto [number, dim] : llvm::enumerate(tensor.getDims())) {
      int64_t own = dim.isUniform ? 0 : dim.sample->getIndex(position[number]);
      if (static_cast<int64_t>(number) == repetition.dim)
        own %= repetition.numSlices;
      index = index * static_cast<uint64_t>(dim.getSize()) +
              static_cast<uint64_t>(own);
    }
    visit(element, index);
    for (size_t dim = counts.size(); dim-- > 0;) {
      if (++position[dim] < counts[dim])
        break;
      position[dim] = 0;
    }
  }
}

std::shared_ptr<FieldTensor>
equivalence::makeRandom(ArrayRef<SampledDim> dims, Type type, uint64_t key,
                        uint64_t place, EvaluationContext &context,
                        const IntegerPool &pool, IntegerPool::Drawing drawing) {
  if (!context.checkMemory(FieldTensor::getNumBytes(dims)))
    return nullptr;
  auto tensor = std::make_shared<FieldTensor>(dims, type);
  Repetition repetition;
  if (tensor->isField() && context.repeatsElements)
    repetition = Repetition::choose(dims, key);
  forEachIndex(*tensor, repetition, [&](size_t element, uint64_t index) {
    uint64_t value = PrimeField::mix(index, key);
    if (repetition.numNumbers != 0)
      value = PrimeField::mix(value % repetition.numNumbers, key);
    if (tensor->isTruth())
      value = context.scalars.drawTruth(value);
    else if (!tensor->isField())
      // External integers are often offsets, so in some rounds they are zero.
      value =
          tensor->elements.size() == 1 &&
                  drawing.way != IntegerPool::Way::Sweep &&
                  context.scalars.getSeed() % 4 == 0
              ? wrapInteger(pool.getNumbers().front(), type)
              : pool.draw(value, PrimeField::mix(index, place), drawing, type);
    tensor->elements[element] = value;
  });
  return tensor;
}

AlgebraValue FieldAlgebra::uninitialized(Operation *op, ArrayRef<int64_t> sizes,
                                         Type type) {
  auto allocation = op->getAttrOfType<IntegerAttr>(drawAttrName);
  assert(allocation && "an allocation that resolveSizes did not number");
  Dims dims;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    bool isChosen =
        dim < resultSamples.size() && resultSamples[dim]->getSize() == size;
    dims.push_back(isChosen ? SampledDim{resultSamples[dim]} : getDim(size));
  }
  uint64_t seed = context.scalars.getSeed();
  uint64_t key = PrimeField::mix(
      rank, PrimeField::mix(allocation.getInt(), seed + 0x5be0cd19137e2179));
  std::shared_ptr<FieldTensor> result =
      makeRandom(dims, type, key, PrimeField::mix(rank, allocation.getInt()),
                 context, context.scalars.getPool(),
                 IntegerPool::choose(seed, allocation.getInt(),
                                     /*isListed=*/false));
  if (!result)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  return result;
}
