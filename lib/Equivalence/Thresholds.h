//===- Thresholds.h - where computed numbers change -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A program may compare what it computes from an integer instead of the integer
// itself: ids // 4 < 90, positions.float() * 0.5 < 17.5. This goes through the
// program backward: where the result of an op crosses a number that matters, an
// operand crosses others, up to the integers from outside, which are then drawn
// there, and to positions, which are cut there.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_THRESHOLDS_H
#define COMMUTE_LIB_EQUIVALENCE_THRESHOLDS_H

#include "PositionFinder.h"

#include "llvm/ADT/DenseSet.h"

namespace commute::equivalence {

class ThresholdFinder {
public:
  /// `positions` has visited the program.
  ThresholdFinder(PositionFinder &positions, PositionListener &listener)
      : positions(positions), listener(listener) {}

  void visit(mlir::func::FuncOp function);
  /// Whether some indices are computed from integers from outside.
  bool foundComputedIndices() const { return hasComputedIndices; }

private:
  using Numbers = llvm::SmallVector<double, 4>;

  /// Whether the elements of a value are numbers that the prover knows: made of
  /// integers and constants, by functions that it computes.
  bool isExact(mlir::Value value) const;
  /// The elements of `value` matter where they cross `number`.
  void add(mlir::Value value, double number);
  void addAll(mlir::Value value, llvm::ArrayRef<double> numbers);
  /// Two values are compared, neither of which is one number.
  void meet(mlir::Value a, mlir::Value b);
  /// The positions that floats are made of are all needed.
  void keepPositions(mlir::Value value);
  /// A sum of integers or truth values along `sumDims` matters where it crosses
  /// `numbers`, which a sum of few of them with weights may skip.
  void keepCounted(mlir::Value summands, llvm::ArrayRef<int64_t> sumDims,
                   llvm::ArrayRef<double> numbers);

  void visit(mlir::Operation *op);
  /// Passes `numbers`, at which the result matters, on to the operands.
  void visitOperands(mlir::Operation *op, llvm::ArrayRef<double> numbers);
  void visitMap(tp::MapOp op, llvm::ArrayRef<double> numbers);
  void visitCast(tp::CastOp op, llvm::ArrayRef<double> numbers);
  /// Where numbers that follow from an index cross `numbers`: the number at
  /// index i is start + i * step.
  void cut(mlir::Value value, unsigned dim, double start, double step,
           llvm::ArrayRef<double> numbers);
  void report(llvm::ArrayRef<double> numbers);

  PositionFinder &positions;
  PositionListener &listener;
  llvm::DenseSet<mlir::Value> exact;
  llvm::DenseMap<mlir::Value, Numbers> found;
  llvm::DenseSet<mlir::Value> kept;
  bool hasComputedIndices = false;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_THRESHOLDS_H
