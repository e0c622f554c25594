//===- CollectiveSpelling.h - how a collective was spelled ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A collective that was made from a spelling along dim 0 notes it in an
// attribute. As long as nobody replaces the collective, the same ops can be had
// back, with their attributes, types and locations: a graph that nothing
// rewrote comes back identical.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_COLLECTIVESPELLING_H
#define COMMUTE_LIB_TRANSFORMS_COLLECTIVESPELLING_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Target/PriceModel.h"

namespace commute {

/// Notes at `collective` the ops that it stands for. They are in order, make
/// their last result from `input` and other results of theirs, and are still in
/// their places.
void noteSpelling(mlir::Operation *collective,
                  llvm::ArrayRef<mlir::Operation *> ops, mlir::Value input);

/// Whether ops are noted at a collective.
bool hasSpelling(mlir::Operation *collective);

/// Seconds of the collectives that a chain over several groups is, to which
/// `collective` goes back where nothing uses it; nullopt for any other.
std::optional<double> getChainSeconds(mlir::Operation *collective,
                                      const target::PriceModel &price);

/// Puts spellings back in place of the collectives of one block.
class SpellingRestorer {
public:
  explicit SpellingRestorer(mlir::Block &block);

  /// The collective as it was spelled, all of them of a chain; empty where it
  /// has no spelling, or one that does not fit (any more). Else `collective` is
  /// gone.
  llvm::SmallVector<mlir::Operation *> restore(mlir::Operation *collective);

private:
  /// Moves `ops` to where they stood, as far as that can be told: behind the
  /// ops of the locations `inFront`, the `last` collective among them in front
  /// of `collective`, and its wait in front of `wait`.
  void place(llvm::ArrayRef<mlir::Operation *> ops, mlir::Operation *last,
             llvm::ArrayRef<mlir::LocationAttr> inFront,
             mlir::Operation *collective, mlir::Operation *wait);
  void erase(mlir::Operation *op);

  /// The last op of each location.
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> places;
  /// The order of ops, which a block would number anew after each move. What is
  /// put behind an op has its position.
  llvm::DenseMap<mlir::Operation *, uint64_t> positions;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_COLLECTIVESPELLING_H
