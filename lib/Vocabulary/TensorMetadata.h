//===- TensorMetadata.h - what a graph states of new tensors ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_TENSORMETADATA_H
#define COMMUTE_LIB_VOCABULARY_TENSORMETADATA_H

#include "commute/Archive/Program.h"
#include "commute/Dialect/SymbolicSize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::vocabulary {

/// Makes the metadata of tensors that were not in the source graph, with sizes
/// as the file writes them.
class TensorMetadata {
public:
  TensorMetadata(mlir::func::FuncOp function, archive::Program &program);

  archive::TensorMeta get(mlir::RankedTensorType type, bool requiresGrad);
  archive::SymInt getSize(const tp::Size &size);
  /// The sizes of tensors and the numbers of the graph, in one space.
  tp::Sizes getSizes(mlir::RankedTensorType type) {
    return symbols.getSizes(type);
  }
  tp::Size readNumber(const archive::SymInt &number);
  /// Where the graph's tensors are.
  const archive::Device &getDevice() const { return device; }

private:
  archive::Program &program;
  tp::SymbolSpace symbols;
  /// Sizes as the file writes them, by expression.
  llvm::DenseMap<mlir::AffineExpr, archive::SymInt> writtenSizes;
  llvm::DenseMap<llvm::StringRef, int64_t> symbolHints;
  archive::Device device;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_TENSORMETADATA_H
