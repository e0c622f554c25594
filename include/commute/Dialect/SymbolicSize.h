//===- SymbolicSize.h - sizes and strides as expressions --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Sizes and strides of tensors, numbers or expressions over named symbols, and
// the arithmetic that PyTorch does on them.
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

/// A size or a stride: a number, an expression over symbols, or not known.
/// Nearly all are numbers. They are kept as such, because a context makes
/// expressions unique, which costs more than all that is asked of most of them.
class Size {
public:
  /// Of which nothing is known.
  Size() = default;
  /// What MLIR writes for a dynamic size is not known.
  Size(int64_t number) : number(number) {}
  /// A null expression is not known.
  Size(mlir::AffineExpr expression);

  /// Whether anything is known of it.
  explicit operator bool() const { return number != none || expression; }
  std::optional<int64_t> getConstant() const {
    return number == none ? std::nullopt : std::optional(number);
  }
  /// Null for a number, and for what is not known.
  mlir::AffineExpr getSymbolic() const { return expression; }
  /// Null for what is not known.
  mlir::AffineExpr getExpression(mlir::MLIRContext *context) const;

  /// Whether both are spelled in one way.
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
/// Strides in elements, one a dim, all of them known; nullopt when they are
/// not.
using Strides = std::optional<llvm::SmallVector<Size, 4>>;

/// Sizes and strides of one tensor.
struct StridedShape {
  Sizes sizes;
  Strides strides;
};

/// The value of a symbol, for turning symbolic sizes into numbers; nullopt for
/// a symbol that is not known.
using SymbolValues =
    llvm::function_ref<std::optional<int64_t>(llvm::StringRef)>;

/// Numbers the symbols of several tensors, so that their sizes and strides can
/// be compared: equal names are equal symbols, and equal expressions of one
/// space are equal sizes.
class SymbolSpace {
public:
  explicit SymbolSpace(mlir::MLIRContext *context) : context(context) {}

  mlir::MLIRContext *getContext() const { return context; }
  mlir::AffineExpr getSymbol(mlir::StringAttr name);
  llvm::ArrayRef<mlir::StringAttr> getNames() const { return names; }

  Sizes getSizes(mlir::RankedTensorType type);
  Strides getStrides(mlir::RankedTensorType type);
  StridedShape getShape(mlir::RankedTensorType type);

  /// The tensor type with these sizes and strides, in the canonical form of
  /// `#tp.layout`: no encoding for a static dense tensor.
  mlir::RankedTensorType getType(mlir::Type elementType,
                                 llvm::ArrayRef<Size> sizes,
                                 const Strides &strides) const;

private:
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::StringAttr> names;
  llvm::DenseMap<mlir::StringAttr, unsigned> positions;
};

/// Product that may multiply symbols with each other. Not known where an
/// operand is not, or where it cannot be counted in 64 bits.
Size multiply(const Size &lhs, const Size &rhs);
/// The product of all of them: the number of elements of a tensor.
Size multiply(llvm::ArrayRef<Size> sizes);
/// Sum, in the same way.
Size add(const Size &lhs, const Size &rhs);
/// The constant that a size is, or nullopt.
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
/// nullopt for sums, remainders and the like.
std::optional<Monomial> getMonomial(const Size &size);
/// `lhs / rhs` where it provably leaves no remainder, else not known.
Size divideExactly(const Size &lhs, const Size &rhs);

/// Whether two sizes are certainly different; false for what is not known.
bool areDifferent(const Size &lhs, const Size &rhs);

/// The value of a size at these values of the symbols named `names`.
std::optional<int64_t> evaluate(const Size &size,
                                llvm::ArrayRef<mlir::StringAttr> names,
                                SymbolValues symbols);
/// Size of `dim`, or number of elements of a tensor type, at these values.
std::optional<int64_t> evaluateSize(mlir::RankedTensorType type, unsigned dim,
                                    SymbolValues symbols);
std::optional<int64_t> evaluateNumElements(mlir::RankedTensorType type,
                                           SymbolValues symbols);

/// Whether a tensor certainly has one element: every size is the number 1. Asks
/// for no product of the sizes, which MLIR has for static shapes only.
bool hasOneElement(mlir::RankedTensorType type);

/// Prints a size with the symbols' names.
void printSize(llvm::raw_ostream &os, const Size &size,
               llvm::ArrayRef<mlir::StringAttr> names);

//===----------------------------------------------------------------------===//
// Strides, as PyTorch's kernels make them
//===----------------------------------------------------------------------===//

/// Strides of a dense row-major tensor; nullopt when a size that matters is
/// not known.
Strides getContiguousStrides(llvm::ArrayRef<Size> sizes);

/// Whether these are they.
bool areContiguousStrides(llvm::ArrayRef<Size> strides,
                          llvm::ArrayRef<Size> sizes);
/// Whether a type says without any expression that its tensors are dense and
/// row-major: most do, and nothing more need be asked of them.
inline bool isStaticDense(mlir::RankedTensorType type) {
  return !type.getEncoding() && type.hasStaticShape();
}

enum class Density {
  /// Dense in row-major order, whatever the symbols are.
  Dense,
  /// Certainly not.
  Strided,
  /// Depends on symbols, or on strides that are not known.
  Unknown,
};
/// PyTorch's `is_contiguous`: dims of size 1 may have any stride, and a tensor
/// without elements is dense.
Density getDensity(const StridedShape &shape);

/// Strides of the result of an elementwise kernel (TensorIterator): those of
/// the operands where they agree, else dense in the order of the operands'
/// strides.
Strides getElementwiseStrides(llvm::ArrayRef<StridedShape> operands,
                              llvm::ArrayRef<Size> resultSizes);

/// Strides after reading the elements under other sizes: a view where the
/// strides allow it, else a dense copy.
Strides getReshapedStrides(const StridedShape &shape,
                           llvm::ArrayRef<Size> resultSizes);

/// Strides of a copy that keeps the order of dims where the operand is dense
/// in some order (PyTorch's preserve_format).
Strides getPreservedStrides(const StridedShape &shape);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SYMBOLICSIZE_H
