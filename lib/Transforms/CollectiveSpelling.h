//===- CollectiveSpelling.h - how a collective was spelled ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A collective that was recognized from a spelling along dim 0 records this
// spelling in an attribute. Unless the collective is replaced, the same ops can
// be restored, with their attributes, types and locations. A graph that is not
// rewritten is therefore written back identically.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_COLLECTIVESPELLING_H
#define COMMUTE_LIB_TRANSFORMS_COLLECTIVESPELLING_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Target/PriceModel.h"

namespace commute {

/// Records how collectives were spelled. Keeps the keys of its attributes,
/// which take time to look up.
class SpellingWriter {
public:
  explicit SpellingWriter(mlir::MLIRContext *context);

  /// Records at `collective` the ops that it replaces. They are in order,
  /// compute their last result from `input` and each other, and are still at
  /// their original places.
  void write(mlir::Operation *collective, llvm::ArrayRef<mlir::Operation *> ops,
             mlir::Value input) const;

private:
  /// Of an op: attributes, discardable, location, op, operands, place, type.
  std::array<mlir::StringAttr, 7> opKeys;
  /// Of a spelling: input, ops.
  std::array<mlir::StringAttr, 2> spellingKeys;
};

/// Returns true if a spelling is recorded at the collective.
bool hasSpelling(mlir::Operation *collective);

/// Returns the seconds of the chain of collectives over several groups that
/// `collective` becomes again if no pass uses it, or nullopt for any other
/// collective.
std::optional<double> getChainSeconds(mlir::Operation *collective,
                                      const target::PriceModel &price);

/// Restores the spellings of the collectives of one block.
class SpellingRestorer {
public:
  explicit SpellingRestorer(mlir::Block &block);

  /// Restores the original spelling and erases `collective`. Returns the
  /// restored collectives: all of them for a chain, none if there is no
  /// spelling or it does not match the collective (any more).
  llvm::SmallVector<mlir::Operation *> restore(mlir::Operation *collective);

private:
  /// Moves `ops` to their original places, as far as these are known: after the
  /// ops with the locations `inFront`, with the `last` collective before
  /// `collective` and its wait before `wait`.
  void place(llvm::ArrayRef<mlir::Operation *> ops, mlir::Operation *last,
             llvm::ArrayRef<mlir::LocationAttr> inFront,
             mlir::Operation *collective, mlir::Operation *wait);
  void erase(mlir::Operation *op);

  /// The last op of each location.
  llvm::DenseMap<mlir::Attribute, mlir::Operation *> places;
  /// The order of ops, which a block would renumber after each move. An op that
  /// is inserted after another one gets its position.
  llvm::DenseMap<mlir::Operation *, uint64_t> positions;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_COLLECTIVESPELLING_H
