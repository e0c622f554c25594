//===- CellNumbers.h - elements that ops treat alike ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_CELLNUMBERS_H
#define COMMUTE_LIB_EQUIVALENCE_CELLNUMBERS_H

#include "commute/Equivalence/FieldAlgebra.h"

namespace commute::equivalence {

/// Numbers the elements of a tensor with the dims `dims` along those in
/// `along`, in row-major order; elements of one cell have one number. `cells`
/// are the cells of all dims (see DimSamples::chooseCells); if there are none,
/// each index is one.
std::vector<uint64_t> getCellNumbers(llvm::ArrayRef<SampledDim> dims,
                                     llvm::ArrayRef<int64_t> along,
                                     llvm::ArrayRef<const IndexSample *> cells);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_CELLNUMBERS_H
