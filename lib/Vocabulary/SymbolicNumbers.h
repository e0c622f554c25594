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

/// What the search for a number may ask of the graph that is being written.
class NumberWriter {
public:
  virtual ~NumberWriter() = default;
  /// The name of a value that has been written; empty for any other.
  virtual llvm::StringRef findWritten(mlir::Value value) = 0;
  /// A new name for a number.
  virtual llvm::StringRef makeNumberName(llvm::StringRef base) = 0;
  /// Adds a node whose result, of this name, is this number.
  virtual void addNumber(archive::Node node, llvm::StringRef name,
                         const tp::Size &size, mlir::Location location) = 0;
};

/// The values of a graph that are symbolic numbers. A new node that states a
/// symbolic size (a reshape's) takes it from a number that the graph computes,
/// else from a dim of a tensor that has this size, else it is computed from
/// such numbers.
class SymbolicNumbers {
public:
  SymbolicNumbers(mlir::func::FuncOp function, const archive::Graph &graph,
                  TensorMetadata &metadata, NumberWriter &writer)
      : function(function), graph(graph), metadata(metadata), writer(writer) {}

  /// The argument that states `factor` times the size of a dim; nullopt where
  /// nothing in the graph says how long that is.
  std::optional<archive::Argument> get(mlir::RankedTensorType type,
                                       unsigned dim, int64_t factor,
                                       mlir::Location location);

private:
  std::optional<archive::Argument> get(const tp::Size &size,
                                       mlir::Location location);
  /// The name of a value that is this number; empty where there is none.
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
