//===- RepeatedCollectives.h - the same values sent again -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Captured programs often communicate one value several times: DTensor gathers
// the input of a layer once for each product that reads it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_COLLECTIVES_REPEATEDCOLLECTIVES_H
#define COMMUTE_ANALYSIS_COLLECTIVES_REPEATEDCOLLECTIVES_H

#include "commute/Analysis/Legal.h"
#include "commute/Analysis/ReturnedMemory.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace commute::analysis {

/// A collective whose result an earlier one has given already.
struct RepeatedCollective {
  mlir::Operation *first;
  /// The values that readers see of the repeated collective, and those of
  /// `first` that are equal to them. Of an asynchronous collective they are the
  /// results of completions.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> values;
};

/// The collectives of a region's blocks that repeat earlier ones of their
/// block.
class RepeatedCollectives {
public:
  explicit RepeatedCollectives(mlir::Region &region);

  /// Finds the collective that `op` repeats: the same op of the same operands,
  /// with no other collective between the two. Programs that gather an
  /// activation again for the backward pass, with the collectives of other
  /// layers in between, do so to free its memory until then.
  ///
  /// Not applicable if no earlier collective is the same.
  Legal<RepeatedCollective> find(mlir::Operation *op);

private:
  void add(mlir::Block &block);
  /// Refuses if the caller would see that values became one.
  Legal<RepeatedCollective> checkReturned(RepeatedCollective repeated);

  struct Earlier {
    mlir::Operation *first;
    /// The next collective after `first` that does not repeat it; null if it
    /// comes after the repetition.
    mlir::Operation *other;
  };
  mlir::Region &region;
  llvm::DenseMap<mlir::Operation *, Earlier> earlierOf;
  /// Computed if anything is repeated.
  std::optional<ReturnedMemory> returned;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_COLLECTIVES_REPEATEDCOLLECTIVES_H
