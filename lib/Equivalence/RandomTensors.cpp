//===- RandomTensors.cpp - tensors without structure ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RandomTensors.h"

#include "CellNumbers.h"
#include "FieldFunctions.h"
#include "commute/Equivalence/PrimeField.h"
#include "commute/Equivalence/ResolvedPrograms.h"

#include "llvm/ADT/BitVector.h"

#include <map>
#include <numeric>

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
/// Which elements of an integer tensor are drawn apart from the others in a
/// round: one of each row along a dim, or of the whole tensor; or as many as
/// some number that integers meet, which may be the limit of a count.
class ElementsApart {
public:
  ElementsApart(const FieldTensor &tensor, ArrayRef<const IndexSample *> cells,
                const IntegerPool &pool, uint64_t turn, uint64_t key)
      : isApart(tensor.elements.size()) {
    SmallVector<int64_t> counts = tensor.getCounts();
    uint64_t numWays = counts.size() > 1 ? counts.size() + 1 : 1;
    uint64_t way = turn % numWays;
    turn /= numWays;
    bool isOne = turn % 2 == 0;
    turn /= 2;
    auto along = llvm::to_vector(llvm::seq<int64_t>(0, tensor.getRank()));
    if (way < counts.size())
      along = {static_cast<int64_t>(way)};
    for (int64_t dim : along)
      size *= static_cast<uint64_t>(counts[dim]);
    for (size_t dim = way + 1; dim < counts.size(); ++dim)
      stride *= static_cast<uint64_t>(counts[dim]);
    if (isApart.empty())
      return;
    std::vector<SmallVector<uint64_t>> elementsOf =
        collectCells(getCellNumbers(tensor.getDims(), along, cells));
    std::vector<uint64_t> order(size);
    for (uint64_t row = 0; row * size < isApart.size(); ++row) {
      uint64_t begin = row / stride * stride * size + row % stride;
      uint64_t rowKey = PrimeField::mix(row, key);
      // Rows take turns at different cells.
      ArrayRef<uint64_t> cell = elementsOf[(turn + row) % elementsOf.size()];
      uint64_t chosen = cell[rowKey % cell.size()];
      isApart.set(begin + chosen * stride);
      uint64_t number = isOne ? 1 : chooseNumber(pool, rowKey);
      if (number == 1)
        continue;
      std::iota(order.begin(), order.end(), uint64_t(0));
      llvm::sort(order, [&](uint64_t a, uint64_t b) {
        return std::pair(a != chosen, PrimeField::mix(a, rowKey)) <
               std::pair(b != chosen, PrimeField::mix(b, rowKey));
      });
      for (uint64_t place : ArrayRef(order).take_front(number))
        isApart.set(begin + place * stride);
    }
  }

  bool contains(uint64_t element) const { return isApart[element]; }
  /// The row of an element, as a number.
  uint64_t getRow(uint64_t element) const {
    return element / (stride * size) * stride + element % stride;
  }

private:
  /// Returns the places in a row of the elements of each cell.
  static std::vector<SmallVector<uint64_t>>
  collectCells(ArrayRef<uint64_t> numbers) {
    std::map<uint64_t, SmallVector<uint64_t>> byCell;
    for (auto [place, cell] : llvm::enumerate(numbers))
      byCell[cell].push_back(place);
    auto places = llvm::make_second_range(byCell);
    return {places.begin(), places.end()};
  }
  uint64_t chooseNumber(const IntegerPool &pool, uint64_t rowKey) const {
    SmallVector<uint64_t> numbers;
    for (int64_t number : pool.getNumbers())
      if (number > 1 && static_cast<uint64_t>(number) < size)
        numbers.push_back(static_cast<uint64_t>(number));
    return numbers.empty() ? 1 : numbers[(rowKey >> 32) % numbers.size()];
  }

  /// Elements of a row, and the distance between them.
  uint64_t size = 1, stride = 1;
  llvm::BitVector isApart;
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
                        const IntegerPool &pool, IntegerPool::Drawing drawing,
                        ArrayRef<const IndexSample *> cells) {
  if (!context.checkMemory(FieldTensor::getNumBytes(dims)))
    return nullptr;
  auto tensor = std::make_shared<FieldTensor>(dims, type);
  Repetition repetition;
  if (tensor->isField() && context.repeatsElements)
    repetition = Repetition::choose(dims, key);
  std::optional<ElementsApart> apart;
  if (drawing.way == IntegerPool::Way::Apart && !tensor->isField() &&
      !tensor->isTruth())
    apart.emplace(*tensor, cells, context.scalars.getPool(), drawing.choice,
                  key);
  forEachIndex(*tensor, repetition, [&](size_t element, uint64_t index) {
    uint64_t value = PrimeField::mix(index, key);
    if (repetition.numNumbers != 0)
      value = PrimeField::mix(value % repetition.numNumbers, key);
    if (tensor->isTruth())
      value = context.scalars.drawTruth(value);
    else if (apart)
      value = pool.drawApart(PrimeField::mix(apart->getRow(element), key),
                             apart->contains(element), type);
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

FieldValue equivalence::repeatElements(const FieldTensor &tensor,
                                       ArrayRef<SampledDim> dims,
                                       EvaluationContext &context) {
  if (!context.checkMemory(FieldTensor::getNumBytes(dims)))
    return nullptr;
  auto result = std::make_shared<FieldTensor>(dims, tensor.getElementType());
  // Dims are added from the minor one to the major one.
  SmallVector<int64_t> counts = tensor.getCounts();
  std::vector<int64_t> offsets = {0};
  int64_t stride = 1;
  for (size_t dim = dims.size(); dim-- > 0;) {
    std::vector<int64_t> next;
    for (int64_t place = 0; place < dims[dim].getCount(); ++place) {
      int64_t run = tensor.getDims()[dim].sample->findRun(
          dims[dim].sample->getIndex(place));
      for (int64_t offset : offsets)
        next.push_back(run * stride + offset);
    }
    offsets = std::move(next);
    stride *= counts[dim];
  }
  for (auto [element, offset] : llvm::zip_equal(result->elements, offsets))
    element = tensor.elements[offset];
  return result;
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
