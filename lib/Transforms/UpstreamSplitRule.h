//===- UpstreamSplitRule.h - Inductor's rule for linears of cats *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_UPSTREAMSPLITRULE_H
#define COMMUTE_LIB_TRANSFORMS_UPSTREAMSPLITRULE_H

#include "SplitRewrite.h"

namespace commute {

/// Why the pass for linears of concatenations that was proposed for Inductor
/// (pytorch/pytorch#186641) leaves a product alone; empty where it takes it.
std::string findUpstreamObjection(const analysis::PartialProducts &products);

/// How it writes the sum: products added afterwards, the bias with the first,
/// slices of the weight copied.
SplitForm getUpstreamForm();

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_UPSTREAMSPLITRULE_H
