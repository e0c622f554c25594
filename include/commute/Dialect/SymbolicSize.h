//===- SymbolicSize.h - sizes and strides as expressions --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Sizes and strides of tensors, which are numbers or expressions over named
// symbols, and PyTorch's arithmetic on them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_SYMBOLICSIZE_H
#define COMMUTE_DIALECT_SYMBOLICSIZE_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace commute::tp {

/// A size or a stride: a number, an expression over symbols, or unknown.
/// Numbers are stored as such: nearly all sizes are numbers, and uniquing an
/// expression in the context would cost more than all other work on most of
/// them.
class Size {
public:
  /// Creates an unknown size.
  Size() = default;
  /// ShapedType::kDynamic becomes an unknown size.
  Size(int64_t number) : number(number) {}
  /// A null expression becomes an unknown size.
  Size(mlir::AffineExpr expression);

  /// Returns true if the size is known.
  explicit operator bool() const { return number != none || expression; }
  std::optional<int64_t> getConstant() const {
    return number == none ? std::nullopt : std::optional(number);
  }
  /// Returns null for a number and for an unknown size.
  mlir::AffineExpr getSymbolic() const { return expression; }
  /// Returns null for an unknown size.
  mlir::AffineExpr getExpression(mlir::MLIRContext *context) const;

  /// Returns true if both are the same number or the same expression.
  bool operator==(const Size &other) const {
    return number == other.number && expression == other.expression;
  }
  bool operator!=(const Size &other) const { return !(*this == other); }

private:
  /// No tensor has this size or stride.
  static constexpr int64_t none = mlir::ShapedType::kDynamic;

  int64_t number = none;
  /// Not a constant.
  mlir::AffineExpr expression;
};

using Sizes = llvm::SmallVector<Size, 4>;
/// Strides in elements, one for each dim; nullopt unless all are known.
using Strides = std::optional<llvm::SmallVector<Size, 4>>;

/// Sizes and strides of one tensor.
struct StridedShape {
  Sizes sizes;
  Strides strides;
};

/// Returns the value of a symbol, or nullopt for an unknown symbol.
using SymbolValues =
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef)>;

/// Numbers the symbols of several tensors consistently, so that their sizes and
/// strides can be compared: within one space, equal names are equal symbols,
/// and equal expressions are equal sizes.
class SymbolSpace {
public:
  explicit SymbolSpace(mlir::MLIRContext *context) : context(context) {}

  mlir::MLIRContext *getContext() const { return context; }
  mlir::AffineExpr getSymbol(mlir::StringAttr name);
  llvm::ArrayRef<mlir::StringAttr> getNames() const { return names; }

  Sizes getSizes(mlir::RankedTensorType type);
  Strides getStrides(mlir::RankedTensorType type);
  StridedShape getShape(mlir::RankedTensorType type);

  /// Returns the tensor type with these sizes and strides, with a canonical
  /// `#tp.layout`: a static dense tensor has no encoding.
  mlir::RankedTensorType getType(mlir::Type elementType,
                                 llvm::ArrayRef<Size> sizes,
                                 const Strides &strides) const;

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::StringAttr> names;
  llvm::DenseMap<mlir::StringAttr, unsigned> positions;
};

/// Returns the product, which may multiply symbols with each other. Unknown if
/// an operand is unknown or if the product does not fit in 64 bits.
Size multiply(const Size &lhs, const Size &rhs);
/// Returns the product of all sizes: the number of elements of a tensor.
Size multiply(llvm::ArrayRef<Size> sizes);
/// Returns the sum; unknown under the same conditions.
Size add(const Size &lhs, const Size &rhs);
/// Returns the value of a constant size, or nullopt.
inline std::optional<int64_t> getConstant(const Size &size) {
  return size.getConstant();
}
inline bool isConstant(const Size &size, int64_t value) {
  return size.getConstant() == value;
}

/// A product of a constant and symbols, in ascending order of the symbols.
struct Monomial {
  int64_t coefficient = 1;
  llvm::SmallVector<unsigned, 2> symbols;
};
/// Returns nullopt for sums, remainders and the like.
std::optional<Monomial> getMonomial(const Size &size);
/// Returns `lhs / rhs` if the division is provably exact; unknown otherwise.
Size divideExactly(const Size &lhs, const Size &rhs);

/// Returns true if two sizes are certainly different; false if one is unknown.
bool areDifferent(const Size &lhs, const Size &rhs);

/// Returns the value of a size for these values of the symbols named `names`.
std::optional<int64_t> evaluate(const Size &size,
                                llvm::ArrayRef<mlir::StringAttr> names,
                                SymbolValues symbols);
/// Return the size of `dim`, or the number of elements of a tensor type, for
/// these values.
std::optional<int64_t> evaluateSize(mlir::RankedTensorType type, unsigned dim,
                                    SymbolValues symbols);
std::optional<int64_t> evaluateNumElements(mlir::RankedTensorType type,
                                           SymbolValues symbols);

/// Returns true if a tensor certainly has one element: every size is the number
/// 1. Unlike getNumElements, this is legal for dynamic shapes.
bool hasOneElement(mlir::RankedTensorType type);

/// Prints a size with the symbols' names.
void printSize(llvm::raw_ostream &os, const Size &size,
               llvm::ArrayRef<mlir::StringAttr> names);

//===----------------------------------------------------------------------===//
// Strides, as PyTorch's kernels produce them
//===----------------------------------------------------------------------===//

/// Returns the strides of a dense row-major tensor, or nullopt if they depend
/// on an unknown size.
Strides getContiguousStrides(llvm::ArrayRef<Size> sizes);

/// Returns true if these are the strides of a dense row-major tensor.
bool areContiguousStrides(llvm::ArrayRef<Size> strides,
                          llvm::ArrayRef<Size> sizes);
/// Returns true if a type states without expressions that its tensors are dense
/// in row-major order. This is a fast path: most types do.
inline bool isStaticDense(mlir::RankedTensorType type) {
  return !type.getEncoding() && type.hasStaticShape();
}

enum class Density {
  /// Dense in row-major order for all values of the symbols.
  Dense,
  /// Certainly not dense in row-major order.
  Strided,
  /// Depends on symbols or on unknown strides.
  Unknown,
};
/// PyTorch's `is_contiguous`: dims of size 1 may have any stride, and a tensor
/// without elements is dense.
Density getDensity(const StridedShape &shape);

/// Returns the strides of the result of an elementwise kernel (TensorIterator):
/// those of the operands if all agree, else dense strides in the order of the
/// operands' strides.
Strides getElementwiseStrides(llvm::ArrayRef<StridedShape> operands,
                              llvm::ArrayRef<Size> resultSizes);

/// Returns the strides after a reshape: those of a view if the operand's
/// strides allow it, else those of a dense copy.
Strides getReshapedStrides(const StridedShape &shape,
                           llvm::ArrayRef<Size> resultSizes);

/// Returns the strides of a copy that keeps the order of dims if the operand is
/// dense in some order (PyTorch's preserve_format).
Strides getPreservedStrides(const StridedShape &shape);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SYMBOLICSIZE_H
