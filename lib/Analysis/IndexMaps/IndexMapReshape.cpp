//===- IndexMapReshape.cpp - index maps under other sizes -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A reshape keeps the row-major order. Its sizes fall into groups of dims with
// equal products, which are reshaped each for itself: a box is cut into runs of
// the row-major order of its group, and these into boxes of the new dims.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/IndexDigits.h"

using namespace mlir;
using namespace commute::analysis;

namespace {

/// Dims [firstOld, lastOld) become [firstNew, lastNew).
struct DimGroup {
  size_t firstOld, lastOld, firstNew, lastNew;
};

/// The new dims of one group of a part of a box.
struct GroupPart {
  SmallVector<SizePolynomial, 4> offsets;
  SmallVector<IndexDigits, 4> dims;
  SizePolynomial base;
};

class GroupReshaper {
public:
  GroupReshaper(ArrayRef<SizePolynomial> oldSizes,
                ArrayRef<SizePolynomial> newSizes)
      : oldSizes(oldSizes), newSizes(newSizes) {}

  /// The parts of a box, given by the group's dims; failure where they cannot
  /// be proven or are too many.
  LogicalResult reshape(ArrayRef<SizePolynomial> offsets,
                        ArrayRef<IndexDigits> dims);
  SmallVector<GroupPart, 0> &getParts() { return parts; }

private:
  /// The run of a box at `position`, or of its part from dim `dim` on.
  LogicalResult addRuns(ArrayRef<SizePolynomial> offsets,
                        ArrayRef<IndexDigits> dims, size_t dim, size_t lastCut,
                        const SizePolynomial &position,
                        const SizePolynomial &base);
  /// Distributes a run over the new dims from `part`'s next one on.
  LogicalResult distribute(ArrayRef<IndexDigit> digits,
                           const SizePolynomial &position,
                           const SizePolynomial &size, const GroupPart &part);
  LogicalResult distributeBlocks(ArrayRef<IndexDigit> digits,
                                 const SizePolynomial &block,
                                 const SizePolynomial &first,
                                 const SizePolynomial &count,
                                 const GroupPart &part);
  /// Distributes the positions [start, start + size) of a run.
  LogicalResult distributeSlice(ArrayRef<IndexDigit> digits,
                                const SizePolynomial &start,
                                const SizePolynomial &size,
                                const SizePolynomial &position,
                                const GroupPart &part);

  ArrayRef<SizePolynomial> oldSizes, newSizes;
  SmallVector<GroupPart, 0> parts;
};

} // namespace

static SmallVector<DimGroup> getGroups(ArrayRef<SizePolynomial> oldSizes,
                                       ArrayRef<SizePolynomial> newSizes) {
  SmallVector<DimGroup> groups;
  size_t i = 0, j = 0;
  while (i < oldSizes.size() || j < newSizes.size()) {
    DimGroup group{i, i, j, j};
    SizePolynomial before = 1, after = 1;
    do {
      bool takeOld = i < oldSizes.size(), takeNew = j < newSizes.size();
      if (takeOld && takeNew && before != after) {
        std::optional<int64_t> a = before.getConstant();
        std::optional<int64_t> b = after.getConstant();
        if (a && b) {
          takeOld = *a < *b;
          takeNew = !takeOld;
        } else if (after.divideExactly(before).isKnown()) {
          takeNew = false;
        } else if (before.divideExactly(after).isKnown()) {
          takeOld = false;
        }
      }
      if (!takeOld && !takeNew)
        break;
      if (takeOld)
        before *= oldSizes[i++];
      if (takeNew)
        after *= newSizes[j++];
    } while (before != after);
    group.lastOld = i;
    group.lastNew = j;
    groups.push_back(group);
  }
  return groups;
}

LogicalResult GroupReshaper::reshape(ArrayRef<SizePolynomial> offsets,
                                     ArrayRef<IndexDigits> dims) {
  if (oldSizes.size() == 1 && newSizes.size() == 1) {
    parts.push_back({{offsets[0]}, {dims[0]}, 0});
    return success();
  }
  // Dims behind the last one that is not whole are runs.
  size_t lastCut = dims.size();
  while (lastCut > 0 && offsets[lastCut - 1].isConstant(0) &&
         getExtent(dims[lastCut - 1]) == oldSizes[lastCut - 1])
    --lastCut;
  return addRuns(offsets, dims, 0, lastCut, 0, 0);
}

LogicalResult GroupReshaper::addRuns(ArrayRef<SizePolynomial> offsets,
                                     ArrayRef<IndexDigits> dims, size_t dim,
                                     size_t lastCut,
                                     const SizePolynomial &position,
                                     const SizePolynomial &base) {
  if (lastCut == 0 || dim + 1 == lastCut) {
    IndexDigits digits;
    for (const IndexDigits &rest : dims.drop_front(dim))
      llvm::append_range(digits, rest);
    SizePolynomial size = getExtent(digits);
    normalizeDigits(digits);
    SizePolynomial start = position;
    if (lastCut > 0)
      start += offsets[dim] * getProduct(oldSizes.drop_front(dim + 1));
    return distribute(digits, start, size, {{}, {}, base});
  }
  std::optional<int64_t> extent = getExtent(dims[dim]).getConstant();
  if (!extent)
    return failure();
  SizePolynomial stride = getProduct(oldSizes.drop_front(dim + 1));
  for (int64_t index = 0; index < *extent; ++index) {
    SmallVector<DigitRun, 0> runs;
    if (parts.size() > IndexMap::maxBoxes ||
        failed(sliceDigits(dims[dim], index, 1, runs)))
      return failure();
    for (const DigitRun &run : runs)
      if (failed(addRuns(offsets, dims, dim + 1, lastCut,
                         position + (offsets[dim] + index) * stride,
                         base + run.base)))
        return failure();
  }
  return success();
}

LogicalResult GroupReshaper::distributeSlice(ArrayRef<IndexDigit> digits,
                                             const SizePolynomial &start,
                                             const SizePolynomial &size,
                                             const SizePolynomial &position,
                                             const GroupPart &part) {
  SmallVector<DigitRun, 0> runs;
  if (failed(sliceDigits(digits, start, size, runs)))
    return failure();
  for (const DigitRun &run : runs) {
    GroupPart next = part;
    next.base += run.base;
    if (failed(distribute(run.digits, position + run.position,
                          getExtent(run.digits), next)))
      return failure();
  }
  return success();
}

LogicalResult GroupReshaper::distributeBlocks(ArrayRef<IndexDigit> digits,
                                              const SizePolynomial &block,
                                              const SizePolynomial &first,
                                              const SizePolynomial &count,
                                              const GroupPart &part) {
  GroupPart next = part;
  next.offsets.push_back(first);
  IndexDigits major, minor;
  if (succeeded(splitDigits(digits, block, major, minor))) {
    next.dims.push_back(std::move(major));
    return distribute(minor, 0, block, next);
  }
  // One block after the other.
  std::optional<int64_t> number = count.getConstant();
  if (!number)
    return failure();
  next.dims.emplace_back();
  for (int64_t index = 0; index < *number; ++index) {
    next.offsets.back() = first + index;
    if (failed(distributeSlice(digits, block * index, block, 0, next)))
      return failure();
  }
  return success();
}

LogicalResult GroupReshaper::distribute(ArrayRef<IndexDigit> digits,
                                        const SizePolynomial &position,
                                        const SizePolynomial &size,
                                        const GroupPart &part) {
  if (parts.size() > IndexMap::maxBoxes)
    return failure();
  size_t dim = part.dims.size();
  if (newSizes.empty()) {
    parts.push_back(part);
    return success();
  }
  if (dim + 1 == newSizes.size()) {
    GroupPart &last = parts.emplace_back(part);
    last.offsets.push_back(position);
    last.dims.emplace_back(digits);
    return success();
  }
  SizePolynomial block = getProduct(newSizes.drop_front(dim + 1));
  auto inBlock = [&](const SizePolynomial &index, const SizePolynomial &start,
                     const SizePolynomial &from,
                     const SizePolynomial &count) -> LogicalResult {
    GroupPart next = part;
    next.offsets.push_back(index);
    next.dims.emplace_back();
    return distributeSlice(digits, start, count, from, next);
  };
  SizePolynomial end = position + size;
  if ((block - end).isNonNegative() && !position.isConstant(0))
    return inBlock(0, 0, position, size);
  std::optional<SizePosition> first = divide(position, block);
  std::optional<SizePosition> last = divide(end, block);
  if (!first || !last)
    return failure();
  if (first->quotient == last->quotient)
    return inBlock(first->quotient, 0, first->remainder, size);
  SizePolynomial start = 0, index = first->quotient;
  if (!first->remainder.isConstant(0)) {
    SizePolynomial count = block - first->remainder;
    if (failed(inBlock(index, 0, first->remainder, count)))
      return failure();
    start = count;
    index += 1;
  }
  SizePolynomial count = last->quotient - index;
  if (!count.isConstant(0)) {
    SmallVector<DigitRun, 0> runs;
    if (failed(sliceDigits(digits, start, count * block, runs)))
      return failure();
    for (const DigitRun &run : runs) {
      GroupPart next = part;
      next.base += run.base;
      // Several runs are shorter than this one, and need not end with blocks.
      if (failed(runs.size() == 1
                     ? distributeBlocks(run.digits, block, index, count, next)
                     : distribute(run.digits, index * block + run.position,
                                  getExtent(run.digits), next)))
        return failure();
    }
    start += count * block;
  }
  if (last->remainder.isConstant(0))
    return success();
  return inBlock(last->quotient, start, 0, last->remainder);
}

std::optional<IndexMap>
IndexMap::reshape(ArrayRef<SizePolynomial> newSizes) const {
  IndexMap map;
  map.sizes.assign(newSizes.begin(), newSizes.end());
  if (getProduct(sizes) != getProduct(newSizes))
    return std::nullopt;
  SmallVector<DimGroup> groups = getGroups(sizes, newSizes);
  for (const IndexBox &box : boxes) {
    // Every combination of the groups' parts.
    SmallVector<IndexBox, 0> combined(1);
    combined[0].base = box.base;
    for (const DimGroup &group : groups) {
      auto takeOld = [&](auto list) {
        return list.slice(group.firstOld, group.lastOld - group.firstOld);
      };
      GroupReshaper reshaper(
          takeOld(ArrayRef<SizePolynomial>(sizes)),
          ArrayRef(newSizes).slice(group.firstNew,
                                   group.lastNew - group.firstNew));
      if (failed(reshaper.reshape(takeOld(ArrayRef(box.offsets)),
                                  takeOld(ArrayRef(box.dims)))))
        return std::nullopt;
      SmallVector<IndexBox, 0> next;
      for (const IndexBox &prefix : combined)
        for (const GroupPart &part : reshaper.getParts()) {
          if (map.boxes.size() + next.size() > maxBoxes)
            return std::nullopt;
          IndexBox &extended = next.emplace_back(prefix);
          llvm::append_range(extended.offsets, part.offsets);
          llvm::append_range(extended.dims, part.dims);
          extended.base += part.base;
        }
      combined = std::move(next);
    }
    map.boxes.append(std::make_move_iterator(combined.begin()),
                     std::make_move_iterator(combined.end()));
  }
  return map;
}
