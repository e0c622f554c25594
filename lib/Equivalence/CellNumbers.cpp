//===- CellNumbers.cpp - elements that ops treat alike ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CellNumbers.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

std::vector<uint64_t>
equivalence::getCellNumbers(ArrayRef<SampledDim> dims, ArrayRef<int64_t> along,
                            ArrayRef<const IndexSample *> cells) {
  std::vector<uint64_t> numbers = {0};
  for (int64_t number : along) {
    const SampledDim &dim = dims[number];
    std::vector<uint64_t> next;
    for (uint64_t major : numbers)
      for (int64_t place = 0; place < dim.getCount(); ++place) {
        int64_t index = dim.isUniform ? 0 : dim.sample->getIndex(place);
        next.push_back(major * static_cast<uint64_t>(dim.getSize()) +
                       (cells.empty() ? index : cells[number]->findRun(index)));
      }
    numbers = std::move(next);
  }
  return numbers;
}
