//===- DecisiveElements.h - which elements decided a result -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The largest of many integers, whether all of many conditions hold, or whether
// as many hold as a limit says, depends on one element only where the others
// let it: if it alone is the largest, or if the count without it is next to the
// limit. Integers that are drawn independently hardly ever do that for a given
// element of many, so that a program that leaves one out would pass for equal.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_DECISIVEELEMENTS_H
#define COMMUTE_LIB_EQUIVALENCE_DECISIVEELEMENTS_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/FieldAlgebra.h"

#include <map>

namespace commute::equivalence {

/// Elements that a reduction makes one element of its result of.
struct ReducedElements {
  llvm::ArrayRef<uint64_t> values;
  /// By element: the number of its cell, and how many elements it represents.
  llvm::ArrayRef<uint64_t> cells;
  llvm::ArrayRef<int64_t> weights;
};

/// Which of the elements that an op reduces decided its result, in some round.
/// Elements are told apart by their cells (see DimSamples::chooseCells): no op
/// treats those of one cell differently, so that it suffices that one of them
/// decided.
class DecisiveElements {
public:
  /// Records a maximum or minimum of elements of one type. Elements whose
  /// number is unknown are not covered by draws, but by the model of choices.
  void noteExtreme(const ReducedElements &elements, mlir::Type type,
                   bool isMaximum, const ScalarContext &scalars);
  /// Records a comparison of the number of ones among the elements with a
  /// limit; `distance` is that number minus the limit.
  void noteCount(const ReducedElements &elements, int64_t distance,
                 const tp::Comparison &comparison);

  /// Returns true if what elements decide is not recorded any more: some were
  /// unknown, or no truth values.
  bool isGivenUp() const { return isUnknown; }
  /// Returns true if the elements of a cell took different values, but decided
  /// nothing.
  bool hasMissed() const;

private:
  struct Cell {
    uint64_t firstValue;
    bool isVarying = false;
    bool isDecisive = false;
  };
  /// Returns the cell of each element.
  llvm::SmallVector<Cell *> enter(const ReducedElements &elements);

  std::map<uint64_t, Cell> cells;
  bool isUnknown = false;
};

/// Visits the elements of a tensor that a reduction along `dims` makes one
/// element of its result of, in the order of the results. `cells` are the cells
/// of the tensor's dims; if there are none, each index is one.
void forEachReduced(const FieldTensor &tensor, llvm::ArrayRef<int64_t> dims,
                    llvm::ArrayRef<const IndexSample *> cells,
                    llvm::function_ref<void(const ReducedElements &)> visit);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DECISIVEELEMENTS_H
