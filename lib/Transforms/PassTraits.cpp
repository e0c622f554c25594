//===- PassTraits.cpp - what differs between the passes ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/PassTraits.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute;

llvm::ArrayRef<PassTraits> commute::getPassTraits() {
  static constexpr PassTraits passes[] = {
      {.name = "normalize-collectives", .normalizes = true},
      {.name = "sequence-parallel", .competes = true, .needsNormalizing = true},
      {.name = "micro-pipeline",
       .competes = true,
       .isLocal = true,
       .hasUpstreamPolicy = true},
      // Splits any product of a concatenation.
      {.name = "split-linear",
       .needsCollectives = false,
       .competes = true,
       .isLocal = true,
       .hasUpstreamPolicy = true},
      {.name = "lower-collectives",
       .hasLaws = false,
       .needsLowering = false,
       .lowers = true},
      // PyTorch has the copies that this pass makes.
      {.name = "contiguous-collectives", .needsLowering = false}};
  return passes;
}

const PassTraits *commute::findPassTraits(llvm::StringRef name) {
  const PassTraits *found =
      llvm::find_if(getPassTraits(),
                    [&](const PassTraits &pass) { return pass.name == name; });
  return found == getPassTraits().end() ? nullptr : found;
}
