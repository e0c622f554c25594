//===- BlockedRows.h - the rows of a rank's block ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_BLOCKEDROWS_H
#define COMMUTE_LIB_RUNTIME_BLOCKEDROWS_H

#include "commute/Runtime/Tensor.h"

#include <algorithm>
#include <vector>

namespace commute::runtime {

/// A tensor of which each member of a group has a block along one dim: of
/// sizes [outer, members, inner, width], of which a block is one along the
/// second. Blocks are cut into rows of `width` elements.
struct BlockedRows {
  int64_t outer = 1;
  int64_t members = 1;
  int64_t inner = 1;
  int64_t width = 1;

  /// `block` are the sizes of one block along `dim`. Rows go along the last
  /// dim.
  BlockedRows(llvm::ArrayRef<int64_t> block, int64_t dim, int64_t members);

  int64_t getNumRows() const { return outer * inner; }
  /// Calls `visit` with the first row in the block, the first in the whole
  /// tensor, and the number of rows, for each run of rows [begin, end) of a
  /// block that lie together.
  template <typename Visitor>
  void forEachRun(int64_t position, int64_t begin, int64_t end,
                  Visitor visit) const {
    while (begin < end) {
      int64_t count = std::min(end - begin, inner - begin % inner);
      int64_t whole =
          (begin / inner * members + position) * inner + begin % inner;
      visit(begin, whole, count);
      begin += count;
    }
  }
  bool isOneRun(int64_t begin, int64_t end) const {
    return begin < end && begin / inner == (end - 1) / inner;
  }
};

/// How the rows of a block are cut into pieces, which are alike but at the end
/// that nothing overlaps with.
class Pieces {
public:
  /// Small pieces come first where transfers wait for what is computed, last
  /// where what is computed waits for transfers.
  enum class Small { First, Last };

  Pieces(int64_t rows, int64_t rowBytes, int64_t numMembers, Small small);
  int64_t getCount() const { return begins.size() - 1; }
  int64_t getBegin(int64_t index) const { return begins[index]; }
  int64_t getEnd(int64_t index) const { return begins[index + 1]; }
  int64_t getSize(int64_t index) const {
    return getEnd(index) - getBegin(index);
  }

private:
  /// The first row of each, and the number of rows.
  std::vector<int64_t> begins;
};

/// Rows of `columns` elements that lie together, where they are.
std::shared_ptr<Tensor> viewRows(const Tensor &tensor, int64_t first,
                                 int64_t count, int64_t columns);
/// Rows [begin, end) of the block at `position`; shared where they lie
/// together.
TensorValue readRows(const Tensor &whole, const BlockedRows &blocked,
                     int64_t position, int64_t begin, int64_t end);
/// Puts rows [begin, end) of the block at `position` in their places.
void writeRows(const Tensor &rows, Tensor &whole, const BlockedRows &blocked,
               int64_t position, int64_t begin, int64_t end);

/// Where rows [begin, end) of a block of `whole` are computed: in their place
/// where they lie together there, else elsewhere, and `store` moves them.
class RowsInPlace {
public:
  RowsInPlace(Tensor &whole, const BlockedRows &blocked, int64_t position,
              int64_t begin, int64_t end);
  Tensor &get() { return *rows; }
  void store();

private:
  Tensor &whole;
  const BlockedRows &blocked;
  int64_t position, begin, end;
  bool isElsewhere;
  std::shared_ptr<Tensor> rows;
};

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_BLOCKEDROWS_H
