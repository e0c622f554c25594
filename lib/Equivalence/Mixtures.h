//===- Mixtures.h - integers as mixtures of their values --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_MIXTURES_H
#define COMMUTE_LIB_EQUIVALENCE_MIXTURES_H

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <optional>

namespace commute::equivalence {

/// The attribute of the numbers along a dim of a range: the number of the input
/// that it is the range of, or -1 for integers that are computed, and which of
/// the two dims it is.
inline constexpr llvm::StringLiteral rangeAttrName = "equivalence.range";

/// A tensor that is computed from integers, for all values of these at once.
///
/// An integer x with values in a range is the mixture of the numbers v of the
/// range, with weights w_v that add up to 1: `sum over v of w_v f(v)` stands
/// for f(x). It is f(x) if one weight is 1 and all others are 0, so what holds
/// for all weights holds for all integers.
///
/// A range has two dims: with a period of P, the number at q and r is
/// `low + q P + r`, so that remainders and quotients by divisors of P are
/// simple.
struct Mixture {
  /// The value for each number of each range: the dims of the tensor, and then
  /// two for each of `weights`.
  mlir::Value table;
  /// The weights of each integer that the elements are computed from, in f64:
  /// the dims of the tensor, and then those of the range. Equal weights are the
  /// same value.
  llvm::SmallVector<mlir::Value, 2> weights;
  /// The least number of the range, a multiple of its period, if the table
  /// holds the numbers themselves.
  std::optional<int64_t> low;
  /// Numbers between which all elements of a table of integers are.
  double least = 0, most = 0;

  explicit operator bool() const { return table != nullptr; }
};

/// Builds mixtures and computes with them.
class MixtureBuilder {
public:
  explicit MixtureBuilder(mlir::OpBuilder &builder) : builder(builder) {}

  /// The number of the input whose integers the next sources are, or -1.
  void setInput(int64_t number) { input = number; }
  /// Returns the mixture of the integers in [low, high) with weights that are
  /// unknown functions of the elements of `key`, a tensor of floats, as
  /// elements of type `elementType`.
  Mixture createSource(mlir::Location loc, mlir::Value key, int64_t low,
                       int64_t high, int64_t period, mlir::Type elementType);
  /// Returns a key for all elements along a dim of a value together, in place
  /// of the dim: an unknown function of them and of their places, another one
  /// for each name of a function. It differs where any of them differ.
  mlir::Value createKey(mlir::Location loc, mlir::Value value, int64_t dim,
                        llvm::StringRef function);
  /// Returns a key for each of `size` results of a key, along `dim`.
  mlir::Value createKeys(mlir::Location loc, mlir::Value key, int64_t dim,
                         int64_t size);
  /// Returns the remainders of the numbers that a table holds by a divisor of
  /// their period, or their quotients, rounded down.
  mlir::Value getRemainders(mlir::Location loc, const Mixture &numbers,
                            int64_t divisor);
  mlir::Value getQuotients(mlir::Location loc, const Mixture &numbers,
                           int64_t divisor);
  /// Returns the mixture with one value for all weights like those of `like`.
  Mixture createConstant(mlir::Location loc, mlir::Value value,
                         const Mixture &like);

  /// Returns the table of a mixture with the weights `own`, or a value without
  /// weights, as a table over `weights`: with dims of size 1 for the ranges
  /// that it does not depend on.
  mlir::Value align(mlir::Location loc, mlir::Value table,
                    llvm::ArrayRef<mlir::Value> own,
                    llvm::ArrayRef<mlir::Value> weights);
  /// Moves the dims of ranges, which are the last ones, to the front, or back.
  mlir::Value moveRanges(mlir::Location loc, mlir::Value table,
                         int64_t numRanges, bool toFront);
  /// Repeats the weights of a mixture along dims that a result of this shape
  /// has in addition.
  mlir::Value expandWeights(mlir::Location loc, mlir::Value weights,
                            llvm::ArrayRef<int64_t> shape);

  /// The element type of numbers that stand for integers which are not known.
  /// Programs compute with no floats of this type, so the prover takes these
  /// for whole.
  mlir::Type getNumberType() { return builder.getF128Type(); }
  /// Returns the element that a mixture stands for: a number in place of an
  /// integer, an unknown truth value, or a float.
  mlir::Value collapse(mlir::Location loc, const Mixture &mixture);
  /// Returns `value` as numbers.
  mlir::Value toNumber(mlir::Location loc, mlir::Value value);

  mlir::Value map(mlir::Location loc, tp::MapFunction function,
                  mlir::ValueRange operands, mlir::Type elementType);
  mlir::Value reshape(mlir::Location loc, mlir::Value value,
                      llvm::ArrayRef<int64_t> shape) {
    return view(loc, value, shape, /*repeats=*/false);
  }
  mlir::Value broadcast(mlir::Location loc, mlir::Value value,
                        llvm::ArrayRef<int64_t> shape) {
    return view(loc, value, shape, /*repeats=*/true);
  }
  mlir::Value cast(mlir::Location loc, mlir::Value value, mlir::Type type);
  mlir::Value iota(mlir::Location loc, int64_t start, int64_t size,
                   int64_t step = 1);
  mlir::Value integer(mlir::Location loc, int64_t number);
  mlir::Value sum(mlir::Location loc, mlir::Value value,
                  llvm::ArrayRef<int64_t> dims, bool keepsDims);
  mlir::Value constant(mlir::Location loc, double number);
  mlir::Value permute(mlir::Location loc, mlir::Value value,
                      llvm::ArrayRef<int64_t> permutation);
  mlir::Value multiply(mlir::Location loc, mlir::Value lhs, mlir::Value rhs,
                       mlir::Type elementType);
  mlir::Value concat(mlir::Location loc, mlir::ValueRange values, int64_t dim);
  /// Copies an op with other operands.
  mlir::Operation *copy(mlir::Operation *op, mlir::ValueRange operands);
  /// An unknown function of numbers, another one for each `name`.
  mlir::Value applyUnknown(mlir::Location loc, mlir::Value value, double name);
  /// Applies an op that moves elements to tensors whose last dims are those of
  /// ranges. Ops that do the same to the same operands are one.
  mlir::Value move(mlir::Operation *op, mlir::ValueRange operands,
                   llvm::ArrayRef<int64_t> rangeSizes);

private:
  /// Returns a fraction for each place along a dim of a tensor. The weights of
  /// an integer are asked for at whole numbers.
  mlir::Value getPlaces(mlir::Location loc, llvm::ArrayRef<int64_t> shape,
                        int64_t dim);
  /// Returns a value in another shape, or repeated to it.
  mlir::Value view(mlir::Location loc, mlir::Value value,
                   llvm::ArrayRef<int64_t> shape, bool repeats);
  /// Returns the numbers along a dim of the range of integers that are created.
  mlir::Value createDim(mlir::Location loc, int64_t start, int64_t size,
                        int64_t step, unsigned number);

  mlir::OpBuilder &builder;
  int64_t input = -1;
  /// The name, properties and type of an op, and its operands.
  using MoveKey =
      std::tuple<void *, const void *, const void *, std::vector<void *>>;
  std::map<MoveKey, mlir::Value> moved;
  /// Views, by operand, kind and shape.
  using ViewKey = std::tuple<void *, bool, std::vector<int64_t>>;
  std::map<ViewKey, mlir::Value> views;
  llvm::DenseMap<mlir::Value, mlir::Value> collapsed;
};

/// Returns the shape of a tensor.
inline llvm::ArrayRef<int64_t> getShape(mlir::Value value) {
  return tp::getTensor(value).getShape();
}

/// Returns the value that this one repeats, or itself.
mlir::Value stripBroadcasts(mlir::Value value);

/// Returns `shape` followed by `sizes`; nullopt if such a tensor would have
/// more elements than can be counted.
std::optional<llvm::SmallVector<int64_t>>
appendSizes(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> sizes);

/// A range has so many dims.
inline constexpr size_t dimsOfRange = 2;

/// Returns the sizes of the dims of the ranges of weights, range after range.
llvm::SmallVector<int64_t> getRangeSizes(llvm::ArrayRef<mlir::Value> weights);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_MIXTURES_H
