//===- DecisiveElements.cpp - which elements decided a result ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DecisiveElements.h"

#include "CellNumbers.h"
#include "FieldFunctions.h"
#include "commute/Dialect/StridedWalk.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

/// Returns how many elements each element along some dims represents, in
/// row-major order.
static std::vector<int64_t> getWeights(ArrayRef<SampledDim> dims,
                                       ArrayRef<int64_t> along) {
  std::vector<int64_t> weights = {1};
  for (int64_t number : along) {
    const SampledDim &dim = dims[number];
    std::vector<int64_t> next;
    for (int64_t weight : weights)
      for (int64_t place = 0; place < dim.getCount(); ++place)
        next.push_back(weight * (dim.isUniform ? dim.getSize()
                                               : dim.sample->getWeight(place)));
    weights = std::move(next);
  }
  return weights;
}

void equivalence::forEachReduced(
    const FieldTensor &tensor, ArrayRef<int64_t> dims,
    ArrayRef<const IndexSample *> cells,
    llvm::function_ref<void(const ReducedElements &)> visit) {
  SmallVector<int64_t> counts = tensor.getCounts(), kept = counts;
  for (int64_t dim : dims)
    kept[dim] = 1;
  SmallVector<int64_t> outputStrides = tp::getRowMajorStrides(kept);
  size_t numGroups = 1;
  for (auto [stride, count] : llvm::zip_equal(outputStrides, kept)) {
    numGroups *= count;
    if (count == 1)
      stride = 0;
  }
  if (numGroups == 0 || tensor.elements.empty())
    return;
  size_t size = tensor.elements.size() / numGroups;
  std::vector<uint64_t> elements(tensor.elements.size());
  std::vector<size_t> filled(numGroups);
  std::array<SmallVector<int64_t>, 2> strides = {tp::getRowMajorStrides(counts),
                                                 outputStrides};
  tp::forEachOffset<2>(counts, strides, [&](const auto &offsets) {
    size_t group = offsets[1];
    elements[group * size + filled[group]++] = tensor.elements[offsets[0]];
  });
  SmallVector<int64_t> sorted = llvm::to_vector(dims);
  llvm::sort(sorted);
  std::vector<uint64_t> numbers =
      getCellNumbers(tensor.getDims(), sorted, cells);
  std::vector<int64_t> weights = getWeights(tensor.getDims(), sorted);
  for (size_t group = 0; group < numGroups; ++group)
    visit({ArrayRef(elements).slice(group * size, size), numbers, weights});
}

SmallVector<DecisiveElements::Cell *>
DecisiveElements::enter(const ReducedElements &elements) {
  SmallVector<Cell *> entered;
  for (auto [value, number] :
       llvm::zip_equal(elements.values, elements.cells)) {
    Cell &cell = cells.try_emplace(number, Cell{value}).first->second;
    cell.isVarying |= value != cell.firstValue;
    entered.push_back(&cell);
  }
  return entered;
}

void DecisiveElements::noteExtreme(const ReducedElements &elements, Type type,
                                   bool isMaximum,
                                   const ScalarContext &scalars) {
  ArrayRef<uint64_t> values = elements.values;
  if (isUnknown || values.size() < 2)
    return;
  // Integers of 64 bits are compared exactly, and numbers that floats are known
  // to be as doubles.
  auto isKnown = [&](uint64_t element) {
    return isTruthType(type)   ? element <= 1
           : isFieldType(type) ? scalars.getKnownNumber(element).has_value()
                               : true;
  };
  if (!llvm::all_of(values, isKnown)) {
    isUnknown = true;
    return;
  }
  auto isLess = [&](uint64_t a, uint64_t b) {
    return isFieldType(type)
               ? *scalars.getKnownNumber(a) < *scalars.getKnownNumber(b)
               : static_cast<int64_t>(a) < static_cast<int64_t>(b);
  };
  SmallVector<Cell *> entered = enter(elements);
  size_t best = 0;
  bool isUnique = true;
  for (size_t index = 1; index < values.size(); ++index) {
    if (values[index] == values[best]) {
      isUnique = false;
    } else if (isMaximum ? isLess(values[best], values[index])
                         : isLess(values[index], values[best])) {
      best = index;
      isUnique = true;
    }
  }
  if (isUnique)
    entered[best]->isDecisive = true;
}

void DecisiveElements::noteCount(const ReducedElements &elements,
                                 int64_t distance,
                                 const tp::Comparison &comparison) {
  if (isUnknown || elements.values.size() < 2)
    return;
  if (llvm::any_of(elements.values,
                   [](uint64_t element) { return element > 1; })) {
    isUnknown = true;
    return;
  }
  bool isTrue = comparison.holds(distance);
  for (auto [cell, value, weight] :
       llvm::zip_equal(enter(elements), elements.values, elements.weights))
    if (value == 1 && comparison.holds(distance - weight) != isTrue)
      cell->isDecisive = true;
}

bool DecisiveElements::hasMissed() const {
  return !isUnknown && llvm::any_of(cells, [](const auto &cell) {
    return cell.second.isVarying && !cell.second.isDecisive;
  });
}
