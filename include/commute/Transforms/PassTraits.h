//===- PassTraits.h - what differs between the passes -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What others must know about a pass that has not run: stated here once, so
// that nobody asks for its name.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PASSTRAITS_H
#define COMMUTE_TRANSFORMS_PASSTRAITS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace commute {

struct PassTraits {
  llvm::StringRef name;
  /// A LawPass.
  bool hasLaws = true;
  /// Leaves programs without collectives as they are.
  bool needsCollectives = true;
  /// Rewrites that exclude those of other passes, so that the default pipeline
  /// chooses among these passes and their orders by price.
  bool competes = false;
  /// A pass that competes, and whose rewrites each change a few neighbouring
  /// ops, so that it can be chosen in some parts of a program only.
  bool isLocal = false;
  /// Implements policy=upstream, the upstream compiler's rules.
  bool hasUpstreamPolicy = false;
  /// Makes ops that PyTorch has no operator for.
  bool needsLowering = true;
  /// Turns ops that PyTorch has no operator for into others.
  bool lowers = false;
  /// Merges reindexing around collectives into them.
  bool normalizes = false;
  /// Makes collectives that reindexing may follow.
  bool needsNormalizing = false;
};

/// All passes of the pipeline, in their default order.
llvm::ArrayRef<PassTraits> getPassTraits();
/// Returns null if there is no pass of this name.
const PassTraits *findPassTraits(llvm::StringRef name);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PASSTRAITS_H
