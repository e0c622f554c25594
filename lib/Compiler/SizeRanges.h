//===- SizeRanges.h - programs for ranges of sizes --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_SIZERANGES_H
#define COMMUTE_LIB_COMPILER_SIZERANGES_H

#include "commute/Target/PriceModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace commute::compiler {

/// Passes price a program that is compiled for a range of sizes at the smallest
/// sizes. Returns a description if `after` takes longer than `before` at the
/// largest sizes; nullopt if it does not, or if the program states no ranges.
std::optional<std::string> findLossAtLargestSizes(mlir::ModuleOp before,
                                                  mlir::ModuleOp after,
                                                  llvm::StringRef target);

/// Returns the seconds of a step; nullopt if some size has no value.
std::optional<double> predictSeconds(mlir::ModuleOp module,
                                     const target::PriceModel &model);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_SIZERANGES_H
