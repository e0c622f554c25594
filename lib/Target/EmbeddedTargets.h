//===- EmbeddedTargets.h - the files in targets/ ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TARGET_EMBEDDEDTARGETS_H
#define COMMUTE_LIB_TARGET_EMBEDDEDTARGETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace commute::target {

struct EmbeddedTarget {
  llvm::StringLiteral name;
  llvm::StringLiteral text;
};

/// Returns the built-in targets. CMake generates the definition from the files
/// in lib/Target/targets.
llvm::ArrayRef<EmbeddedTarget> getEmbeddedTargets();

} // namespace commute::target

#endif // COMMUTE_LIB_TARGET_EMBEDDEDTARGETS_H
