//===- StatedPlacements.h - placements that people state --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_STATEDPLACEMENTS_H
#define COMMUTE_VOCABULARY_STATEDPLACEMENTS_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/DistributedContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::vocabulary {

/// Gives the function's arguments the placements that the context states for
/// them; what the arguments have already stays where nothing is stated anew.
/// Errors: a placement for an input or a group that there is not, or that no
/// tensor of the input's shape fulfils; a rank outside all groups.
llvm::Error statePlacements(mlir::func::FuncOp function,
                            const DistributedContext &distributed,
                            llvm::ArrayRef<tp::GroupAttr> groups,
                            std::optional<int64_t> rank);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_STATEDPLACEMENTS_H
