//===- PartialProducts.h - products of parts --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A matrix product has factors: rows, columns and batches, which are parallel,
// and the contraction, which is a sum. Along each factor, it may be computed in
// segments, which are concatenated or added. The searches here find such
// segments in the program: operands that are concatenations, results of which
// slices are used, and concatenations of results. They only determine legality
// and do not use prices.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_PRODUCTS_PARTIALPRODUCTS_H
#define COMMUTE_ANALYSIS_PRODUCTS_PARTIALPRODUCTS_H

#include "commute/Analysis/Legal.h"
#include "commute/Analysis/Products/ProductParts.h"
#include "commute/Analysis/Sizes/SizePolynomial.h"

#include <vector>

namespace commute::analysis {

/// One operand of a product on one segment of a factor:
///
///     steps(range(base))
struct SegmentOperand {
  mlir::Value base;
  /// The dim of `base` that runs along the factor.
  unsigned dim = 0;
  llvm::SmallVector<DimStep> steps;
  /// A range of `base` that starts at `start`, counted in sizes of the segment
  /// if `countsBlocks`; otherwise, all of `base`.
  bool isSliced = false;
  int64_t start = 0;
  bool countsBlocks = false;

  /// The all_gather of `base` along `dim`, in whole segments; null if there is
  /// none.
  tp::AllGatherOp gather;
  /// The common value of all elements; null if there is none.
  mlir::TypedAttr fill;
  /// The value that `base` repeats along its leading dims (all but the last);
  /// null if it does not.
  mlir::Value repeated;
};

/// The part of an operand that each rank multiplies if the product of a segment
/// is partial.
enum class ShardSource {
  /// The whole operand, on every rank.
  Whole,
  /// The operand of the all_gather.
  Gathered,
  /// This rank's block, sliced at the rank's position.
  RankSlice,
};

/// A range of a product's factor.
struct ProductSegment {
  /// Over the symbols of the context.
  tp::Size size;
  /// One for each operand of the product; none for operands that do not run
  /// along the factor.
  std::vector<std::optional<SegmentOperand>> operands;
  /// Of left and right operand.
  ShardSource lhsSource = ShardSource::Whole, rhsSource = ShardSource::Whole;
  /// The ranks whose summands are added; null if there are no partial products.
  tp::GroupAttr group;
};

/// A product that can be computed in segments of one of its factors:
///
///     cat_k(a_0, a_1) @ b = a_0 @ b_0 + a_1 @ b_1
///     cat_m(a_0, a_1) @ b = cat_m(a_0 @ b, a_1 @ b)
///     gather_k(a) @ b = all_reduce(a @ rank_slice_k(b))
struct PartialProducts {
  tp::MatmulOp product;
  unsigned factor;
  /// The factor is the contraction: segments are added.
  bool contracts;
  /// Of the result, which runs along the factor; only if not `contracts`.
  unsigned resultDim = 0;
  std::vector<ProductSegment> segments;
};

/// Not applicable if no operand has parts along the factor.
Legal<PartialProducts> findPartialProducts(tp::MatmulOp product,
                                           unsigned factor,
                                           ProductContext &context);

/// A slice of a product's result, reached through `steps`.
struct ProductSlice {
  tp::SliceOp slice;
  /// The ops from the sliced value to the slice.
  llvm::SmallVector<DimStep> steps;
  /// The sliced dim of that value.
  unsigned resultDim;
};

/// A product of which only slices of the result are used:
///
///     slice_n(a @ b) = a @ slice_n(b)
struct SlicedProduct {
  tp::MatmulOp product;
  /// The reshape that regroups the product's rows, if the slices are those of
  /// a group: the product is then that of the regrouped rows. Null otherwise.
  tp::ReshapeOp rows;
  std::vector<ProductSlice> slices;

  /// The sliced value: the product's result, or the result with regrouped rows.
  mlir::Value getResult();
  /// Returns the dim of an operand, with its rows regrouped, that corresponds
  /// to a dim of the result; nullopt if there is none.
  std::optional<unsigned> getOperandDim(unsigned operand, unsigned resultDim);
};

/// Not applicable if the product has users other than slices.
Legal<SlicedProduct> findSlicedProduct(tp::MatmulOp product);

/// Neighbors in a concatenation that a single product can compute:
///
///     cat_n(a @ b_0, a @ b_1) = a @ cat_n(b_0, b_1)
struct JoinedRun {
  unsigned firstInput;
  llvm::SmallVector<tp::MatmulOp> products;
  /// Of all products; and the dim of their results that it is.
  unsigned factor;
  unsigned resultDim;
  /// The ops from the results to the concatenation, which are the same for all
  /// results; those of the first result.
  llvm::SmallVector<DimStep> steps;
};
struct JoinedProducts {
  tp::ConcatOp concat;
  std::vector<JoinedRun> runs;
};

/// Not applicable if no two neighbors are similar products.
Legal<JoinedProducts> findJoinedProducts(tp::ConcatOp concat,
                                         ProductContext &context);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PRODUCTS_PARTIALPRODUCTS_H
