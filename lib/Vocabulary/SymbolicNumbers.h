//===- SymbolicNumbers.h - symbolic sizes as values of a graph --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_SYMBOLICNUMBERS_H
#define COMMUTE_LIB_VOCABULARY_SYMBOLICNUMBERS_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/SymbolicSize.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::vocabulary {

class TensorMetadata;

/// The graph being written, as SymbolicNumbers sees it.
class NumberWriter {
public:
  virtual ~NumberWriter() = default;
  /// Returns the name of a value that has been written, or an empty string.
  virtual llvm::StringRef findWritten(mlir::Value value) = 0;
  /// Returns an unused name for a number.
  virtual llvm::StringRef makeNumberName(llvm::StringRef base) = 0;
  /// Adds a node whose result is the number `size` and is called `name`.
  virtual void addNumber(archive::Node node, llvm::StringRef name,
                         const tp::Size &size, mlir::Location location) = 0;
};

/// Finds or computes the symbolic numbers of a graph. When a new node needs a
/// symbolic size (such as a reshape), the size is taken from a number that the
/// graph computes, or from a dim of a tensor that has this size, or is computed
/// from such numbers.
class SymbolicNumbers {
public:
  SymbolicNumbers(mlir::func::FuncOp function, const archive::Graph &graph,
                  TensorMetadata &metadata, NumberWriter &writer)
      : function(function), graph(graph), metadata(metadata), writer(writer) {}

  /// Returns an argument that holds `factor` times the size of a dim, or
  /// nullopt if nothing in the graph determines the size.
  std::optional<archive::Argument> get(mlir::RankedTensorType type,
                                       unsigned dim, int64_t factor,
                                       mlir::Location location);

private:
  std::optional<archive::Argument> get(const tp::Size &size,
                                       mlir::Location location);
  /// Returns the name of a value that holds this number, or an empty string.
  llvm::StringRef getName(mlir::AffineExpr size, mlir::Location location);
  llvm::StringRef find(mlir::AffineExpr size, mlir::Location location);
  llvm::StringRef compute(mlir::AffineExpr size, mlir::Location location);
  llvm::StringRef add(archive::Node node, llvm::StringRef base,
                      const tp::Size &size, mlir::Location location);

  mlir::func::FuncOp function;
  const archive::Graph &graph;
  TensorMetadata &metadata;
  NumberWriter &writer;
  llvm::DenseMap<mlir::AffineExpr, llvm::StringRef> names;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SYMBOLICNUMBERS_H
