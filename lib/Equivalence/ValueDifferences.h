//===- ValueDifferences.h - where values differ -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_VALUEDIFFERENCES_H
#define COMMUTE_LIB_EQUIVALENCE_VALUEDIFFERENCES_H

#include "commute/Equivalence/LockstepEvaluator.h"
#include "commute/Equivalence/Verify.h"

namespace commute::equivalence {

/// What a program computed under the names of its graph: for finding the first
/// place where two programs part.
struct NamedValue {
  RankValues values;
  mlir::Location location;
};
using NamedValues = llvm::MapVector<mlir::StringAttr, NamedValue>;

void record(mlir::Operation *op, llvm::ArrayRef<RankValues> results,
            NamedValues &named);

/// The first rank on which two values differ, as "on rank 1 at index [0, 2]";
/// nullopt for equal values. Where their samples do not match, the context has
/// a problem.
std::optional<std::string> describeDifference(const RankValues &a,
                                              const RankValues &b,
                                              llvm::ArrayRef<int64_t> world,
                                              EvaluationContext &context);

/// The earliest value that both programs have under one name and shape, but
/// with other content.
std::optional<Difference> findFirstPartition(const NamedValues &first,
                                             const NamedValues &second,
                                             llvm::ArrayRef<int64_t> world,
                                             EvaluationContext &context);

/// What an opaque op read: it may have effects, whether its results are used or
/// not.
struct OpaqueRead {
  tp::CallOp call;
  /// Hashes, by operand and rank.
  llvm::SmallVector<llvm::SmallVector<uint64_t>> contents;
};

/// Adds what `op` reads, if it may have effects.
void recordReads(mlir::Operation *op, llvm::ArrayRef<RankValues> operands,
                 std::vector<OpaqueRead> &reads);

/// The opaque ops that read other values in the second program, by their
/// position among those that may have effects.
std::vector<std::pair<size_t, Difference>>
findOtherReads(llvm::ArrayRef<OpaqueRead> first,
               llvm::ArrayRef<OpaqueRead> second,
               llvm::ArrayRef<int64_t> world);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_VALUEDIFFERENCES_H
