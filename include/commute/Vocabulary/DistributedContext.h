//===- DistributedContext.h - what a graph does not say ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A captured graph names its process groups but not their members, and says
// nothing of which inputs are equal on all ranks. The sidecar record
// extra/commute.json says so, and the command line overrides it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_DISTRIBUTEDCONTEXT_H
#define COMMUTE_VOCABULARY_DISTRIBUTEDCONTEXT_H

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace commute::vocabulary {

/// The groups of one axis: one list of members, or several of equal length.
using GroupRanks = std::vector<std::vector<int64_t>>;

/// A placement stated for the inputs whose name matches a pattern.
struct PlacementRule {
  /// Anchored regular expression over graph names and parameter names.
  std::string pattern;
  /// "replicated", "shard(0)", "partial(sum)", "varying".
  std::string placement;
  /// Name of the group; empty: every group of the graph.
  std::string group;
};

struct DistributedContext {
  std::map<std::string, GroupRanks> groups;
  /// Those that the command line states. A sidecar may describe more of a mesh
  /// than the program uses.
  std::set<std::string> groupOptions;
  /// The program is a part of one that names more groups, so that a group of
  /// unstated members is not the only one.
  bool hasOtherGroups = false;
  /// The rank that the graph was captured on.
  std::optional<int64_t> rank;
  /// The program need not be the same for all ranks: the user named the one
  /// that runs it. What the sidecar says does not suffice, for all ranks may
  /// load one archive.
  bool isRankSpecific = false;
  /// Placements by exact input name, then group: the sidecar's form.
  std::map<std::string, std::map<std::string, std::string>> inputs;
  /// The command line's form; a later rule wins, and any wins over `inputs`.
  std::vector<PlacementRule> rules;
  /// Facts about symbolic sizes, as the user wrote them ("s0 % 8 == 0").
  std::vector<std::string> assumptions;
};

/// Reads a sidecar. `origin` stands in front of messages.
llvm::Expected<DistributedContext> parseSidecar(llvm::StringRef text,
                                                llvm::StringRef origin);

/// "0=0-3", "tp=0-3/4-7", "dp=0,4,1,5": ranks and ranges by commas, groups of
/// an axis by slashes.
llvm::Error addGroupOption(DistributedContext &context, llvm::StringRef option);
/// "REGEX=PLACEMENT" or "REGEX=PLACEMENT@GROUP".
llvm::Error addPlacementOption(DistributedContext &context,
                               llvm::StringRef option);
/// "s0 % 8 == 0", "s0 == 4096", "s0 >= 16": see tp::SizeAssumption.
llvm::Error addAssumptionOption(DistributedContext &context,
                                llvm::StringRef option);

/// The context as a sidecar, with what the command line added.
std::string renderSidecar(const DistributedContext &context);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_DISTRIBUTEDCONTEXT_H
