//===- SymbolNames.h - the symbols in the sizes of a type -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_SYMBOLNAMES_H
#define COMMUTE_DIALECT_SYMBOLNAMES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Types.h"

namespace commute::tp {

/// Returns the names of the symbols in the sizes and strides of a tensor; none
/// for other types.
llvm::ArrayRef<mlir::StringAttr> getSymbolNames(mlir::Type type);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SYMBOLNAMES_H
