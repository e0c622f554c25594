//===- OperatorRanks.h - tensor ranks that operators accept -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_OPERATORRANKS_H
#define COMMUTE_LIB_VOCABULARY_OPERATORRANKS_H

#include "commute/Archive/Graph.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace commute::vocabulary {

/// Some PyTorch operators accept only tensors of certain ranks, while the
/// corresponding tp ops are more general. Returns why PyTorch would reject
/// `node`, or an empty string. `getRank` returns the rank of a value, or
/// nullopt if it is not a tensor.
std::string findRankProblem(
    const archive::Node &node,
    llvm::function_ref<std::optional<size_t>(llvm::StringRef)> getRank);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_OPERATORRANKS_H
