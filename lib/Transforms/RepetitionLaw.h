//===- RepetitionLaw.h - collectives that repeat others ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REPETITIONLAW_H
#define COMMUTE_LIB_TRANSFORMS_REPETITIONLAW_H

#include "Law.h"

namespace commute {

/// A collective that repeats the one before it has the result of that one.
std::unique_ptr<LawGroup> makeRepetitionLaw();

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REPETITIONLAW_H
