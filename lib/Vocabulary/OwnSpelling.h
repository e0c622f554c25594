//===- OwnSpelling.h - calls of operators of other systems ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Writers name arguments and results as the known operators do. This file turns
// such a node into a call of an operator that a vocabulary file defines; it is
// the inverse of KnownCall.h.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_OWNSPELLING_H
#define COMMUTE_LIB_VOCABULARY_OWNSPELLING_H

#include "commute/Vocabulary/OperatorAlias.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace commute::vocabulary {

/// The operator of a vocabulary file that an op is written as.
struct OwnSpelling {
  llvm::StringRef target;
  const OperatorAlias &alias;
  /// A node of the source graph that calls the operator, or null. It shows the
  /// order of the arguments, and whether calls are functionalized.
  const archive::Node *example = nullptr;
};

/// Returns the name of a new uninitialized tensor like a result.
using MakeEmpty = llvm::function_ref<llvm::StringRef(mlir::Value)>;

/// Turns a call of the known operator into a call of the own one. `results` are
/// the values of the node's outputs, and are reordered with them. `makeEmpty`
/// adds the tensors that the operator only writes into. Returns an error if
/// the own operator cannot express the call.
llvm::Error respell(const OwnSpelling &own, archive::Node &node,
                    llvm::SmallVectorImpl<mlir::Value> &results,
                    MakeEmpty makeEmpty);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_OWNSPELLING_H
