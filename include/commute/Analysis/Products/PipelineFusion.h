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
  explicit FusionContext(mlir::func::FuncOp function);

  /// Its all_gathers and reduce_scatters, in order; not those of regions in it.
  llvm::ArrayRef<mlir::Operation *> getCollectives() const {
    return collectives;
  }
  /// Whether an op strictly between the two writes into one of its operands, so
  /// that an op moved past it might read other values.
  bool writesBetween(mlir::Operation *first, mlir::Operation *last) const;

private:
  llvm::SmallVector<mlir::Operation *> collectives;
  /// Ops that write into an operand, in order.
  llvm::SmallVector<mlir::Operation *> writers;
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
/// One product at least; all read one matrix a right-hand side, none of which
/// depends on `g`. Products with scales have the same scale of `g`.
struct GatherFusion {
  tp::AllGatherOp gather;
  /// Along which the fused op gathers: the collective's own but for pieces.
  int64_t axis = 0;
  /// The gathered value where it can be read: of waits, or of the gather, or
  /// what its pieces are.
  llvm::SmallVector<mlir::Value> gathered;
  /// Along `axis`; empty where the gathered value is read as it is.
  llvm::SmallVector<PieceRange> pieces;
  /// The ops that put them together, in order. Nothing else reads what they
  /// make.
  llvm::SmallVector<mlir::Operation *> reassembly;
  llvm::SmallVector<GatheredProduct> products;
  /// All products sum over the rows of the gathered matrix, so that its
  /// transposed form is what is gathered.
  bool transposesShard = false;
  /// The gathered dim is the one that the products sum over.
  bool contracts = false;
  /// The gathered value has other users, so the fused op must return it.
  bool returnsGathered = false;
  /// Scale of this rank's shard; null without. One element, or one a row, and
  /// then gathered along the same dim.
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
/// None of the sums and products has another reader. With more than one product
/// none has a bias or scales. With `pieces`, what is scattered are these pieces
/// of the sum, one for each rank: those of the columns of every b_i, or of the
/// rows of every a_i, are multiplied.
struct ScatterFusion {
  tp::ReduceScatterOp scatter;
  /// Of the sum, along which the fused op scatters: the collective's own but
  /// for pieces.
  int64_t axis = 0;
  /// What is scattered, or what its pieces are taken of.
  mlir::Value scattered;
  /// Along `axis`; empty where the sum is scattered as it is.
  llvm::SmallVector<PieceRange> pieces;
  /// The ops that put them together, in order.
  llvm::SmallVector<mlir::Operation *> reassembly;
  llvm::SmallVector<tp::MatmulOp> products;
};

/// Appends a refusal to `products` for each product that cannot be fused,
/// whether or not others can. If that is all there is to say, the result is not
/// applicable.
Legal<GatherFusion> findGatherFusion(tp::AllGatherOp gather,
                                     const FusionContext &context,
                                     llvm::SmallVectorImpl<Refusal> &products);

Legal<ScatterFusion> findScatterFusion(tp::ReduceScatterOp scatter,
                                       const FusionContext &context);

/// The products that a gather of `value` along `dim` would be fused with, if
/// `value` has no other users. For the price model only: unlike
/// `findGatherFusion`, this does not check the order of ops.
llvm::SmallVector<tp::MatmulOp> findGatherableProducts(mlir::Value value,
                                                       unsigned dim);
/// The product, or products, that a reduce_scatter of `value` would be fused
/// with; none where something else makes it.
llvm::SmallVector<tp::MatmulOp> findScatterableProducts(mlir::Value value);

/// The matrix [K, N] (or [N, K] with `isTransposed`) that a product multiplies
/// every row with: its right operand, without batch dims of size 1 or that
/// only repeat it. Null where batches have matrices of their own.
mlir::Value getRightMatrix(tp::MatmulOp matmul);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PRODUCTS_PIPELINEFUSION_H
