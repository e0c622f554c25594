//===- UnstatedInputs.h - inputs of unknown placement -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PLACEMENTS_UNSTATEDINPUTS_H
#define COMMUTE_LIB_ANALYSIS_PLACEMENTS_UNSTATEDINPUTS_H

#include "commute/Analysis/Legal.h"
#include "commute/Analysis/Placements/PlacementAnalysis.h"

namespace commute::analysis {

/// Completes a refusal because of an operand that is not known to be
/// replicated: the remedy names the inputs whose placement nothing states, if
/// the operand would be replicated if they were.
void addMissingStatements(Refusal &refusal, mlir::OpOperand &operand,
                          tp::GroupAttr group,
                          const PlacementAnalysis &placements);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTS_UNSTATEDINPUTS_H
