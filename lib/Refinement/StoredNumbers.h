//===- StoredNumbers.h - buffers that differ between ranks ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_STOREDNUMBERS_H
#define COMMUTE_LIB_REFINEMENT_STOREDNUMBERS_H

#include "JoinedRanks.h"

namespace commute::refinement {

/// Makes constants of the buffers with one integer (`tp.stored`) that no
/// relation to the reference explains: those of which the archives store
/// different numbers, such as the first word of a rank's shard, and those that
/// the reference lacks. Every rank must have a program of its own, and buffers
/// of stated relations are left alone. Returns the premises.
std::vector<std::string> adoptStoredNumbers(mlir::func::FuncOp reference,
                                            llvm::ArrayRef<JoinedRank> ranks,
                                            const StatedRelations &stated);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_STOREDNUMBERS_H
