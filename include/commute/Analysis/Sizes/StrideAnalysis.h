//===- StrideAnalysis.h - the memory layout of values -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_SIZES_STRIDEANALYSIS_H
#define COMMUTE_ANALYSIS_SIZES_STRIDEANALYSIS_H

#include "commute/Dialect/SymbolicSize.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

#include <string>

namespace commute::analysis {

/// What is known of one value's layout.
struct LayoutFact {
  tp::Density density = tp::Density::Unknown;
  /// Why, as the end of a sentence ("the result of a collective is dense").
  std::string reason;
};

/// Strides of all values of a function: those of its arguments are as stated by
/// their types; those of results follow from the operands by the ops' stride
/// rules. A result for which an op has no rule has the strides of its type,
/// which is what PyTorch's own kernels reported at capture. Where rule and type
/// disagree one of them is wrong, and nothing is taken for known.
class StrideAnalysis {
public:
  explicit StrideAnalysis(mlir::FunctionOpInterface function);

  /// Computes the strides of the results of a new op from its operands.
  void add(mlir::Operation *op);

  const tp::StridedShape &getShape(mlir::Value value) const;
  LayoutFact getLayout(mlir::Value value) const;
  tp::SymbolSpace &getSymbols() { return symbols; }

private:
  enum class Source {
    /// An argument's type.
    Stated,
    /// An op's rule, which the type confirms.
    Inferred,
    /// The type of a result whose op has no rule for these operands.
    Recorded,
    /// Rule and type disagree.
    Contradicted,
  };
  struct Entry {
    tp::StridedShape shape;
    Source source = Source::Stated;
  };

  tp::SymbolSpace symbols;
  llvm::DenseMap<mlir::Value, Entry> entries;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_SIZES_STRIDEANALYSIS_H
