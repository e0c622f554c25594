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

/// What a program does not say of itself, as options of the command line spell
/// it: --group, --input-placement, --assume, --rank.
struct StatedFacts {
  std::vector<std::string> groups;
  std::vector<std::string> placements;
  std::vector<std::string> assumptions;
  std::optional<int64_t> rank;

  /// Adds the facts to what the sidecar of an archive says. The error names the
  /// option that cannot be read.
  llvm::Error addTo(vocabulary::DistributedContext &context) const;
};

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_STATEDFACTS_H
