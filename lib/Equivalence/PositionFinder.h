//===- PositionFinder.h - integers as affine positions ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_POSITIONFINDER_H
#define COMMUTE_LIB_EQUIVALENCE_POSITIONFINDER_H

#include "PositionNumbers.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/SmallBitVector.h"

namespace commute::equivalence {

/// `constant` plus a coefficient times the index along each dim of a value.
struct AffinePosition {
  int64_t constant = 0;
  llvm::SmallVector<int64_t, 4> coefficients;

  bool operator==(const AffinePosition &other) const {
    return constant == other.constant && coefficients == other.coefficients;
  }
  bool isConstant() const {
    return llvm::all_of(coefficients, [](int64_t k) { return k == 0; });
  }
};

/// What is known of the elements of a value of integers or truth values.
struct PositionForm {
  /// Each element is one of these, which one being the same within a cell, plus
  /// what is unknown or derived. Empty for a value that is not followed.
  llvm::SmallVector<AffinePosition, 2> candidates;
  /// Adds an integer from outside: an input, or what an opaque op returned.
  bool hasUnknown = false;
  /// Adds a number that is computed in the program, but not known here.
  bool hasDerived = false;
  /// The dims along which elements differ by their positions.
  llvm::SmallBitVector varies;
  /// An input whose elements these are, plus the offset.
  std::optional<unsigned> input;
  int64_t inputOffset = 0;
};

/// Follows the integers of a program; see PositionNumbers.h.
class PositionFinder {
public:
  explicit PositionFinder(PositionListener &listener) : listener(listener) {}

  void visit(mlir::func::FuncOp function);

private:
  friend class ThresholdFinder;

  /// More candidates than these are not followed.
  static constexpr size_t maxCandidates = 64;
  static constexpr size_t maxPairs = 1024;

  static mlir::RankedTensorType getType(mlir::Value value) {
    return mlir::cast<mlir::RankedTensorType>(value.getType());
  }
  static bool isFollowed(mlir::Value value) {
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
    return type && mlir::isa<mlir::IntegerType>(type.getElementType());
  }
  static PositionForm getUnknown(mlir::Value value);
  static PositionForm getConstants(mlir::Value value,
                                   llvm::ArrayRef<int64_t> numbers);
  const PositionForm &get(mlir::Value value);

  void visit(mlir::Operation *op);
  PositionForm evaluateMap(tp::MapOp op);
  void visitIndexing(tp::IndexingOpInterface op);
  /// The integers that an op of indices returns.
  PositionForm evaluateTake(tp::TakeOp op);
  PositionForm moveDims(mlir::Operation *op);
  PositionForm evaluateReshape(tp::ReshapeOp op);
  PositionForm evaluateConcat(tp::ConcatOp op);

  /// The form of an operand in the dims of the value that it is broadcast to.
  PositionForm broadcast(mlir::Value operand, mlir::RankedTensorType type);
  /// The operands are compared; `value` has the dims of both.
  void compare(mlir::Value value, const PositionForm &a, const PositionForm &b);
  /// The positions along the dims that `form` varies along are all needed.
  void keepVarying(mlir::Value value, const PositionForm &form);
  /// A value of which nothing is known but its operands.
  PositionForm derive(mlir::Operation *op);
  static PositionForm unite(const PositionForm &a, const PositionForm &b);
  std::optional<PositionForm> divide(tp::MapOp op, const PositionForm &a,
                                     const PositionForm &b);

  PositionListener &listener;
  llvm::DenseMap<mlir::Value, PositionForm> forms;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_POSITIONFINDER_H
