//===- EmbeddedTargets.h - the files in targets/ ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TARGET_EMBEDDEDTARGETS_H
#define COMMUTE_LIB_TARGET_EMBEDDEDTARGETS_H

#include "commute/Support/EmbeddedFile.h"

namespace commute::target {

/// Returns the built-in targets, the files in lib/Target/targets.
llvm::ArrayRef<EmbeddedFile> getEmbeddedTargets();

} // namespace commute::target

#endif // COMMUTE_LIB_TARGET_EMBEDDEDTARGETS_H
