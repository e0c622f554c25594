//===- PipelineFusion.h - collectives that go with products -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_PRODUCTS_PIPELINEFUSION_H
#define COMMUTE_ANALYSIS_PRODUCTS_PIPELINEFUSION_H

#include "commute/Analysis/Legal.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <string>

namespace commute::analysis {

/// Facts about a function that both searches share.
class FusionContext {
public:
  explicit FusionContext(mlir::func::FuncOp function) : function(function) {}

  /// Returns true if an op strictly between the two writes into one of its
  /// operands, so that an op moved past it might read different values.
  bool writesBetween(mlir::Operation *first, mlir::Operation *last);

private:
  bool isWriter(mlir::Operation *op);

  mlir::func::FuncOp function;
  /// The kinds of ops that may write: few do, and to ask for an interface takes
  /// time.
  llvm::SmallDenseMap<mlir::OperationName, bool, 64> mayWrite;
  /// Ops that write into an operand, in order. Found when first needed.
  std::optional<llvm::SmallVector<mlir::Operation *>> writers;
};

/// A matrix product with a gathered operand.
struct GatheredProduct {
  tp::MatmulOp matmul;
  /// The gathered value is the right operand: the product is computed
  /// transposed.
  bool isRightOperand = false;
};

/// Positions along a dim: [begin, end).
struct PieceRange {
  int64_t begin;
  int64_t end;
};

/// An all_gather that is fused with matrix products:
///
///     g = all_gather(x, axis);  y_i = reshape(g) @ b_i   (reshapes of all dims
///                                                         but the last)
///
/// With `pieces`, g is the concatenation of these pieces of the all_gather.
/// Along a dim of rows, the rows of the products are arranged the same way.
/// Along the contraction dimension, the pieces cover every position exactly
/// once, and the rows of b_i are reordered to match.
///
/// The products, at least one. Each right-hand side is one matrix for all rows
/// and does not depend on `g`. If products have scales, they have the same
/// scale of `g`.
struct GatherFusion {
  tp::AllGatherOp gather;
  /// The dim along which the fused op gathers: that of the collective, unless
  /// there are pieces.
  int64_t axis = 0;
  /// The values through which the gathered value is used: results of waits or
  /// of the gather, or the value that the pieces form.
  llvm::SmallVector<mlir::Value> gathered;
  /// The pieces along `axis`; empty if the gathered value is used unchanged.
  llvm::SmallVector<PieceRange> pieces;
  /// The ops that concatenate the pieces, in order. Their results have no other
  /// users.
  llvm::SmallVector<mlir::Operation *> reassembly;
  llvm::SmallVector<GatheredProduct> products;
  /// True if all products sum over the rows of the gathered matrix, so that its
  /// transpose is gathered instead.
  bool transposesShard = false;
  /// True if the products sum over the gathered dim.
  bool contracts = false;
  /// True if the gathered value has other users, so that the fused op must
  /// return it.
  bool returnsGathered = false;
  /// The scale of this rank's shard; null if there is none. It has one element,
  /// or one for each row, which is then gathered along the same dim.
  mlir::Value shardScale;
  /// The first user of the results; the fused op is inserted before it.
  mlir::Operation *position = nullptr;
  /// Ops after `position` that the fused op depends on, in program order; all
  /// can be moved before `position`.
  llvm::SmallVector<mlir::Operation *> hoisted;
};

/// A reduce_scatter that is fused with the matrix products it sums:
///
///     reduce_scatter(reshape(a_0 @ b_0 + a_1 @ b_1 + ...), axis)
///
/// The sums and products have no other users. If there are several products,
/// none has scales. Biases, which are the same for every row of the sum, are
/// added after the fused op. With `pieces`, these pieces of the sum are
/// scattered, one to each rank: the fused op multiplies the corresponding
/// columns of every b_i, or rows of every a_i.
struct ScatterFusion {
  tp::ReduceScatterOp scatter;
  /// The dim of the sum along which the fused op scatters: that of the
  /// collective, unless there are pieces.
  int64_t axis = 0;
  /// The scattered value, or the value that its pieces are taken from.
  mlir::Value scattered;
  /// The pieces along `axis`; empty if the sum is scattered unchanged.
  llvm::SmallVector<PieceRange> pieces;
  /// The ops that concatenate the pieces, in order.
  llvm::SmallVector<mlir::Operation *> reassembly;
  llvm::SmallVector<tp::MatmulOp> products;
  /// Tensors of one row, or of one element, that are added to every row.
  llvm::SmallVector<mlir::Value> biases;
};

/// Appends a refusal to `products` for each product that cannot be fused,
/// whether or not others can. If there is no other reason, the result is not
/// applicable.
Legal<GatherFusion> findGatherFusion(tp::AllGatherOp gather,
                                     FusionContext &context,
                                     llvm::SmallVectorImpl<Refusal> &products);

Legal<ScatterFusion> findScatterFusion(tp::ReduceScatterOp scatter,
                                       FusionContext &context);

/// Returns the products that a gather of `value` along `dim` would be fused
/// with, if `value` has no other users. For the price model only: unlike
/// `findGatherFusion`, this does not check the order of ops.
llvm::SmallVector<tp::MatmulOp> findGatherableProducts(mlir::Value value,
                                                       unsigned dim);
/// Returns the product or products that a reduce_scatter of `value` would be
/// fused with; none if the value is not computed by products.
llvm::SmallVector<tp::MatmulOp> findScatterableProducts(mlir::Value value);

/// Returns the matrix [K, N] (or [N, K] with `isTransposed`) by which a product
/// multiplies every row: its right operand, without batch dims that have size 1
/// or only repeat it. Returns null if batches have different matrices.
mlir::Value getRightMatrix(tp::MatmulOp matmul);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PRODUCTS_PIPELINEFUSION_H
