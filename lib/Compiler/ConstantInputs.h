//===- ConstantInputs.h - constants that an archive stores ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_CONSTANTINPUTS_H
#define COMMUTE_LIB_COMPILER_CONSTANTINPUTS_H

#include "commute/Archive/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::compiler {

/// Gives inputs that are constants of one element their value (`tp.value`).
/// torch.export lifts the numbers of a program (what masked tokens are replaced
/// by, a scale) to such inputs. What cannot be read stays unknown.
void stateConstantInputs(const archive::ProgramArchive &archive,
                         mlir::func::FuncOp function);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_CONSTANTINPUTS_H
