//===- TargetSources.h - where a target's numbers come from -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORTPAGE_TARGETSOURCES_H
#define COMMUTE_REPORTPAGE_TARGETSOURCES_H

#include "commute/Target/Target.h"

namespace commute::report {

/// How a number of a target is known.
enum class Evidence { Measured, Stated, Assumed };
/// Classifies the text of a source. Sources of assumed numbers start with
/// "assumed", and those of measured numbers contain "measured" or "fitted";
/// all others are stated by a data sheet or a publication.
Evidence getEvidence(llvm::StringRef source);

/// Returns the target's name, its description, the number of its quantities of
/// each kind of evidence, and all sources.
llvm::json::Object describeTarget(const target::Target &target);

} // namespace commute::report

#endif // COMMUTE_REPORTPAGE_TARGETSOURCES_H
