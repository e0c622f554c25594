//===- SplitPrices.h - whether products in segments pay ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_SPLITPRICES_H
#define COMMUTE_LIB_TRANSFORMS_SPLITPRICES_H

#include "SplitRewrite.h"

namespace commute {

/// The cost of ops. If rewrites must pay, times are compared. If they are
/// always wanted, the measures below are compared in lexicographic order: every
/// rewrite lowers them, so that no rewrite undoes another, in any order.
struct SplitCost {
  double seconds = 0;
  /// Arithmetic of products.
  double flops = 0;
  /// Bytes that concatenations write.
  double joinedBytes = 0;
  /// Slices of products.
  double numSlices = 0;
  double numProducts = 0;
  /// A size has no value.
  bool isKnown = true;

  void add(mlir::Operation *op, const target::PriceModel &price);
  bool doesLessThan(const SplitCost &other) const {
    return std::tie(flops, joinedBytes, numSlices, numProducts) <
           std::tie(other.flops, other.joinedBytes, other.numSlices,
                    other.numProducts);
  }
};

/// Returns the ops that would have no users if the drafts replaced all their
/// values: the replaced ops, and all ops that only they use.
llvm::SmallVector<mlir::Operation *>
findUnread(llvm::ArrayRef<const SplitDraft *> drafts);

SplitCost getCostBefore(llvm::ArrayRef<const SplitDraft *> drafts,
                        const target::PriceModel &price);
SplitCost getCostAfter(llvm::ArrayRef<const SplitDraft *> drafts,
                       const target::PriceModel &price);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_SPLITPRICES_H
