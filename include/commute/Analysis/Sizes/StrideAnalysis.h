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

/// The known facts about a value's layout.
struct LayoutFact {
  tp::Density density = tp::Density::Unknown;
  /// The reason, as the end of a sentence ("the result of a collective is
  /// dense").
  std::string reason;
};

/// The strides of all values of a function. Those of arguments are stated by
/// their types. Those of results are inferred from the operands by the ops'
/// stride rules. If an op has no rule for a result, the result has the strides
/// of its type, which PyTorch recorded at capture. If rule and type disagree,
/// one of them is wrong, and the strides are unknown.
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
    /// The op has a rule, and the type agrees with it.
    Inferred,
    /// The op has no rule for these operands; the strides are those of the
    /// type.
    Recorded,
    /// Rule and type disagree, so the strides are unknown.
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
