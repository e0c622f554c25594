//===- ProductParts.h - dims that are made of parts -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Traces the elements of a value along one dim to their origins and their
// users, through ops that treat all positions of that dim alike.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_PRODUCTS_PRODUCTPARTS_H
#define COMMUTE_ANALYSIS_PRODUCTS_PRODUCTPARTS_H

#include "commute/Analysis/Placements/PlacementAnalysis.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <string>

namespace commute::analysis {

/// An op with one operand and one result that applies the same function at
/// every position of a dim: its result on a part is that part of its result on
/// the whole.
struct DimStep {
  mlir::Operation *op;
  unsigned operandDim;
  unsigned resultDim;
};

/// Returns the step that `op` is for a dim of its operand, or of its result;
/// nullopt if it mixes positions, moves data between ranks, or has side
/// effects.
std::optional<DimStep> findStepFrom(mlir::Operation *op, unsigned operandDim);
std::optional<DimStep> findStepTo(mlir::Operation *op, unsigned resultDim);

/// A dim of a value as a concatenation of tensors:
///
///     value = steps(concat(parts, dim))
///
/// or, of one part, `steps(gather)` for an all_gather along that dim.
struct DimParts {
  llvm::SmallVector<mlir::Value> parts;
  /// The dim along which the parts are concatenated.
  unsigned dim;
  /// The ops from the value that joins the parts to the value, in this order.
  llvm::SmallVector<DimStep> steps;
  /// What joins the parts.
  mlir::Operation *source;
};
std::optional<DimParts> findDimParts(mlir::Value value, unsigned dim);

/// Returns the all_gather along `dim` that computes a value, possibly through a
/// wait; null if there is none.
tp::AllGatherOp findGatherAlong(mlir::Value value, unsigned dim);

/// A product that a value reaches as an operand, along a dim of the value.
struct ProductReader {
  tp::MatmulOp product;
  /// The factor of the product's dimension rule that the dim runs along.
  unsigned factor;
};
/// The ops that a value reaches through steps that keep a dim.
struct DimReaders {
  llvm::SmallVector<ProductReader> products;
  /// Slices along the dim.
  llvm::SmallVector<tp::SliceOp> slices;
  /// Direct users of the value through which it reaches an op that is neither
  /// a product nor a slice.
  llvm::SmallVector<mlir::Operation *> others;
};
DimReaders findDimReaders(mlir::Value value, unsigned dim);

/// Returns the factor of a dim; nullopt if it has no or several factors.
std::optional<unsigned> getOnlyFactor(const tp::DimensionRule::TensorFactors &,
                                      unsigned dim);
/// Returns the dim of a tensor that consists of a single factor; nullopt if
/// there is none.
std::optional<unsigned>
findDimOfFactor(const tp::DimensionRule::TensorFactors &, unsigned factor);

/// The positions of ops of a block relative to those that write into memory.
class WriteOrder {
public:
  explicit WriteOrder(mlir::func::FuncOp function);
  /// Returns true if an op between the two writes into one of its operands, in
  /// which case a value computed at one place may differ at the other.
  bool isWriteBetween(mlir::Operation *first, mlir::Operation *last) const {
    return numWriters.lookup(first) != numWriters.lookup(last);
  }
  /// Records that `op` was inserted before `other`.
  void addInFront(mlir::Operation *op, mlir::Operation *other);
  /// Positions ascend in program order. New ops inserted before the same op are
  /// ordered by insertion.
  std::pair<unsigned, unsigned> getPosition(mlir::Operation *op) const {
    return positions.lookup(op);
  }
  /// Returns true if an op was added after the function was analyzed.
  bool isNew(mlir::Operation *op) const { return added.contains(op); }

private:
  /// The number of writing ops before each op.
  llvm::DenseMap<mlir::Operation *, unsigned> numWriters;
  llvm::DenseMap<mlir::Operation *, std::pair<unsigned, unsigned>> positions;
  llvm::DenseSet<mlir::Operation *> added;
  /// Not the size of `added`: a new op may have the address of an erased one.
  unsigned numAdded = 0;
};

/// Facts about a function that all searches for products of parts share.
class ProductContext {
public:
  explicit ProductContext(mlir::func::FuncOp function);

  tp::SymbolSpace &getSymbols() { return symbols; }
  tp::Sizes getSizes(mlir::Value value) {
    return symbols.getSizes(
        mlir::cast<mlir::RankedTensorType>(value.getType()));
  }
  WriteOrder &getWriteOrder() { return writeOrder; }
  const WriteOrder &getWriteOrder() const { return writeOrder; }
  /// Returns true if a block of a value can be selected by the rank's position.
  bool isRankSpecific() const { return rankSpecific; }
  /// Returns true if all ranks of a group certainly hold the same value.
  /// Returns false for values created since the analysis.
  bool isReplicated(mlir::Value value, tp::GroupAttr group);

private:
  mlir::func::FuncOp function;
  tp::SymbolSpace symbols;
  WriteOrder writeOrder;
  bool rankSpecific;
  /// Computed on first use; null if the input placements are contradictory.
  bool isAnalyzed = false;
  std::optional<PlacementAnalysis> placements;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PRODUCTS_PRODUCTPARTS_H
