//===- CutPoints.cpp - where two programs are at the same place -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CutPoints.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {
/// What two programs may have in common: the names of ops, and uses of inputs.
struct Landmarks {
  explicit Landmarks(func::FuncOp function);

  DenseMap<StringAttr, unsigned> named;
  /// By argument: the positions of its users, in ascending order.
  std::vector<SmallVector<unsigned, 2>> usesOfInputs;
};
} // namespace

Landmarks::Landmarks(func::FuncOp function)
    : usesOfInputs(function.getNumArguments()) {
  unsigned position = 0;
  for (Operation &op : function.getBody().front()) {
    if (auto names = op.getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName))
      for (Attribute name : names)
        if (auto text = dyn_cast<StringAttr>(name))
          named.try_emplace(text, position);
    for (Value operand : op.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand)) {
        auto &uses = usesOfInputs[argument.getArgNumber()];
        if (uses.empty() || uses.back() != position)
          uses.push_back(position);
      }
    ++position;
  }
}

/// Returns the longest subsequence of `points`, which are ascending in `first`,
/// that is ascending in both.
static std::vector<CutPoint> keepAscending(ArrayRef<CutPoint> points) {
  // By length of a subsequence, the subsequence with the lowest end.
  std::vector<size_t> ends;
  std::vector<size_t> previous(points.size());
  for (auto [index, point] : llvm::enumerate(points)) {
    auto end = llvm::lower_bound(ends, point.second, [&](size_t a, unsigned b) {
      return points[a].second < b;
    });
    // Of several points with the same place in the second program, take the
    // first.
    if (end != ends.end() && points[*end].second == point.second)
      continue;
    previous[index] = end == ends.begin() ? index : *(end - 1);
    if (end == ends.end())
      ends.push_back(index);
    else
      *end = index;
  }
  std::vector<CutPoint> result;
  if (ends.empty())
    return result;
  for (size_t index = ends.back();; index = previous[index]) {
    result.push_back(points[index]);
    if (previous[index] == index)
      break;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<CutPoint> equivalence::findCutPoints(func::FuncOp first,
                                                 func::FuncOp second) {
  Landmarks a(first), b(second);
  std::vector<CutPoint> points;
  for (auto [name, position] : a.named)
    if (auto other = b.named.find(name); other != b.named.end())
      points.push_back({position, other->second});
  for (auto [aUses, bUses] : llvm::zip_equal(a.usesOfInputs, b.usesOfInputs)) {
    // If one program uses an input more often, only its first uses are matched.
    size_t count =
        aUses.size() == bUses.size()
            ? aUses.size()
            : std::min<size_t>({aUses.size(), bUses.size(), size_t(1)});
    for (size_t index = 0; index < count; ++index)
      points.push_back({aUses[index], bUses[index]});
  }
  // Keep one point for each position of the first program. Of several, a low
  // one leaves the most room for others.
  llvm::sort(points, [](CutPoint x, CutPoint y) {
    return std::tie(x.first, x.second) < std::tie(y.first, y.second);
  });
  points.erase(
      std::unique(points.begin(), points.end(),
                  [](CutPoint x, CutPoint y) { return x.first == y.first; }),
      points.end());
  return keepAscending(points);
}
