//===- ReindexingLaws.h - collectives amid reindexing -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REINDEXINGLAWS_H
#define COMMUTE_LIB_TRANSFORMS_REINDEXINGLAWS_H

#include "Law.h"

namespace commute {

/// A concatenation that reassembles a gathered value is that value.
std::unique_ptr<LawGroup> makeIdentityLaws();
/// A collective along dim 0 amid reindexing is one along another dim.
std::unique_ptr<LawGroup> makeAxisLaws();
/// Collectives over the axes of a mesh are one over their product.
std::unique_ptr<LawGroup> makeChainLaws();

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REINDEXINGLAWS_H
