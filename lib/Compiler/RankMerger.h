//===- RankMerger.h - one module for the graphs of all ranks ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_RANKMERGER_H
#define COMMUTE_LIB_COMPILER_RANKMERGER_H

#include "MergedRanks.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include <map>

namespace commute::compiler {

/// Whether two ops differ in nothing but a constant, or the arguments of an
/// opaque call.
bool areAlike(mlir::Operation *a, mlir::Operation *b);

/// A result of a node, identified by its name in the graph.
struct NamedResult {
  llvm::StringRef name;
  mlir::Value value;
};

class RankMerger {
public:
  explicit RankMerger(llvm::MutableArrayRef<LoadedProgram> programs)
      : programs(programs), merged(programs.size()), opsOfNode(programs.size()),
        builder(programs.front().getModule().getContext()) {}

  llvm::Error run();

private:
  using Ops = llvm::SmallVector<mlir::Operation *>;

  llvm::Error makeError(size_t rank, const llvm::Twine &message) const {
    return llvm::createStringError(programs[rank].origin + ": " + message);
  }
  /// Creates an error about a node at which the programs differ.
  llvm::Error makeNodeError(size_t rank, size_t node,
                            const llvm::Twine &message) const;

  mlir::func::FuncOp getMain(size_t rank) const {
    return analysis::getMain(programs[rank].getModule());
  }
  const archive::Graph &getGraph(size_t rank) const {
    return programs[rank].getGraph()->graph;
  }
  void collectOps(size_t rank);
  void collectGroups();

  /// Returns the merged value for a value of a rank's own module.
  mlir::Value lookup(size_t rank, mlir::Value value) const {
    return rank == 0 ? value : merged[rank].lookup(value);
  }
  llvm::Error mergeNode(size_t node);
  /// Returns true if the ops of a node correspond one to one in all ranks.
  bool areAligned(size_t node) const;
  llvm::Error mergeOps(size_t node, llvm::ArrayRef<mlir::Operation *> ops);
  llvm::Error mergeOperands(size_t node, llvm::ArrayRef<mlir::Operation *> ops);
  void mergeConstants(llvm::ArrayRef<mlir::Operation *> ops);
  void mergeCalls(llvm::ArrayRef<mlir::Operation *> ops);
  /// Keeps each variant of a node whose ops differ in more than a constant.
  llvm::Error mergeVariants(size_t node);
  bool areSameVariant(size_t node, size_t first, size_t second) const;
  Ops cloneVariant(size_t node, size_t rank,
                   llvm::ArrayRef<NamedResult> ownResults,
                   llvm::ArrayRef<NamedResult> firstResults);

  /// Returns the position of a rank's program among `programs`.
  size_t getIndex(int64_t rank) const {
    auto found = llvm::find_if(programs, [rank](const LoadedProgram &program) {
      return program.rank == rank;
    });
    assert(found != programs.end() && "a group has a rank without a program");
    return found - programs.begin();
  }
  /// Returns a value that is `values[i]` on the rank of program i, created at
  /// the builder's insertion point.
  mlir::Value select(llvm::ArrayRef<mlir::Value> values,
                     mlir::Location location);
  tp::GroupAttr findGroup(llvm::ArrayRef<mlir::Value> values) const;
  void noteName(size_t rank, llvm::StringRef first, llvm::StringRef own) {
    if (first != own && !first.empty())
      programs[rank].ownNames[first] = own.str();
  }

  /// "rank" is the position of a program here, unless it is said to be the
  /// number of a rank: programs of ranks 2 and 3 are at 0 and 1.
  llvm::MutableArrayRef<LoadedProgram> programs;
  /// By rank, the merged values of the values in its module.
  std::vector<llvm::DenseMap<mlir::Value, mlir::Value>> merged;
  /// By rank and node.
  std::vector<std::vector<Ops>> opsOfNode;
  /// Groups that contain all ranks, in ascending order of size.
  llvm::SmallVector<tp::GroupAttr> groups;
  std::map<std::vector<const void *>, mlir::Value> selects;
  mlir::OpBuilder builder;
};

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_RANKMERGER_H
