//===- DenseOperandLaws.h - dense inputs for collectives --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// collective(x) = collective(copy(x)): the laws of contiguous-collectives.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_DENSEOPERANDLAWS_H
#define COMMUTE_LIB_TRANSFORMS_DENSEOPERANDLAWS_H

#include "Law.h"

namespace commute {

/// Makes operands dense that have to be, and are not proven to be.
std::unique_ptr<LawGroup> makeDenseOperandLaws();
/// Copies the operands that AutoParallel's pass copies, for comparison.
std::unique_ptr<LawGroup> makeUpstreamCopyLaws();

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_DENSEOPERANDLAWS_H
