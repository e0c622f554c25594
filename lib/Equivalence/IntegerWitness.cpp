//===- IntegerWitness.cpp - integers for which programs differ --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IntegerWitness.h"

#include "Mixtures.h"

#include <ctime>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

/// Comparisons with fixed integers, at most.
static constexpr unsigned mostTries = 20000;
/// Of the time for the proof.
static constexpr double shareOfTime = 0.05;

std::vector<int64_t> equivalence::getIndices(ArrayRef<SampledDim> dims,
                                             size_t element) {
  std::vector<int64_t> indices(dims.size());
  for (size_t dim = dims.size(); dim-- > 0;) {
    auto count = static_cast<size_t>(dims[dim].getCount());
    indices[dim] =
        dims[dim].isUniform
            ? dims[dim].getSize() - 1
            : dims[dim].sample->getIndex(static_cast<int64_t>(element % count));
    element /= count;
  }
  return indices;
}

FixedIntegers::FixedIntegers(ArrayRef<FixedInteger> listed) {
  for (const FixedInteger &own : listed) {
    Tensor &tensor = tensors[{own.argument, own.tensor}];
    tensor.indices.resize(own.indices.size());
    for (auto [known, index] : llvm::zip_equal(tensor.indices, own.indices))
      known.insert(index);
    tensor.numbers[own.indices] = own.number;
  }
}

std::optional<int64_t> FixedIntegers::lookup(unsigned argument, int64_t tensor,
                                             ArrayRef<int64_t> indices) const {
  auto own = tensors.find({argument, tensor});
  if (own == tensors.end())
    return std::nullopt;
  std::vector<int64_t> listed = indices.vec();
  for (auto [index, known] : llvm::zip(listed, own->second.indices)) {
    auto next = known.lower_bound(index);
    if (next != known.end())
      index = *next;
  }
  auto found = own->second.numbers.find(listed);
  return found == own->second.numbers.end() ? std::nullopt
                                            : std::optional(found->second);
}

InputGenerator::FixedNumbers
equivalence::getFixed(ArrayRef<FixedInteger> witness) {
  return [integers = FixedIntegers(witness)](unsigned argument, int64_t number,
                                             ArrayRef<SampledDim> dims,
                                             size_t element) {
    return integers.lookup(argument, number, getIndices(dims, element));
  };
}

std::vector<int64_t> IntegerWitness::getNumbers(unsigned argument) const {
  // The numbers along both dims of the range.
  std::vector<int64_t> found[dimsOfRange];
  for (func::FuncOp function : functions)
    for (auto iota : function.getOps<tp::IotaOp>()) {
      auto name = iota->getAttrOfType<DenseI64ArrayAttr>(rangeAttrName);
      if (!name || name[0] != static_cast<int64_t>(argument) ||
          !found[name[1]].empty())
        continue;
      int64_t start = cast<IntegerAttr>(iota.getStart()).getInt();
      int64_t step = cast<IntegerAttr>(iota.getStep()).getInt();
      ArrayRef<const IndexSample *> samples =
          comparison.getSamples(iota.getResult());
      if (samples.empty())
        continue;
      for (int64_t k = 0; k < samples.front()->getCount(); ++k)
        found[name[1]].push_back(start + step * samples.front()->getIndex(k));
    }
  std::vector<int64_t> numbers;
  for (int64_t major : found[0])
    for (int64_t minor : found[1])
      if (legal(argument).contains(major + minor))
        numbers.push_back(major + minor);
  // Simple ones first.
  llvm::sort(numbers, [](int64_t a, int64_t b) {
    return std::pair(std::abs(a), a < 0) < std::pair(std::abs(b), b < 0);
  });
  return numbers;
}

std::vector<Difference> IntegerWitness::compare() {
  return comparison.compareWith(
      [this](unsigned argument, int64_t tensor, ArrayRef<SampledDim> dims,
             size_t element) -> std::optional<int64_t> {
        Place place = {argument, tensor, element};
        auto [known, isNew] = places.try_emplace(place);
        if (isNew)
          known->second = getIndices(dims, element);
        auto number = fixed.find(place);
        return number == fixed.end() ? std::nullopt
                                     : std::optional(number->second);
      },
      seed, /*atRealSizes=*/false);
}

std::optional<std::vector<FixedInteger>> IntegerWitness::find() {
  // Integers that programs compute are not inputs.
  for (func::FuncOp function : functions)
    for (auto iota : function.getOps<tp::IotaOp>())
      if (auto name = iota->getAttrOfType<DenseI64ArrayAttr>(rangeAttrName);
          name && name[0] < 0)
        return std::nullopt;
  // Asks for all places.
  if (compare().empty())
    return std::nullopt;
  std::map<unsigned, std::vector<int64_t>> numbers;
  auto start = std::clock();
  unsigned numTries = 0;
  auto isExhausted = [&] {
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return ++numTries > mostTries || seconds > shareOfTime * budget.seconds;
  };
  std::vector<FixedInteger> witness;
  for (const auto &[place, indices] : places) {
    auto [known, isNew] = numbers.try_emplace(place.argument);
    if (isNew)
      known->second = getNumbers(place.argument);
    // Of floats, nothing is fixed.
    bool remains = known->second.empty();
    for (int64_t number : known->second) {
      if (isExhausted())
        return std::nullopt;
      fixed[place] = number;
      remains = !compare().empty();
      if (!remains)
        continue;
      witness.push_back({place.argument, place.tensor, indices, number});
      break;
    }
    if (!remains)
      return std::nullopt;
  }
  return witness;
}
