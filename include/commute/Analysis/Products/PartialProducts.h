//===- PartialProducts.h - products of parts --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A matrix product has factors: rows, columns and batches, which are parallel,
// and the contraction, which is a sum. Along each of them it may be computed in
// segments, which are concatenated or added. The searches here find where the
// program has such segments: operands that are concatenations, results of which
// slices are read, concatenations of results. They are pure, and know no price.
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
  /// Of `base`, which runs along the factor.
  unsigned dim = 0;
  llvm::SmallVector<DimStep> steps;
  /// A range of `base` from `start` on, which counts in sizes of the segment
  /// with `countsBlocks`; else all of it.
  bool isSliced = false;
  int64_t start = 0;
  bool countsBlocks = false;

  /// `base` is gathered along `dim`, in whole segments.
  tp::AllGatherOp gather;
  /// The common value of all elements; null if there is none.
  mlir::TypedAttr fill;
  /// What `base` repeats along its leading dims, all but the last; null where
  /// it does not.
  mlir::Value repeated;
};

/// Which part of an operand each rank multiplies when the product of a segment
/// is partial.
enum class ShardSource {
  /// The whole operand, on every rank.
  Whole,
  /// The operand of the all_gather.
  Gathered,
  /// This rank's block, sliced by the rank's number.
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
  /// The ranks whose summands are added; null where no rank has a summand.
  tp::GroupAttr group;
};

/// A product that may be computed in segments of one of its factors:
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
  /// From the value that is sliced to the slice.
  llvm::SmallVector<DimStep> steps;
  /// The dim of that value that is sliced.
  unsigned resultDim;
};

/// A product of whose result only slices are used:
///
///     slice_n(a @ b) = a @ slice_n(b)
struct SlicedProduct {
  tp::MatmulOp product;
  /// The rows of the product regrouped, where slices are those of a group: the
  /// product is then that of regrouped rows. Null where they are not.
  tp::ReshapeOp rows;
  std::vector<ProductSlice> slices;

  /// What is sliced: the product's result, or that with regrouped rows.
  mlir::Value getResult();
  /// The dim of an operand, with its rows regrouped, that belongs to a dim of
  /// the result; nullopt where it has none.
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
  /// From the results to the concatenation, alike for all; those of the first.
  llvm::SmallVector<DimStep> steps;
};
struct JoinedProducts {
  tp::ConcatOp concat;
  std::vector<JoinedRun> runs;
};

/// Not applicable if no two neighbors are products alike.
Legal<JoinedProducts> findJoinedProducts(tp::ConcatOp concat,
                                         ProductContext &context);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PRODUCTS_PARTIALPRODUCTS_H
