//===- SizeReduction.h - small programs that mean the same ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_SIZEREDUCTION_H
#define COMMUTE_EQUIVALENCE_SIZEREDUCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace commute::equivalence {

/// Copies of two programs with static sizes and without layouts, made as small
/// as their ops' dimension rules allow: dims that belong together keep equal
/// sizes, in both programs; what an op counts in (ranks of a group, pieces of a
/// split) stays; every other extent of at least 2 stays at least 2; and dims of
/// one tensor that had different sizes keep different ones where that is
/// possible.
struct ReducedPrograms {
  mlir::OwningOpRef<mlir::ModuleOp> first;
  mlir::OwningOpRef<mlir::ModuleOp> second;
  /// Elements of all values of the first program, before and after.
  double elementsBefore = 0;
  double elementsAfter = 0;
};
/// Numbers that an op derives from a size stay those of the real size: the
/// default scale of an attention, and the count of a mean, which is noted in
/// this attribute. Else a mean over 4096 elements would equal a sum divided by
/// the reduced size.
inline constexpr llvm::StringLiteral averageCountAttrName =
    "equivalence.average_count";

/// `symbols` gives the value of a symbolic size. With `reduce` false only
/// symbols and layouts are resolved.
llvm::Expected<ReducedPrograms>
reduceSizes(mlir::ModuleOp first, mlir::ModuleOp second,
            llvm::function_ref<int64_t(llvm::StringRef)> symbols, bool reduce);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_SIZEREDUCTION_H
