//===- ReassemblyRefusal.cpp - what is wrong with a reassembly --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/ReindexMaps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

namespace {

/// The operands of a concatenation as slices along one dim of the whole.
struct Slices {
  int64_t dim;
  /// Of the whole along that dim.
  int64_t size;
  SmallVector<std::pair<int64_t, int64_t>> ranges;
};

} // namespace

/// The positions along `dim` of `whole` that `part` is; nullopt where it is
/// anything else.
static std::optional<std::pair<int64_t, int64_t>>
getRange(const IndexMap &part, const IndexMap &whole, int64_t dim) {
  if (part.getSizes().size() != whole.getSizes().size() ||
      part.getBoxes().empty())
    return std::nullopt;
  SizePolynomial stride = getProduct(whole.getSizes().drop_front(dim + 1));
  std::optional<int64_t> start =
      part.getBoxes().front().base.divideExactly(stride).getConstant();
  std::optional<int64_t> size = part.getSizes()[dim].getConstant();
  std::optional<int64_t> available = whole.getSizes()[dim].getConstant();
  if (!start || !size || !available || *start < 0 ||
      *start > *available - *size)
    return std::nullopt;
  std::optional<IndexMap> slice = whole.slice(dim, *start, 1, *size);
  if (!slice || !slice->isSameAs(part))
    return std::nullopt;
  return std::pair(*start, *start + *size);
}

static std::optional<Slices> findSlices(tp::ConcatOp concat,
                                        const ReindexMaps &maps,
                                        const IndexMap &whole) {
  for (size_t dim = 0; dim < whole.getSizes().size(); ++dim) {
    Slices slices;
    slices.dim = dim;
    for (Value input : concat.getInputs()) {
      const IndexMap *map = maps.get(input);
      auto range = map ? getRange(*map, whole, dim) : std::nullopt;
      if (!range)
        break;
      slices.ranges.push_back(*range);
    }
    if (slices.ranges.size() != concat.getInputs().size())
      continue;
    slices.size = *whole.getSizes()[dim].getConstant();
    return slices;
  }
  return std::nullopt;
}

/// Describes slices that are each a whole block of one rank, but are in the
/// wrong order, missing or repeated.
static std::optional<Refusal>
describeBlocks(const Slices &slices, int64_t numRanks, StringRef block) {
  int64_t size = slices.size / numRanks;
  SmallVector<int64_t> positions;
  for (auto [begin, end] : slices.ranges) {
    if (end - begin != size || begin % size != 0)
      return std::nullopt;
    positions.push_back(begin / size);
  }
  auto isThere = [&](int64_t position) {
    return llvm::is_contained(positions, position);
  };
  auto missing = llvm::find_if_not(llvm::seq<int64_t>(0, numRanks), isThere);
  std::string left;
  if (*missing != numRanks)
    left = llvm::formatv("leaves out {0} {1}", block, *missing);
  for (int64_t position : positions)
    if (llvm::count(positions, position) > 1)
      return Refusal{nullptr, RefusalCode::Duplicate,
                     llvm::formatv("takes {0} {1} more than once{2}{3}", block,
                                   position, left.empty() ? "" : " and ",
                                   left)};
  if (!left.empty())
    return Refusal{nullptr, RefusalCode::Gap,
                   llvm::formatv("{0} of {1}", left, numRanks)};
  if (llvm::is_sorted(positions))
    return std::nullopt;
  return Refusal{
      nullptr, RefusalCode::Order,
      llvm::formatv("takes the {0}s in the order {1:$[, ]}, not in "
                    "the order of the group",
                    block,
                    llvm::make_range(positions.begin(), positions.end()))};
}

static Refusal describeSlices(const Slices &slices, int64_t numRanks,
                              StringRef block) {
  if (std::optional<Refusal> refusal = describeBlocks(slices, numRanks, block))
    return *refusal;
  int64_t size = slices.size / numRanks;
  int64_t position = 0;
  for (auto [index, range] : llvm::enumerate(slices.ranges)) {
    auto [begin, end] = range;
    if (begin != position && begin % size != 0)
      return {nullptr, RefusalCode::Window,
              llvm::formatv("takes {1} to {2} of dim {3} as slice {0}, which "
                            "starts inside a {4} (size {5})",
                            index, begin, end, slices.dim, block, size)};
    if (begin < position)
      return {nullptr, RefusalCode::Overlap,
              llvm::formatv("takes {1} to {2} of dim {3} as slice {0}, after "
                            "everything before {4} was already taken",
                            index, begin, end, slices.dim, position)};
    if (begin > position)
      return {nullptr, RefusalCode::Gap,
              llvm::formatv("leaves out {0} to {1} of dim {2}", position, begin,
                            slices.dim)};
    position = end;
  }
  if (position < slices.size)
    return {nullptr, RefusalCode::Trim,
            llvm::formatv("ends at {0} of {1} of dim {2}, before the "
                          "end of the last {3}",
                          position, slices.size, slices.dim, block)};
  return {nullptr, RefusalCode::Count,
          llvm::formatv("takes {0} slices instead of one of size {1} for each "
                        "of the {2} ranks of the group",
                        slices.ranges.size(), size, numRanks)};
}

Refusal commute::analysis::describeReassembly(tp::ConcatOp concat,
                                              const ReindexMaps &maps,
                                              Value whole, int64_t axis,
                                              int64_t numRanks, bool isGather) {
  std::string kept = "kept along dim " + std::to_string(axis) + ": ";
  std::string name = "the concatenation " + getNodeName(concat);
  const IndexMap *map = maps.get(whole);
  std::optional<Slices> slices =
      map ? findSlices(concat, maps, *map) : std::nullopt;
  if (!slices || slices->size < numRanks)
    return {nullptr, RefusalCode::Layout,
            kept + "cannot prove that " + name +
                (isGather ? " concatenates the shards along any dim"
                          : " concatenates the blocks of any dim in order")};
  Refusal refusal =
      describeSlices(*slices, numRanks, isGather ? "shard" : "block");
  refusal.reason = kept + name + " " + refusal.reason;
  return refusal;
}
