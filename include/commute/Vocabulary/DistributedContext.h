//===- DistributedContext.h - groups, ranks and placements ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A captured graph names its process groups but does not list their members,
// and does not say which inputs are equal on all ranks. The sidecar record
// extra/commute.json supplies both; command-line options override it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_DISTRIBUTEDCONTEXT_H
#define COMMUTE_VOCABULARY_DISTRIBUTEDCONTEXT_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace commute::vocabulary {

/// The groups along one mesh axis: one list of member ranks, or several lists
/// of equal length.
using GroupRanks = std::vector<std::vector<int64_t>>;

/// The placement of all inputs whose name matches a pattern.
struct PlacementRule {
  /// Anchored regular expression, matched against graph names and parameter
  /// names.
  std::string pattern;
  /// For example "replicated", "shard(0)", "partial(sum)" or "varying".
  std::string placement;
  /// Group name; if empty, the rule holds for every group of the graph.
  std::string group;
};

/// An argument of a node that differs between the programs of the ranks, as
/// capture found it.
struct RankConstant {
  std::string node;
  std::string argument;
  /// By rank, as JSON text.
  std::map<int64_t, std::string> values;
};
/// Prints "lt other: 0 on rank 0, 128 on rank 1".
llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                              const RankConstant &constant);

/// Everything that the sidecar and the command line state about a program.
struct DistributedContext {
  std::map<std::string, GroupRanks> groups;
  /// The names by which PyTorch's own operators know groups that the program
  /// names otherwise, such as vLLM's "tp:0".
  std::map<std::string, std::string> processGroups;
  /// Groups stated on the command line. An unknown one is an error, while a
  /// sidecar may describe more of a mesh than the program uses.
  std::set<std::string> groupOptions;
  /// True if this program is part of a larger one that names further groups.
  /// Members of its only group are then not assumed to be the ranks 0 to n-1.
  bool hasOtherGroups = false;
  /// True if the programs of the other ranks are read as well. They say which
  /// groups these ranks have, so this program's groups are not completed.
  bool hasOtherPrograms = false;
  /// The rank that the graph was captured on, if known.
  std::optional<int64_t> rank;
  /// True if the user named the rank that runs this program (`--rank`), so that
  /// the program may differ between ranks. A rank in the sidecar does not imply
  /// this, because all ranks may load the same archive.
  bool isRankSpecific = false;
  /// Placements by exact input name, then by group (from the sidecar).
  std::map<std::string, std::map<std::string, std::string>> inputs;
  /// Placements from the command line. They override `inputs`, and a later rule
  /// overrides an earlier one.
  std::vector<PlacementRule> rules;
  /// Facts about symbolic sizes as the user wrote them ("s0 % 8 == 0").
  std::vector<std::string> assumptions;
  /// The smallest and largest values of symbolic sizes that the program is
  /// compiled for (from the sidecar). They are also in `assumptions`.
  std::map<std::string, std::pair<int64_t, int64_t>> sizeRanges;
  /// Constants of this rank alone (from the sidecar).
  std::vector<RankConstant> constantsOfRank;
  /// Sentences for the user about how the program was made, such as why most of
  /// it is the same on all ranks (from the sidecar).
  std::vector<std::string> notes;
};

/// Parses the sidecar `text`. Error messages start with `origin`.
llvm::Expected<DistributedContext> parseSidecar(llvm::StringRef text,
                                                llvm::StringRef origin);

/// Parses a group option: "0=0-3", "tp=0-3/4-7" or "dp=0,4,1,5". Commas
/// separate ranks and ranges, slashes the groups along an axis.
llvm::Error addGroupOption(DistributedContext &context, llvm::StringRef option);
/// Parses "REGEX=PLACEMENT" or "REGEX=PLACEMENT@GROUP".
llvm::Error addPlacementOption(DistributedContext &context,
                               llvm::StringRef option);
/// Parses "s0 % 8 == 0", "s0 == 4096" or "s0 >= 16"; see tp::SizeAssumption.
llvm::Error addAssumptionOption(DistributedContext &context,
                                llvm::StringRef option);

/// Returns the context, including command-line options, as sidecar text.
std::string renderSidecar(const DistributedContext &context);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_DISTRIBUTEDCONTEXT_H
