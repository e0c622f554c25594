//===- OptimizeProgram.h - optimization in memory ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The in-process equivalent of `commute opt`, for live graphs. This interface
// uses neither LLVM nor exceptions, because the module that wraps it is
// compiled without the former and with the latter.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_OPTIMIZEPROGRAM_H
#define COMMUTE_PYTHON_BINDINGS_OPTIMIZEPROGRAM_H

#include "LiveProgram.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace commute::python {

/// The program of another rank, as it published it.
struct ProgramOfRank {
  int64_t rank = 0;
  /// The text of `LiveProgram::toJson` with names of groups that all ranks
  /// share.
  std::string text;
  /// The text of its sidecar, with this process's names of groups.
  std::string context;
};

struct OptimizeSettings {
  /// Passes, as in `commute opt --passes`; empty for all passes.
  std::string passes;
  /// Policy of the passes: "profitable", "always" and so on.
  std::string policy;
  /// Name of a target, or a path.
  std::string target;
  /// Prove that the result is equivalent before returning it.
  bool verify = true;
  /// Text of a sidecar (extra/commute.json) with groups, placements and
  /// assumptions, or empty.
  std::string context;
  /// Text of a vocabulary file, or empty.
  std::string vocabulary;
  /// True if the program is part of one that names further groups.
  bool hasOtherGroups = false;
  /// True if nothing is known of the programs of other ranks: only rewrites
  /// that hold whatever these compute are made.
  bool ranksAreUnknown = false;
  /// False if nothing may be assumed of inputs whose placement nobody states,
  /// not even of the weights of norms.
  bool assumesNormWeights = true;
  /// The inputs whose placement nobody states, for which the gain of stating
  /// that they are replicated is predicted.
  std::vector<std::string> unstatedInputs;
  /// The programs of the other ranks, if they differ from this one, and the
  /// rank of this one. Decisions are taken for all, which must make them with
  /// the same settings.
  std::vector<ProgramOfRank> otherRanks;
  int64_t rank = 0;
  /// This process's names of groups by those in the texts of `otherRanks`.
  std::map<std::string, std::string> groupNames;
  /// Split and join matrix products only where no sum changes its order.
  bool exactRounding = false;
  /// Passes that take part in the choice, and that a later run makes.
  std::vector<std::string> postponed;
  /// Also return a result whose proof exceeds its budget.
  bool allowUnproven = false;
  /// As `--proof-time` and `--proof-memory`.
  double maxSeconds = 60;
  int64_t maxBytes = int64_t(4) << 30;
};

/// The seconds that the rewrites save, those that they would save if some
/// inputs were stated to be replicated, and the names of these.
using StatementGain = std::tuple<double, double, std::vector<std::string>>;

struct OptimizedProgram {
  enum class Status {
    Success,
    /// The program or the settings are invalid; see `message`.
    BadInput,
    /// A pass failed, or the result is not equivalent; see `message`.
    InternalError,
    /// Python's error indicator is set.
    PythonError,
  };
  Status status = Status::Success;
  std::string message;
  /// The edits, as returned by `describeEdits`; None if nothing changed.
  Object edits;
  /// A list of tuples: verdict, pass, node, message, suggestion.
  Object remarks;
  /// The output of `commute verify --json`; empty without a proof.
  std::string verification;
  /// Set if more would be saved with a statement about `unstatedInputs`.
  std::optional<StatementGain> gain;
  /// Why the programs of the ranks could not be optimized together, for example
  /// because one has a node more; empty otherwise. Nothing was changed.
  std::string difference;
};

/// Optimizes a program, which is taken from `program`. The caller holds
/// Python's global lock, which is released meanwhile.
OptimizedProgram optimizeProgram(LiveProgram &program,
                                 const OptimizeSettings &settings);

/// Returns why `settings` are wrong for any program, or an empty string.
std::string checkSettings(const OptimizeSettings &settings);

/// Returns the group of a collective of a built-in vocabulary that names no
/// group itself, such as "0" for torch.ops.auto_deploy.torch_dist_all_reduce;
/// empty for all other operators.
std::string getImpliedGroup(const std::string &target);

/// The groups along an axis, each a list of ranks.
using GroupRanks = std::vector<std::vector<int64_t>>;

/// Returns the groups of all ranks; nullopt if they are not known. `groups` may
/// be those of one rank, which is `rank` if stated.
std::optional<std::vector<GroupRanks>>
completeGroups(const std::vector<GroupRanks> &groups,
               std::optional<int64_t> rank);

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_OPTIMIZEPROGRAM_H
