//===- Repetitions.h - what is sent or computed again -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Captured programs often communicate one value several times: DTensor gathers
// the input of a layer once for each product that reads it. Autocast converts a
// value once for each product, before a gather or after it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_COLLECTIVES_REPETITIONS_H
#define COMMUTE_ANALYSIS_COLLECTIVES_REPETITIONS_H

#include "commute/Analysis/Legal.h"
#include "commute/Analysis/ReturnedMemory.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace commute::analysis {

/// An op whose results an earlier one has given already.
struct Repetition {
  mlir::Operation *first;
  /// The values that readers see of the repeated op, and those of `first` that
  /// are equal to them. Of an asynchronous collective they are the results of
  /// completions.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> values;
};

/// The ops of a region's blocks that repeat earlier ones of their block:
/// collectives of equal operands, and equal functions of one value that is
/// computed from a collective's result. Operands are equal if they are the
/// same, or the same functions of one value.
class Repetitions {
public:
  explicit Repetitions(mlir::Region &region);

  /// Finds the op that `op` repeats, with no other collective between the two.
  /// Programs that gather or compute an activation again for the backward pass,
  /// with the collectives of other layers in between, do so to free its memory
  /// until then.
  ///
  /// Not applicable if no earlier op is the same.
  Legal<Repetition> find(mlir::Operation *op);

private:
  void add(mlir::Block &block);
  /// Refuses if the caller would see that values became one.
  Legal<Repetition> checkReturned(Repetition repetition);

  struct Earlier {
    mlir::Operation *first;
    /// The first collective between the two that repeats neither; null if there
    /// is none.
    mlir::Operation *other;
  };
  mlir::Region &region;
  llvm::DenseMap<mlir::Operation *, Earlier> earlierOf;
  /// Computed if anything is repeated.
  std::optional<ReturnedMemory> returned;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_COLLECTIVES_REPETITIONS_H
