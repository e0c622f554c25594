//===- TensorTypes.h - types of a graph's tensors ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_TENSORTYPES_H
#define COMMUTE_LIB_VOCABULARY_TENSORTYPES_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/SymbolicSize.h"

#include <map>

namespace commute::vocabulary {

/// The types that a graph's metadata states.
class TensorTypes {
public:
  TensorTypes(const archive::Graph &graph, tp::SymbolSpace &symbols)
      : graph(graph), symbols(symbols) {}

  /// Returns the type of a value; null if it has no metadata or is not a
  /// strided tensor of a known element type.
  mlir::RankedTensorType get(llvm::StringRef name);

private:
  mlir::RankedTensorType read(const archive::TensorMeta &meta,
                              mlir::Type element);

  const archive::Graph &graph;
  tp::SymbolSpace &symbols;
  llvm::DenseMap<llvm::StringRef, mlir::RankedTensorType> types;
  /// By element type, sizes and strides: most tensors have one of few types.
  std::map<std::pair<const void *, llvm::SmallVector<int64_t, 8>>,
           mlir::RankedTensorType>
      staticTypes;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_TENSORTYPES_H
