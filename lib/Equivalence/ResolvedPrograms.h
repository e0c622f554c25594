//===- ResolvedPrograms.h - programs with numbers for sizes -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_RESOLVEDPROGRAMS_H
#define COMMUTE_LIB_EQUIVALENCE_RESOLVEDPROGRAMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace commute::equivalence {

/// The number of a random operator's call, in program order. Generators have
/// state: two calls return two values, on the same operands too. Of an op that
/// allocates uninitialized memory, a number that no other op of either program
/// has.
inline constexpr llvm::StringLiteral drawAttrName = "equivalence.draw";

/// The number of the allocation in its program if a value is uninitialized
/// memory or a view of it. Most operators that get it write over it, so that
/// what an opaque one finds there is not taken for a difference.
std::optional<uint64_t> findAllocation(mlir::Value value);

/// A copy of a program in which symbolic sizes have values and types no
/// layouts. `program` numbers the programs that are compared. The error says
/// where the sizes do not fit.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
resolveSizes(mlir::ModuleOp module, unsigned program,
             llvm::function_ref<int64_t(llvm::StringRef)> symbols);

/// Replaces inputs that are the same number in both programs by constants.
void resolveConstants(mlir::func::FuncOp first, mlir::func::FuncOp second);

/// Whether a program has symbolic sizes.
bool hasSymbols(mlir::ModuleOp module);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_RESOLVEDPROGRAMS_H
