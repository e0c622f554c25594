//===- TensorMetadata.h - metadata of new tensors ---------------*- C++ -*-===//
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

/// Creates the metadata of tensors that the source graph does not have, with
/// sizes spelled as in the file.
class TensorMetadata {
public:
  TensorMetadata(mlir::func::FuncOp function, archive::Program &program);

  archive::TensorMeta get(mlir::RankedTensorType type, bool requiresGrad);
  archive::SymInt getSize(const tp::Size &size);
  /// Returns sizes in the symbol space that is shared with the graph's numbers.
  tp::Sizes getSizes(mlir::RankedTensorType type) {
    return symbols.getSizes(type);
  }
  tp::Size readNumber(const archive::SymInt &number);
  /// The device of the graph's tensors.
  const archive::Device &getDevice() const { return device; }

private:
  archive::Program &program;
  tp::SymbolSpace symbols;
  /// Spelling of sizes in the file, by expression.
  llvm::DenseMap<mlir::AffineExpr, archive::SymInt> writtenSizes;
  llvm::DenseMap<llvm::StringRef, int64_t> symbolHints;
  archive::Device device;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_TENSORMETADATA_H
