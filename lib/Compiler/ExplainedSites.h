//===- ExplainedSites.h - decisions folded into rows ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_EXPLAINEDSITES_H
#define COMMUTE_LIB_COMPILER_EXPLAINEDSITES_H

#include "commute/Compiler/Explanation.h"

namespace commute::compiler {

ExplainedOp describe(const MentionedOp &op);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_EXPLAINEDSITES_H
