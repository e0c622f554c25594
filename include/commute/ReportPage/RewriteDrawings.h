//===- RewriteDrawings.h - rewrites drawn before and after ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORTPAGE_REWRITEDRAWINGS_H
#define COMMUTE_REPORTPAGE_REWRITEDRAWINGS_H

#include "commute/Report/RemarkCollector.h"
#include "commute/ReportPage/LayerLabels.h"
#include "commute/Target/Estimate.h"

namespace commute::report {

/// A program together with everything that drawings of it need.
struct DrawnProgram {
  mlir::func::FuncOp function;
  const target::Estimate &estimate;
  const LayerLabels &layers;
};

/// Returns each kind of rewrite once, as JSON: its remarks, the ops around it
/// before and after as two small graphs, the number of places and their layers.
///
/// A place consists of the collectives and of the row-wise ops between two
/// matrix products. Rewrites between the same products are one place: a
/// collective that one pass moves and another one fuses is drawn once. Places
/// are of one kind if their drawings and the names of their remarks are equal.
llvm::json::Array drawRewrites(const DrawnProgram &before,
                               const DrawnProgram &after,
                               llvm::ArrayRef<RemarkEntry> remarks);

} // namespace commute::report

#endif // COMMUTE_REPORTPAGE_REWRITEDRAWINGS_H
