//===- Rearrangements.cpp - relations other than shards -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Rearrangements.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <numeric>

using namespace commute;
using namespace commute::refinement;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

static constexpr size_t mostFound = 256;
static constexpr StringRef outputName = "output";

/// Replaces all names in a relation.
static Relation replaceNames(Relation relation, const Relation &replacement) {
  if (relation.kind == Relation::Kind::Name)
    return replacement;
  for (Relation &operand : relation.operands)
    operand = replaceNames(std::move(operand), replacement);
  return relation;
}

/// Returns the name that a relation is over, or an empty one if it is over none
/// or several.
static StringRef getOnlyName(const Relation &relation) {
  if (relation.kind == Relation::Kind::Name)
    return relation.name;
  StringRef found;
  for (const Relation &operand : relation.operands) {
    StringRef name = getOnlyName(operand);
    if (name.empty() || (!found.empty() && name != found))
      return "";
    found = name;
  }
  return found;
}

static bool moves(const Relation &relation) {
  using Kind = Relation::Kind;
  return llvm::is_contained({Kind::Concat, Kind::Permute, Kind::Reshape},
                            relation.kind) ||
         llvm::any_of(relation.operands, moves);
}

/// The shards of `count` equal parts along a dim.
static Relation makePacked(unsigned dim, int64_t size, int64_t count,
                           StringRef axis) {
  Relation packed;
  packed.kind = Relation::Kind::Concat;
  packed.dim = dim;
  for (int64_t index = 0; index < count; ++index) {
    Relation part;
    part.kind = Relation::Kind::Split;
    part.operands = {Relation::makeName(outputName)};
    part.numbers.assign(count, size / count);
    part.dim = dim;
    part.index = index;
    packed.operands.push_back(Relation::makeShard(std::move(part), dim, axis));
  }
  return packed;
}

std::vector<Rearrangement>
refinement::findRearrangements(const Mesh &mesh, ArrayRef<int64_t> whole,
                               ArrayRef<int64_t> own, int64_t rank,
                               ArrayRef<Relation> inputs) {
  std::vector<Rearrangement> found;
  auto add = [&](Relation relation, bool isSuggested) {
    if (found.size() < mostFound)
      found.push_back({std::move(relation), isSuggested});
  };
  Relation output = Relation::makeName(outputName);
  for (const Relation &input : inputs)
    if (moves(input) && !getOnlyName(input).empty())
      add(replaceNames(input, output), /*isSuggested=*/true);

  // Tensors that could be shards are not meant to be transposed.
  bool mayBeShard = !findShardings(mesh, whole, own, rank, outputName).empty();
  auto addShardings = [&](ArrayRef<int64_t> sizes, const Relation &of) {
    for (const Relation &sharding :
         findShardings(mesh, sizes, own, rank, outputName))
      add(replaceNames(sharding, of), !mayBeShard);
  };
  constexpr size_t mostDims = 5;
  if (whole.size() == own.size() && whole.size() <= mostDims) {
    SmallVector<int64_t> order(whole.size());
    std::iota(order.begin(), order.end(), 0);
    while (std::next_permutation(order.begin(), order.end())) {
      Relation permuted;
      permuted.kind = Relation::Kind::Permute;
      permuted.operands = {output};
      permuted.numbers.assign(order.begin(), order.end());
      SmallVector<int64_t> sizes;
      for (int64_t dim : order)
        sizes.push_back(whole[dim]);
      addShardings(sizes, permuted);
    }
  }

  auto addReshaped = [&](ArrayRef<int64_t> sizes) {
    if (llvm::product_of(sizes) != llvm::product_of(whole) || sizes == whole)
      return;
    Relation reshaped;
    reshaped.kind = Relation::Kind::Reshape;
    reshaped.operands = {output};
    reshaped.numbers.assign(sizes.begin(), sizes.end());
    addShardings(sizes, reshaped);
  };
  addReshaped(own);
  for (const auto &[axis, groups] : mesh.getAxes()) {
    const std::vector<int64_t> *members = mesh.getMembers(axis, rank);
    if (!members || members->size() < 2)
      continue;
    auto count = static_cast<int64_t>(members->size());
    for (size_t dim = 0; dim < own.size(); ++dim) {
      SmallVector<int64_t> sizes(own);
      sizes[dim] *= count;
      addReshaped(sizes);
      if (sizes != whole)
        continue;
      constexpr int64_t mostParts = 4;
      for (int64_t parts = 2; parts <= mostParts; ++parts)
        if (whole[dim] % (parts * count) == 0)
          add(makePacked(dim, whole[dim], parts, axis), /*isSuggested=*/false);
    }
  }
  return found;
}
