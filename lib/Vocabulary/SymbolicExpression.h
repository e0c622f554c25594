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

/// Reads a size as PyTorch writes it: SymPy's srepr
/// ("Mul(Integer(8), Symbol('s77', positive=True, integer=True))") or infix
/// ("8*s77"). What is no sum, product, quotient or remainder of symbols and
/// numbers becomes a symbol of its own, the same one for the same text.
tp::Size readSize(const archive::SymInt &size, tp::SymbolSpace &space);

/// The inverse, in srepr form. `getSpelling` gives the text of parts that the
/// graph spells out already: it has that of every expression which `readSize`
/// did not understand.
std::string
writeSize(const tp::Size &size, llvm::ArrayRef<mlir::StringAttr> symbolNames,
          llvm::function_ref<std::optional<llvm::StringRef>(mlir::AffineExpr)>
              getSpelling);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SYMBOLICEXPRESSION_H
