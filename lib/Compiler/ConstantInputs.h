//===- ConstantInputs.h - constants that an archive stores ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_CONSTANTINPUTS_H
#define COMMUTE_LIB_COMPILER_CONSTANTINPUTS_H

#include "commute/Archive/Program.h"
#include "commute/Archive/Weights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::compiler {

/// Calls `visit` with each input of a kind whose type `selects`
/// accepts, and with what the archive stores of it. Reads the weights' table
/// only if there is one. Inputs that the archive does not describe are left
/// out.
void forEachStoredInput(
    const archive::ProgramArchive &archive, mlir::func::FuncOp function,
    archive::InputKind kind, llvm::function_ref<bool(mlir::Type)> selects,
    llvm::function_ref<void(unsigned index, const archive::Weights &weights,
                            const archive::StoredTensor &tensor)>
        visit);

/// Returns the number that an archive stores for an input of one element, or
/// null if it is unknown.
mlir::TypedAttr readNumber(const archive::Weights &weights,
                           const archive::StoredTensor &tensor,
                           mlir::Builder &builder);

/// Returns true for the type of one element.
bool hasOneElement(mlir::Type type);

/// Sets the value (`tp.value`) of inputs that are constants with one element.
/// torch.export lifts the numbers of a program (the replacement of masked
/// tokens, a scale) to such inputs. Values that cannot be read remain unknown.
void stateConstantInputs(const archive::ProgramArchive &archive,
                         mlir::func::FuncOp function);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_CONSTANTINPUTS_H
