//===- StatedFacts.h - what a user states about a program -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_STATEDFACTS_H
#define COMMUTE_COMPILER_STATEDFACTS_H

#include "commute/Vocabulary/DistributedContext.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace commute::compiler {

/// Facts that a program does not state itself, as spelled in the command-line
/// options --group, --input-placement, --assume and --rank.
struct StatedFacts {
  std::vector<std::string> groups;
  std::vector<std::string> placements;
  std::vector<std::string> assumptions;
  std::optional<int64_t> rank;
  /// Groups that hold unless the sidecar or `groups` states others. The program
  /// may lack some.
  std::map<std::string, vocabulary::GroupRanks> knownGroups;
  /// True if these are the facts of one of several programs, one for each rank.
  bool hasOtherPrograms = false;

  /// Adds the facts to those of an archive's sidecar. The error names the
  /// invalid option.
  llvm::Error addTo(vocabulary::DistributedContext &context) const;
  /// Makes `groups` known ones, for programs of ranks of which only some use
  /// each group. They override those of sidecars no longer.
  llvm::Error moveGroupsToKnown();
};

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_STATEDFACTS_H
