//===- NodeName.h - what a person calls an op -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_NODENAME_H
#define COMMUTE_ANALYSIS_NODENAME_H

#include "mlir/IR/Operation.h"

namespace commute::analysis {

/// The name of the node that an op was read from, quoted ("'mm_1'"), or, where
/// it has none, what kind of op it is ("tp.matmul").
std::string getNodeName(mlir::Operation *op);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_NODENAME_H
