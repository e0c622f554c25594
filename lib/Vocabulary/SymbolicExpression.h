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

/// A part of a size that has no algebra: `Max(s0, 3)`, `s0//s1`, any function
/// that is not known. A symbol stands for it, the same one for the same part.
struct OpaquePart {
  enum class Function : uint8_t { Unknown, Max, Min, FloorDiv, CeilDiv, Mod };

  mlir::AffineExpr symbol;
  /// As the graph spells it.
  llvm::StringRef text;
  Function function = Function::Unknown;
  /// Of a known function.
  llvm::SmallVector<mlir::AffineExpr, 2> arguments;
};

/// The value of a part at these values of the symbols named `names`; nullopt
/// where that is not known.
std::optional<int64_t> evaluate(const OpaquePart &part,
                                llvm::ArrayRef<mlir::StringAttr> names,
                                tp::SymbolValues symbols);

/// Reads a size as PyTorch writes it: SymPy's srepr
/// ("Mul(Integer(8), Symbol('s77', positive=True, integer=True))") or infix
/// ("8*s77"). What is no sum, product, quotient or remainder of symbols and
/// numbers becomes a symbol of its own and is added to `parts`; text that is no
/// expression becomes a symbol as a whole.
tp::Size readSize(const archive::SymInt &size, tp::SymbolSpace &space,
                  llvm::SmallVectorImpl<OpaquePart> *parts = nullptr);

/// Reads a stride. PyTorch writes the strides of a dense tensor as products of
/// `Max(1, size)`, so that they are strides where it has no elements as well;
/// these are read as the sizes, for the strides of no elements do not matter.
tp::Size readStride(const archive::SymInt &stride, tp::SymbolSpace &space,
                    llvm::SmallVectorImpl<OpaquePart> *parts = nullptr);

/// The inverse, in srepr form. `getSpelling` gives the text of parts that the
/// graph spells out already: it has that of every opaque part.
std::string
writeSize(const tp::Size &size, llvm::ArrayRef<mlir::StringAttr> symbolNames,
          llvm::function_ref<std::optional<llvm::StringRef>(mlir::AffineExpr)>
              getSpelling);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SYMBOLICEXPRESSION_H
