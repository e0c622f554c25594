//===- OperatorRanks.h - how many dims operators take -----------*- C++ -*-===//
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

/// Why PyTorch would refuse a node whose operator takes tensors of certain
/// ranks only, which tp ops are more general than; empty where it would not.
/// `getRank` gives the number of dims of a value, nullopt for no tensor.
std::string findRankProblem(
    const archive::Node &node,
    llvm::function_ref<std::optional<size_t>(llvm::StringRef)> getRank);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_OPERATORRANKS_H
