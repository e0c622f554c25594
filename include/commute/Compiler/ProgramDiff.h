//===- ProgramDiff.h - two programs side by side ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Ops correspond by the names of their nodes, which passes keep, or, without
// names, by op and types in program order. Layers are those of nn.Module, by
// the paths that torch.export records at nodes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_PROGRAMDIFF_H
#define COMMUTE_COMPILER_PROGRAMDIFF_H

#include "commute/Compiler/LoadedProgram.h"

#include "llvm/Support/JSON.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace commute::compiler {

struct DiffedOp {
  /// Empty for an op without a name.
  std::string node;
  /// "all_reduce", or the PyTorch operator if the op is opaque.
  std::string op;
  std::string types;
  /// "model.py:12"; empty if unknown.
  std::string source;
};

struct OpChange {
  enum class Kind {
    Removed,
    Added,
    /// Another op or other types under the same name.
    Changed,
    /// The same op at another place in the order of the program.
    Moved,
    /// The same op at the same place with other operands.
    Rewired,
  };
  Kind kind;
  /// In the first program, unless added; in the second, unless removed.
  DiffedOp before, after;
};
llvm::StringRef stringify(OpChange::Kind kind);

/// The changes in a layer, or in several layers that change alike.
struct LayerDiff {
  /// "layers.0"; empty for ops in no layer.
  std::vector<std::string> layers;
  /// Those of the first layer.
  std::vector<OpChange> changes;
};

struct CollectiveTotals {
  size_t count = 0;
  /// Bytes of the operands on one rank; nullopt if a size is unknown.
  std::optional<double> bytes = 0;
};

/// The prediction of one step on the target.
struct StepTotals {
  double stepSeconds = 0;
  double computeSeconds = 0;
  double communicationSeconds = 0;
  double exposedSeconds = 0;
  double wireBytes = 0;
  double peakActivationBytes = 0;
};

struct ProgramDiff {
  size_t numOps[2] = {0, 0};
  std::vector<LayerDiff> layers;
  /// By kind and group, in both programs.
  std::map<std::pair<std::string, std::string>,
           std::pair<CollectiveTotals, CollectiveTotals>>
      collectives;
  std::string target;
  std::optional<StepTotals> steps[2];
  /// Why there are no predictions; empty if there are.
  std::string unpriced;

  /// The number of changes of a kind, in all layers.
  size_t count(OpChange::Kind kind) const;
  bool isSame() const { return layers.empty(); }
};

/// Compares two programs, which must each be one function of one block. Returns
/// an error for an unknown target.
llvm::Expected<ProgramDiff> compare(const LoadedProgram &first,
                                    const LoadedProgram &second,
                                    llvm::StringRef target);

llvm::json::Object toJson(const ProgramDiff &diff);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_PROGRAMDIFF_H
