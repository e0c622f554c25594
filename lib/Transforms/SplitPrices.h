//===- SplitPrices.h - whether products in segments pay ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_SPLITPRICES_H
#define COMMUTE_LIB_TRANSFORMS_SPLITPRICES_H

#include "SplitRewrite.h"

namespace commute {

/// What ops cost. Times decide where rewrites have to pay. Where they are
/// always wanted, the amounts behind them decide, the first that differs:
/// every rewrite makes them less, so that none undoes another, in whatever
/// order they are made.
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

/// The ops that would go, if all values of the drafts were replaced: what is
/// replaced, and whatever only they read.
llvm::SmallVector<mlir::Operation *>
findUnread(llvm::ArrayRef<const SplitDraft *> drafts);

SplitCost getCostBefore(llvm::ArrayRef<const SplitDraft *> drafts,
                        const target::PriceModel &price);
SplitCost getCostAfter(llvm::ArrayRef<const SplitDraft *> drafts,
                       const target::PriceModel &price);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_SPLITPRICES_H
