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

/// A dictionary attribute of modules from symbolic sizes to the smallest and
/// the largest value, for a program that is compiled for a range of sizes.
/// Passes decide by prices at the smallest value.
inline constexpr llvm::StringLiteral sizeRangesAttrName = "tp.size_ranges";

/// A unit attribute of modules: the program is that of one rank, and the
/// programs of the other ranks are unknown. They take part in the same
/// collectives, but what they compute in between may be anything. Only rewrites
/// that hold whatever it is are legal.
inline constexpr llvm::StringLiteral unknownRanksAttrName = "tp.unknown_ranks";

/// A unit attribute of modules: the weights and biases of norms are not assumed
/// to be replicated. Inputs have the placements that are stated, and no others.
inline constexpr llvm::StringLiteral noPlacementDefaultsAttrName =
    "tp.no_placement_defaults";

/// A string attribute of modules: the premise under which the groups of other
/// ranks are known, which the program does not state. Verdicts print it.
inline constexpr llvm::StringLiteral groupPremiseAttrName = "tp.group_premise";

/// A string attribute of opaque calls: why the operator, which the vocabulary
/// knows, is not modelled in this form. Completes "not fused: 'mm' uses it: ".
inline constexpr llvm::StringLiteral limitationAttrName = "tp.limitation";

/// A string attribute of inputs that are constant tensors: a hash of the type
/// and the elements that the archive stores. Equal strings are equal tensors.
inline constexpr llvm::StringLiteral contentAttrName = "tp.content";

/// A string attribute of ops that select this rank's part of a value: the name
/// of the value that the graph of this rank was written with in their place.
inline constexpr llvm::StringLiteral writtenNameAttrName = "tp.written_name";

/// The number that an archive stores for an input that is a buffer with one
/// integer. Other weights may be loaded, so it is no constant of the program.
inline constexpr llvm::StringLiteral storedAttrName = "tp.stored";

} // namespace commute::tp

#endif // COMMUTE_DIALECT_CARRIERATTRIBUTES_H
