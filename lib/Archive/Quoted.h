//===- Quoted.h - names from a file in messages -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_QUOTED_H
#define COMMUTE_LIB_ARCHIVE_QUOTED_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace commute::archive {

/// 'name', fit for a terminal: control characters escaped, cut when very long.
std::string quoted(llvm::StringRef name);

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_QUOTED_H
