//===- SharedViews.h - equal views become one -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_SHAREDVIEWS_H
#define COMMUTE_LIB_TRANSFORMS_SHAREDVIEWS_H

#include "mlir/IR/PatternMatch.h"

namespace commute {

/// Merges equal slices, reshapes and copies that passes created of the same
/// value, because several products use the same slice of a weight. Views before
/// and after an op that writes into memory stay apart.
void shareViews(mlir::Block &block, mlir::RewriterBase &rewriter);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_SHAREDVIEWS_H
