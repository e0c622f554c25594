//===- Quoted.h - quoted names in messages ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_SUPPORT_QUOTED_H
#define COMMUTE_SUPPORT_QUOTED_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace commute {

/// Returns 'name' for display on a terminal: control characters are escaped,
/// and very long names are truncated.
std::string quoted(llvm::StringRef name);

} // namespace commute

#endif // COMMUTE_SUPPORT_QUOTED_H
