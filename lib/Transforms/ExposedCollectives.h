//===- ExposedCollectives.h - what products do not hide ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_EXPOSEDCOLLECTIVES_H
#define COMMUTE_LIB_TRANSFORMS_EXPOSEDCOLLECTIVES_H

#include "commute/Target/PriceModel.h"

namespace commute {

/// Returns by how many seconds a collective over `bytes` prolongs these
/// products if it is fused with them, which splits their rows into as many
/// parts as the group has members; nullopt if a size is unknown. The products
/// have `scale` times as many rows as stated.
std::optional<double> getExposedSeconds(const tp::Communication &communication,
                                        tp::GroupAttr group,
                                        llvm::ArrayRef<tp::MatmulOp> products,
                                        double scale,
                                        const target::PriceModel &price);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_EXPOSEDCOLLECTIVES_H
