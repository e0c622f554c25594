//===- IndexMap.cpp - which element stands where ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/IndexMaps/IndexMap.h"

#include "IndexMaps/IndexDigits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute::analysis;

static bool hasNoElements(ArrayRef<SizePolynomial> sizes) {
  return llvm::any_of(
      sizes, [](const SizePolynomial &size) { return size.isConstant(0); });
}

IndexMap IndexMap::getIdentity(ArrayRef<SizePolynomial> sizes) {
  IndexMap map;
  map.sizes.assign(sizes.begin(), sizes.end());
  if (hasNoElements(sizes))
    return map;
  IndexBox box;
  box.offsets.assign(sizes.size(), 0);
  box.dims.resize(sizes.size());
  SizePolynomial stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    box.dims[dim].push_back({sizes[dim], stride});
    normalizeDigits(box.dims[dim]);
    stride *= sizes[dim];
  }
  map.boxes.push_back(std::move(box));
  return map;
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Replaces `dim` of a box by runs of it, which begin at `offset`.
static void addRuns(const IndexBox &box, unsigned dim,
                    const SizePolynomial &offset, ArrayRef<DigitRun> runs,
                    SmallVectorImpl<IndexBox> &boxes) {
  for (const DigitRun &run : runs) {
    IndexBox &part = boxes.emplace_back(box);
    part.offsets[dim] = offset + run.position;
    part.dims[dim] = run.digits;
    part.base += run.base;
  }
}

namespace {
/// Positions along a dim.
struct Interval {
  SizePolynomial begin;
  SizePolynomial end;
};
} // namespace

/// What two intervals share, empty where that is nothing; nullopt where it
/// depends on symbols.
static std::optional<Interval> intersect(const Interval &a, const Interval &b) {
  auto isAtMost = [](const SizePolynomial &lhs, const SizePolynomial &rhs) {
    return (rhs - lhs).isNonNegative();
  };
  if (isAtMost(a.end, b.begin) || isAtMost(b.end, a.begin))
    return Interval{0, 0};
  Interval result;
  if (isAtMost(a.begin, b.begin))
    result.begin = b.begin;
  else if (isAtMost(b.begin, a.begin))
    result.begin = a.begin;
  else
    return std::nullopt;
  if (isAtMost(a.end, b.end))
    result.end = a.end;
  else if (isAtMost(b.end, a.end))
    result.end = b.end;
  else
    return std::nullopt;
  return result;
}

static Interval getInterval(const IndexBox &box, unsigned dim) {
  return {box.offsets[dim], box.offsets[dim] + getExtent(box.dims[dim])};
}

/// The part of a box in `range` of a dim; failure where that is not provable.
static LogicalResult cut(const IndexBox &box, unsigned dim,
                         const Interval &range,
                         SmallVectorImpl<IndexBox> &boxes) {
  std::optional<Interval> common = intersect(getInterval(box, dim), range);
  if (!common)
    return failure();
  SmallVector<DigitRun, 0> runs;
  if (failed(sliceDigits(box.dims[dim], common->begin - box.offsets[dim],
                         common->end - common->begin, runs)))
    return failure();
  addRuns(box, dim, common->begin, runs, boxes);
  return success();
}

/// Every step-th position of a box from `start` on, as boxes at their places in
/// the slice.
static LogicalResult cutSteps(const IndexBox &box, unsigned dim, int64_t start,
                              int64_t step, int64_t size,
                              SmallVectorImpl<IndexBox> &boxes) {
  Interval interval = getInterval(box, dim);
  std::optional<int64_t> begin = interval.begin.getConstant();
  std::optional<int64_t> end = interval.end.getConstant();
  if (!begin || !end)
    return failure();
  // The positions of the slice that fall into the box.
  int64_t first = *begin <= start ? 0 : llvm::divideCeil(*begin - start, step);
  int64_t last = *end <= start ? 0 : llvm::divideCeil(*end - start, step);
  last = std::min(last, size);
  for (int64_t index = first; index < last; ++index) {
    if (boxes.size() > IndexMap::maxBoxes)
      return failure();
    SizePolynomial position = start + index * step - *begin;
    SmallVector<DigitRun, 0> runs;
    if (box.dims[dim].size() == 1) {
      const SizePolynomial &stride = box.dims[dim][0].stride;
      runs.push_back({0, {{last - index, stride * step}}, position * stride});
      normalizeDigits(runs[0].digits);
      addRuns(box, dim, index, runs, boxes);
      return success();
    }
    if (failed(sliceDigits(box.dims[dim], position, 1, runs)))
      return failure();
    addRuns(box, dim, index, runs, boxes);
  }
  return success();
}

std::optional<IndexMap> IndexMap::slice(unsigned dim,
                                        const SizePolynomial &start,
                                        int64_t step,
                                        const SizePolynomial &size) const {
  IndexMap map;
  map.sizes = sizes;
  map.sizes[dim] = size;
  if (hasNoElements(map.sizes))
    return map;
  std::optional<int64_t> number = size.getConstant();
  std::optional<int64_t> begin = start.getConstant();
  for (const IndexBox &box : boxes) {
    size_t first = map.boxes.size();
    if (step == 1) {
      if (failed(cut(box, dim, {start, start + size}, map.boxes)))
        return std::nullopt;
      for (IndexBox &part : MutableArrayRef(map.boxes).drop_front(first))
        part.offsets[dim] = part.offsets[dim] - start;
    } else if (!number || !begin ||
               failed(cutSteps(box, dim, *begin, step, *number, map.boxes))) {
      return std::nullopt;
    }
    if (map.boxes.size() > maxBoxes)
      return std::nullopt;
  }
  return map;
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

/// Makes one box of two where the second continues the first along `dim`.
static bool tryMerge(IndexBox &box, const IndexBox &next, unsigned dim) {
  for (size_t other = 0; other < box.dims.size(); ++other)
    if (other != dim && (box.offsets[other] != next.offsets[other] ||
                         box.dims[other] != next.dims[other]))
      return false;
  ArrayRef<IndexDigit> digits = box.dims[dim], nextDigits = next.dims[dim];
  if (next.offsets[dim] != box.offsets[dim] + getExtent(digits))
    return false;
  SizePolynomial distance = next.base - box.base;
  // Both count some of the same blocks; a box may be a single block.
  for (bool hasMajor : {true, false})
    for (bool nextHasMajor : {true, false}) {
      if ((hasMajor && digits.empty()) || (nextHasMajor && nextDigits.empty()))
        continue;
      SizePolynomial count = hasMajor ? digits.front().extent : 1;
      SizePolynomial nextCount = nextHasMajor ? nextDigits.front().extent : 1;
      SizePolynomial stride = hasMajor       ? digits.front().stride
                              : nextHasMajor ? nextDigits.front().stride
                                             : distance;
      if (digits.drop_front(hasMajor) != nextDigits.drop_front(nextHasMajor) ||
          (nextHasMajor && nextDigits.front().stride != stride) ||
          distance != count * stride)
        continue;
      IndexDigits merged{{count + nextCount, stride}};
      llvm::append_range(merged, digits.drop_front(hasMajor));
      normalizeDigits(merged);
      box.dims[dim] = std::move(merged);
      return true;
    }
  return false;
}

std::optional<IndexMap> IndexMap::concat(ArrayRef<const IndexMap *> maps,
                                         unsigned dim) {
  IndexMap map;
  map.sizes = maps.front()->sizes;
  map.sizes[dim] = 0;
  for (const IndexMap *part : maps) {
    for (const IndexBox &box : part->boxes) {
      map.boxes.push_back(box);
      map.boxes.back().offsets[dim] += map.sizes[dim];
      while (map.boxes.size() > 1 &&
             tryMerge(map.boxes[map.boxes.size() - 2], map.boxes.back(), dim))
        map.boxes.pop_back();
    }
    if (map.boxes.size() > maxBoxes)
      return std::nullopt;
    map.sizes[dim] += part->sizes[dim];
  }
  return map;
}

std::optional<IndexMap> IndexMap::repeat(unsigned dim, int64_t count,
                                         const SizePolynomial &distance) const {
  IndexMap map;
  map.sizes = sizes;
  map.sizes[dim] *= count;
  for (const IndexBox &box : boxes) {
    bool isWhole = box.offsets[dim].isConstant(0) &&
                   getExtent(box.dims[dim]) == sizes[dim];
    if (isWhole) {
      map.boxes.push_back(box);
      IndexDigits &digits = map.boxes.back().dims[dim];
      digits.insert(digits.begin(), {count, distance});
      normalizeDigits(digits);
      continue;
    }
    for (int64_t index = 0; index < count; ++index) {
      if (map.boxes.size() > maxBoxes)
        return std::nullopt;
      map.boxes.push_back(box);
      map.boxes.back().offsets[dim] += sizes[dim] * index;
      map.boxes.back().base += distance * index;
    }
  }
  return map;
}

//===----------------------------------------------------------------------===//
// Permutations and broadcasts
//===----------------------------------------------------------------------===//

IndexMap IndexMap::permute(ArrayRef<int64_t> permutation) const {
  IndexMap map;
  for (int64_t dim : permutation)
    map.sizes.push_back(sizes[dim]);
  for (const IndexBox &box : boxes) {
    IndexBox &moved = map.boxes.emplace_back();
    moved.base = box.base;
    for (int64_t dim : permutation) {
      moved.offsets.push_back(box.offsets[dim]);
      moved.dims.push_back(box.dims[dim]);
    }
  }
  return map;
}

std::optional<IndexMap>
IndexMap::broadcast(ArrayRef<SizePolynomial> newSizes) const {
  IndexMap map;
  map.sizes.assign(newSizes.begin(), newSizes.end());
  if (hasNoElements(newSizes))
    return map;
  size_t numNew = newSizes.size() - sizes.size();
  for (const IndexBox &box : boxes) {
    IndexBox &repeated = map.boxes.emplace_back();
    repeated.base = box.base;
    repeated.offsets.assign(numNew, 0);
    repeated.dims.resize(numNew);
    llvm::append_range(repeated.offsets, box.offsets);
    llvm::append_range(repeated.dims, box.dims);
    for (size_t dim = 0; dim < newSizes.size(); ++dim) {
      if (dim >= numNew && sizes[dim - numNew] == newSizes[dim])
        continue;
      // A size that is not known may be 1 or not.
      if (dim >= numNew && !sizes[dim - numNew].isConstant(1))
        return std::nullopt;
      repeated.dims[dim] = {{newSizes[dim], 0}};
      normalizeDigits(repeated.dims[dim]);
    }
  }
  return map;
}

//===----------------------------------------------------------------------===//
// Equality
//===----------------------------------------------------------------------===//

/// The part of a box that another one covers as well.
static LogicalResult cut(const IndexBox &box, const IndexBox &region,
                         SmallVectorImpl<IndexBox> &boxes) {
  boxes.push_back(box);
  for (unsigned dim = 0; dim < box.dims.size(); ++dim) {
    SmallVector<IndexBox, 0> parts;
    for (const IndexBox &part : boxes)
      if (failed(cut(part, dim, getInterval(region, dim), parts)))
        return failure();
    boxes.assign(std::make_move_iterator(parts.begin()),
                 std::make_move_iterator(parts.end()));
  }
  return success();
}

/// Whether two boxes put the same elements where both put any. Digits are
/// unique, so that only boxes of one extent have to be compared.
static bool agree(const IndexBox &a, const IndexBox &b) {
  if (a.offsets == b.offsets && a.dims == b.dims)
    return a.base == b.base;
  SmallVector<IndexBox, 0> ofA, ofB;
  if (failed(cut(a, b, ofA)) || failed(cut(b, a, ofB)))
    return false;
  if (ofA.size() == 1 && ofB.size() == 1)
    return ofA[0].offsets == ofB[0].offsets && ofA[0].dims == ofB[0].dims &&
           ofA[0].base == ofB[0].base;
  return llvm::all_of(ofA, [&](const IndexBox &partOfA) {
    return llvm::all_of(
        ofB, [&](const IndexBox &partOfB) { return agree(partOfA, partOfB); });
  });
}

static bool coversAll(const IndexBox &box, ArrayRef<SizePolynomial> sizes) {
  return llvm::all_of(llvm::seq<size_t>(0, sizes.size()), [&](size_t dim) {
    return box.offsets[dim].isConstant(0) &&
           getExtent(box.dims[dim]) == sizes[dim];
  });
}

bool IndexMap::isSameAs(const IndexMap &other) const {
  if (sizes != other.sizes)
    return false;
  // Mostly the same boxes in the same order: no need to compare all with all.
  auto isEqual = [](const IndexBox &a, const IndexBox &b) {
    return a.offsets == b.offsets && a.dims == b.dims && a.base == b.base;
  };
  if (llvm::equal(boxes, other.boxes, isEqual))
    return true;
  // Or one box for all, whose digits are unique.
  if (boxes.size() == 1 && other.boxes.size() == 1 &&
      coversAll(boxes.front(), sizes) && coversAll(other.boxes.front(), sizes))
    return false;
  return llvm::all_of(boxes, [&](const IndexBox &box) {
    return llvm::all_of(other.boxes, [&](const IndexBox &otherBox) {
      return agree(box, otherBox);
    });
  });
}
