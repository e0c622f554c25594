//===- SymbolicExpression.h - SymPy text and affine expressions -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_SYMBOLICEXPRESSION_H
#define COMMUTE_LIB_VOCABULARY_SYMBOLICEXPRESSION_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/SymbolicSize.h"

#include <string>

namespace commute::vocabulary {

/// A subexpression that is not an affine expression: `Max(s0, 3)`, `s0//s1`, or
/// an unknown function. A symbol represents it; equal subexpressions share one
/// symbol.
struct OpaquePart {
  enum class Function : uint8_t { Unknown, Max, Min, FloorDiv, CeilDiv, Mod };

  mlir::AffineExpr symbol;
  /// The text in the graph.
  llvm::StringRef text;
  Function function = Function::Unknown;
  /// Arguments of a known function.
  llvm::SmallVector<mlir::AffineExpr, 2> arguments;
};

/// Evaluates a part for the values `symbols` of the symbols named `names`.
/// Returns nullopt if the value is unknown.
std::optional<int64_t> evaluate(const OpaquePart &part,
                                llvm::ArrayRef<mlir::StringAttr> names,
                                tp::SymbolValues symbols);

/// Parses a size as PyTorch writes it: SymPy's srepr ("Mul(Integer(8),
/// Symbol('s77', positive=True, integer=True))") or infix ("8*s77"). A
/// subexpression that is not a sum, product, quotient or remainder of symbols
/// and numbers is replaced by a new symbol and appended to `parts`. Text that
/// cannot be parsed becomes one symbol.
tp::Size readSize(const archive::SymInt &size, tp::SymbolSpace &space,
                  llvm::SmallVectorImpl<OpaquePart> *parts = nullptr);

/// Returns the symbolic number that a name denotes in a graph; empty if it
/// denotes none.
tp::Size getNumber(const archive::Graph &graph, llvm::StringRef name,
                   tp::SymbolSpace &space);

/// Parses a stride. PyTorch writes the strides of a dense tensor as products of
/// `Max(1, size)`, which are valid even if the tensor is empty. `Max(1, size)`
/// is read as `size`, because the strides of an empty tensor are irrelevant.
tp::Size readStride(const archive::SymInt &stride, tp::SymbolSpace &space,
                    llvm::SmallVectorImpl<OpaquePart> *parts = nullptr);

/// Writes a size in srepr form. `getSpelling` returns the text of a
/// subexpression that the graph contains already, and must do so for every
/// opaque part.
std::string
writeSize(const tp::Size &size, llvm::ArrayRef<mlir::StringAttr> symbolNames,
          llvm::function_ref<std::optional<llvm::StringRef>(mlir::AffineExpr)>
              getSpelling);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SYMBOLICEXPRESSION_H
