//===- CarrierAttributes.h - what a program's carrier can say ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_CARRIERATTRIBUTES_H
#define COMMUTE_DIALECT_CARRIERATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace commute::tp {

/// A unit attribute of modules whose carrier can record an argument that is a
/// list of element types. A live fx.Graph can; the export schema has no such
/// argument.
inline constexpr llvm::StringLiteral elementTypeListsAttrName =
    "tp.element_type_lists";

} // namespace commute::tp

#endif // COMMUTE_DIALECT_CARRIERATTRIBUTES_H
