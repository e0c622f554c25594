//===- LlvmStatistic.h - statistics as in an LLVM without assertions ------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Included first in every source file. llvm::Statistic, the base of the
// counters of MLIR's passes, is a class of another size with NDEBUG than
// without, and libMLIRPass constructs it: a build with assertions must take the
// class of the library, which has none.
//
//===----------------------------------------------------------------------===//

#ifndef NDEBUG
#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG
#endif
