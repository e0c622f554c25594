//===- ResolvedPrograms.h - programs with numbers for sizes -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_RESOLVEDPROGRAMS_H
#define COMMUTE_EQUIVALENCE_RESOLVEDPROGRAMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Error.h"

namespace commute::equivalence {

/// The attribute that numbers the calls of random operators in program order,
/// and those of operators that communicate or of which nothing is known.
/// Generators and peers have state, so two calls return two values even for
/// equal operands. An op that allocates uninitialized memory gets a number that
/// no other op of either program has.
inline constexpr llvm::StringLiteral drawAttrName = "equivalence.draw";

/// The attribute with the names of the sizes in the types of an op's results
/// that the program determines from values, once these sizes are numbers.
inline constexpr llvm::StringLiteral usedSizesAttrName = "equivalence.sizes";

/// The attribute with the numbers that stand for the sizes that an op
/// determines from values (tp::sizesOfValuesAttrName), in their order.
inline constexpr llvm::StringLiteral numbersOfSizesAttrName =
    "equivalence.numbers";

/// If a value is uninitialized memory or a view of it, the number of the
/// allocation in its program. Most operators overwrite such memory, so its
/// content is not a difference between operands of opaque ops.
std::optional<uint64_t> findAllocation(mlir::Value value);

/// Copies a program, with values for its symbolic sizes and without layouts in
/// types. `program` numbers the compared programs. The error names the place
/// where the sizes do not match.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
resolveSizes(mlir::ModuleOp module, unsigned program,
             llvm::function_ref<int64_t(llvm::StringRef)> symbols);

/// Replaces inputs that are the same number in both programs by constants.
void resolveConstants(mlir::func::FuncOp first, mlir::func::FuncOp second);

/// Replaces integers that depend on positions alone by closed forms. Erases
/// ops. A program that determines sizes from values is left as it is.
void foldProgram(mlir::func::FuncOp function);

/// Returns true if an opaque op of a program writes into an operand.
bool writesMemory(mlir::func::FuncOp function);

/// Returns the names of the sizes that a program determines from values, in its
/// order.
llvm::SetVector<mlir::StringAttr> getSizesOfValues(mlir::func::FuncOp function);

/// Returns `number` if a size that a program determines from values may have
/// it and no other size has taken it, or else a number in the range that the
/// program asserts of the size, if possible one that is not taken.
int64_t fitSizeOfValues(mlir::func::FuncOp function, llvm::StringRef symbol,
                        int64_t number,
                        llvm::function_ref<bool(int64_t)> isTaken);

/// Returns true if a program has symbolic sizes.
bool hasSymbols(mlir::ModuleOp module);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_RESOLVEDPROGRAMS_H
