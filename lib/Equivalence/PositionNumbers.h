//===- PositionNumbers.h - numbers that indices meet ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Programs compute with positions: causal masks, one-hot codes, thresholds of a
// vocabulary's shards. If a number distinguishes positions, the samples of
// their dims must have a cut there, so that positions on both sides are
// evaluated. This analysis tracks integers from the positions (tp.iota) and
// constants from which they are computed, as sets of affine expressions, and
// reports the numbers that they meet.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_POSITIONNUMBERS_H
#define COMMUTE_LIB_EQUIVALENCE_POSITIONNUMBERS_H

#include "commute/Equivalence/IntegerUnion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>

namespace commute::equivalence {

/// A number that is computed from an element x of an input and never falls when
/// x grows: floor((factor * x + offset) / divisor). It may be another number
/// for some x that the program treats apart, such as ignored labels.
struct InputFunction {
  unsigned argument;
  /// Above zero.
  int64_t factor = 1;
  int64_t offset = 0;
  /// Above zero.
  int64_t divisor = 1;
  /// The number for all x in a set.
  struct Exception {
    IntegerUnion elements;
    int64_t number;
  };
  /// Their sets are disjoint.
  llvm::SmallVector<Exception, 1> exceptions = {};

  /// Returns true for x + offset.
  bool isShift() const {
    return factor == 1 && divisor == 1 && exceptions.empty();
  }
  /// Returns nullopt if a number does not fit into 64 bits.
  std::optional<int64_t> evaluate(int64_t element) const;
  /// Returns the least x for which the number is at least `least`, apart from
  /// exceptions; nullopt if it does not fit into 64 bits.
  std::optional<int64_t> findLeast(int64_t least) const;
  /// Returns the same with a number added, or multiplied or divided by one
  /// above zero, as integers; nullopt if that has no such form.
  std::optional<InputFunction> plus(int64_t number) const;
  std::optional<InputFunction> times(int64_t number) const;
  std::optional<InputFunction> dividedBy(int64_t number) const;
  /// Returns the same with another number for the elements of a set.
  InputFunction except(const IntegerUnion &elements, int64_t number) const;
  /// Returns the x for which the number is in a set; nullopt if an end of the
  /// set does not fit into 64 bits.
  std::optional<IntegerUnion> getPreimage(const IntegerUnion &numbers) const;
};

/// The receiver of the reports about the integers of a program. A dim is
/// identified by a value and the number of the dim.
class PositionListener {
public:
  virtual ~PositionListener() = default;

  /// Index `index` behaves differently from its predecessor.
  virtual void onCut(mlir::Value value, unsigned dim, int64_t index) = 0;
  /// One index is distinguished from all others.
  virtual void onSingle(mlir::Value value, unsigned dim, int64_t index) = 0;
  /// `first * i + second * j + constant` is compared with 0, for indices i and
  /// j of two dims.
  virtual void onDiagonal(mlir::Value firstValue, unsigned firstDim,
                          mlir::Value secondValue, unsigned secondDim,
                          int64_t first, int64_t second, int64_t constant) = 0;
  /// The positions along a dim are used in computations that are not
  /// understood, so all of them must be evaluated.
  virtual void onUnknownUse(mlir::Value value, unsigned dim) = 0;
  /// The elements along a dim are summed, and the sum is compared with a number
  /// above one, which sums of weighted elements may skip.
  virtual void onCounted(mlir::Value value, unsigned dim) = 0;
  /// Positions are compared with external integers.
  virtual void onMetByUnknown(mlir::Value value, unsigned dim) = 0;
  /// Index i of dim `indexDim` of `indices` reads index `start + i * step` of a
  /// table, at least for some i.
  virtual void onIndexed(mlir::Value table, unsigned tableDim,
                         mlir::Value indices, unsigned indexDim, int64_t start,
                         int64_t step) = 0;
  /// An external integer is compared with `number`.
  virtual void onNumber(int64_t number) = 0;
  /// A function of the elements of an input indexes a dim, so it is at least
  /// `least` and below the size of the dim.
  virtual void onBound(const InputFunction &function, mlir::Value table,
                       unsigned dim, int64_t least) = 0;
  /// Some indices on both sides of cuts of a dim, as far as they are known.
  virtual llvm::SmallVector<int64_t> getBorders(mlir::Value value,
                                                unsigned dim) = 0;
};

class PositionFinder;

/// Analyzes a program of static sizes.
class PositionNumbers {
public:
  PositionNumbers(mlir::func::FuncOp function, PositionListener &listener);
  ~PositionNumbers();

  /// Goes through it once more, when the listener knows where tables are cut
  /// that are read at computed indices.
  void visitTables();

private:
  mlir::func::FuncOp function;
  PositionListener &listener;
  std::unique_ptr<PositionFinder> positions;
  bool hasComputedIndices = false;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_POSITIONNUMBERS_H
