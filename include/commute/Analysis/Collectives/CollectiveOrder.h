//===- CollectiveOrder.h - collectives of ranks that belong together ------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_COLLECTIVES_COLLECTIVEORDER_H
#define COMMUTE_ANALYSIS_COLLECTIVES_COLLECTIVEORDER_H

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace commute::analysis {

/// Returns, for example, "tp.all_reduce sum of tensor<4x8xf32>".
std::string describeCollective(mlir::Operation *op);

/// Returns why two members of a group cannot run these collectives together, as
/// the end of a sentence ("are different collectives"), or an empty string if
/// they can. Sets `isOfSizes` if it is because of the sizes of their operands.
std::string findMismatch(mlir::Operation *first, mlir::Operation *second,
                         bool *isOfSizes = nullptr);

/// Returns the collectives that `rank` runs in the group of these members, in
/// order.
std::vector<tp::CollectiveOpInterface>
getCollectives(mlir::func::FuncOp function, llvm::ArrayRef<int64_t> members,
               int64_t rank);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_COLLECTIVES_COLLECTIVEORDER_H
