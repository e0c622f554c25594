//===- NamePattern.h - one name for those of all layers ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_SUPPORT_NAMEPATTERN_H
#define COMMUTE_SUPPORT_NAMEPATTERN_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace commute {

/// Replaces whole numbers between dots by '*', so that the names of all layers
/// are one: "layers.3.norm.weight" gives "layers.*.norm.weight".
std::string getNamePattern(llvm::StringRef name);

} // namespace commute

#endif // COMMUTE_SUPPORT_NAMEPATTERN_H
