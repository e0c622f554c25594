//===- Policy.h - which legal rewrites passes make --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_POLICY_H
#define COMMUTE_TRANSFORMS_POLICY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace commute {

/// The legal rewrites that a pass makes.
enum class Policy : uint8_t {
  /// Rewrites for which the price model predicts a gain.
  Profitable,
  /// All rewrites that make progress, at any price.
  Always,
  /// The rewrites of the upstream compiler's pass, for comparison.
  Upstream,
};

/// Returns the spelling of a policy in options, such as "profitable".
llvm::StringRef stringify(Policy policy);
/// Parses a policy. The error lists all policies.
llvm::Expected<Policy> parsePolicy(llvm::StringRef text);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_POLICY_H
