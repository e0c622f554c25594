//===- NodePrices.h - prices of the nodes of a graph ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_NODEPRICES_H
#define COMMUTE_COMPILER_NODEPRICES_H

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Target/PriceModel.h"

namespace commute::compiler {

/// Returns the time in seconds of each node whose ops are modelled, by its name
/// in the PyTorch graph: that of all ops that the node was read as. Symbolic
/// sizes have the values that the program states; a node with an unknown size
/// is left out, as are nodes that take no time. Collectives move
/// `communicationScale` times their bytes: 0 leaves their latency.
llvm::Expected<std::map<std::string, double>>
priceNodes(const LoadedProgram &program, const target::Target &target,
           double communicationScale);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_NODEPRICES_H
