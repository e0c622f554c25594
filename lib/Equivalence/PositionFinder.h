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
  /// Returns the least and the largest number for dims of these sizes; nullopt
  /// if one does not fit into 64 bits.
  std::optional<std::pair<int64_t, int64_t>>
  getRange(llvm::ArrayRef<int64_t> sizes) const;
};

/// The facts known about the elements of a value of integers or truth values.
struct PositionForm {
  /// Candidates: each element is one of these (the same one within a cell),
  /// plus an unknown or derived number. Empty for a value that is not tracked.
  llvm::SmallVector<AffinePosition, 2> candidates;
  /// True if an external integer is added: an input, or the result of an opaque
  /// op.
  bool hasUnknown = false;
  /// True if a number is added that the program computes but the analysis does
  /// not know.
  bool hasDerived = false;
  /// The dims along which elements depend on their positions.
  llvm::SmallBitVector varies;
  /// How these are computed from the elements of one input.
  std::optional<InputFunction> input;
  /// Of truth values: for which elements of an input they hold.
  struct Condition {
    unsigned argument;
    IntegerUnion elements;
  };
  std::optional<Condition> condition;
};

/// Tracks the integers of a program; see PositionNumbers.h.
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
  /// Handles the integers that an op on indices returns.
  PositionForm evaluateTake(tp::TakeOp op);
  PositionForm moveDims(mlir::Operation *op);
  PositionForm evaluateReshape(tp::ReshapeOp op);
  PositionForm evaluateConcat(tp::ConcatOp op);
  /// Returns the input whose elements a concatenation puts beside numbers, as
  /// labels that are shifted and padded: what is computed of its elements is
  /// computed of these numbers as well.
  std::optional<InputFunction> getPaddedInput(tp::ConcatOp op);

  /// Returns the form of an operand in the dims of the value that it is
  /// broadcast to.
  PositionForm broadcast(mlir::Value operand, mlir::RankedTensorType type);
  /// Reports a comparison of the operands; `value` has the dims of both.
  void compare(mlir::Value value, const PositionForm &a, const PositionForm &b);
  /// Reports that all positions along the dims that `form` depends on are
  /// needed.
  void keepVarying(mlir::Value value, const PositionForm &form);
  /// Returns a value of which only the operands are known.
  PositionForm derive(mlir::Operation *op);
  static PositionForm unite(const PositionForm &a, const PositionForm &b);
  std::optional<PositionForm> divide(tp::MapOp op, const PositionForm &a,
                                     const PositionForm &b);
  /// Returns for which elements of an input a function of truth values or a
  /// comparison with a number holds, if that is known.
  static std::optional<PositionForm::Condition>
  getCondition(tp::MapFunction function, llvm::ArrayRef<PositionForm> operands);
  /// Returns the function of an input that selects between a function of it and
  /// a number, by a condition on the same element.
  static std::optional<InputFunction>
  selectByInput(llvm::ArrayRef<PositionForm> operands);

  PositionListener &listener;
  llvm::DenseMap<mlir::Value, PositionForm> forms;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_POSITIONFINDER_H
