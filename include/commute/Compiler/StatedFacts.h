//===- StatedFacts.h - what a user states about a program -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_STATEDFACTS_H
#define COMMUTE_COMPILER_STATEDFACTS_H

#include "commute/Vocabulary/DistributedContext.h"

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

  /// Adds the facts to those of an archive's sidecar. The error names the
  /// invalid option.
  llvm::Error addTo(vocabulary::DistributedContext &context) const;
};

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_STATEDFACTS_H
