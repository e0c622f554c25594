//===- KnownCall.h - calls in terms of known operators ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_KNOWNCALL_H
#define COMMUTE_LIB_VOCABULARY_KNOWNCALL_H

#include "commute/Vocabulary/OperatorAlias.h"

#include "llvm/Support/Error.h"

namespace commute::vocabulary {

/// Returns a node as a call of the known operator by which `alias` defines the
/// node's operator. An error states why this call does not match the
/// definition; it is then no call of the known operator.
llvm::Expected<archive::Node> getKnownCall(const archive::Node &node,
                                           const OperatorAlias &alias);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_KNOWNCALL_H
