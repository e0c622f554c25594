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

/// The values of a program by their names in the graph, to find the first place
/// at which two programs differ.
struct NamedValue {
  RankValues values;
  mlir::Location location;
};
using NamedValues = llvm::MapVector<mlir::StringAttr, NamedValue>;

void record(mlir::Operation *op, llvm::ArrayRef<RankValues> results,
            NamedValues &named);

/// Describes the first rank on which two values differ, such as "on rank 1 at
/// index [0, 2]"; nullopt for equal values. If their samples do not match, the
/// context has a problem.
std::optional<std::string> describeDifference(const RankValues &a,
                                              const RankValues &b,
                                              llvm::ArrayRef<int64_t> world,
                                              EvaluationContext &context);

/// Returns the earliest value that has the same name and shape but different
/// content in both programs.
std::optional<Difference> findFirstPartition(const NamedValues &first,
                                             const NamedValues &second,
                                             llvm::ArrayRef<int64_t> world,
                                             EvaluationContext &context);

/// The operands of an opaque op, which may have side effects even if its
/// results are unused.
struct OpaqueRead {
  tp::CallOp call;
  /// Hashes, by operand and rank.
  llvm::SmallVector<llvm::SmallVector<uint64_t>> contents;
};

/// Adds the operands of `op` if it may have side effects.
void recordReads(mlir::Operation *op, llvm::ArrayRef<RankValues> operands,
                 std::vector<OpaqueRead> &reads);

/// Returns the opaque ops whose operands differ in the second program, by their
/// position among those that may have side effects.
std::vector<std::pair<size_t, Difference>>
findOtherReads(llvm::ArrayRef<OpaqueRead> first,
               llvm::ArrayRef<OpaqueRead> second,
               llvm::ArrayRef<int64_t> world);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_VALUEDIFFERENCES_H
