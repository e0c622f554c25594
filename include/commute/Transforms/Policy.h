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

/// Which legal rewrites a pass makes.
enum class Policy : uint8_t {
  /// Those that the price model predicts a gain for.
  Profitable,
  /// All that make progress, at any price.
  Always,
  /// Those that the upstream compiler's pass makes, for comparison.
  Upstream,
};

/// The spelling of a policy in options: "profitable".
llvm::StringRef stringify(Policy policy);
/// The error lists the policies.
llvm::Expected<Policy> parsePolicy(llvm::StringRef text);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_POLICY_H
