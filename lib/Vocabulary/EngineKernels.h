//===- EngineKernels.h - kernels of serving engines -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_ENGINEKERNELS_H
#define COMMUTE_LIB_VOCABULARY_ENGINEKERNELS_H

#include "commute/Vocabulary/Vocabulary.h"

namespace commute::vocabulary {

/// Adds the operators of torch.ops.commute.
void addEngineKernels(Vocabulary &vocabulary);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_ENGINEKERNELS_H
