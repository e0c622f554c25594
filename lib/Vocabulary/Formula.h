//===- Formula.h - operators that are formulas of others --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_FORMULA_H
#define COMMUTE_LIB_VOCABULARY_FORMULA_H

#include "NodeReader.h"

namespace commute::vocabulary {

inline bool isFloat(mlir::Value value) {
  return llvm::isa<mlir::FloatType>(getElementType(value));
}

/// Builds the ops of a node that is imported as a formula of its operands. Like
/// PyTorch's kernels, computes in f32 if the operands are narrower, and rounds
/// the results once.
class Formula {
public:
  /// `type` is the element type of the node's operands.
  Formula(NodeReader &reader, mlir::Type type)
      : reader(reader), type(tp::Algebra::getComputeType(type)) {}

  /// A tensor of the node in the type that the formula computes in.
  mlir::Value of(mlir::Value value);
  /// A number, as a tensor without dims.
  mlir::Value number(double value) { return reader.constant(value); }

  mlir::Value apply(tp::MapFunction function, mlir::ValueRange operands) {
    return reader.map(function, operands, type);
  }
  /// A scalar function whose result is a truth value.
  mlir::Value test(tp::MapFunction function, mlir::ValueRange operands) {
    return reader.map(function, operands, reader.getBuilder().getI1Type());
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return apply(tp::MapFunction::Add, {a, b});
  }
  mlir::Value subtract(mlir::Value a, mlir::Value b) {
    return apply(tp::MapFunction::Sub, {a, b});
  }
  mlir::Value multiply(mlir::Value a, mlir::Value b) {
    return apply(tp::MapFunction::Mul, {a, b});
  }
  mlir::Value divide(mlir::Value a, mlir::Value b) {
    return apply(tp::MapFunction::Div, {a, b});
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return apply(tp::MapFunction::Select, {condition, a, b});
  }
  /// Combines the elements along `dims`, which keep size 1 with `keepDims`.
  mlir::Value reduce(tp::ReductionKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims, bool keepDims = true);

  /// min(0, x) - log(1 + exp(-|x|)), the logarithm of the sigmoid of x.
  mlir::Value logSigmoid(mlir::Value x);

  /// Makes `value`, rounded to the type of the node's result `index`, that
  /// result. Fails if the strides of the result are unknown.
  mlir::LogicalResult result(size_t index, mlir::Value value);

private:
  NodeReader &reader;
  mlir::Type type;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_FORMULA_H
