//===- BlockedRows.h - rows of a rank's block -------------------*- C++ -*-===//
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

/// A tensor in which each member of a group has a block along one dim. Its
/// sizes are [outer, members, inner, width], and a block is one index of
/// `members`. The rows of a block have `width` elements.
struct BlockedRows {
  int64_t outer = 1;
  int64_t members = 1;
  int64_t inner = 1;
  int64_t width = 1;

  /// `block` contains the sizes of one block, which is along `dim`. Rows are
  /// along the last dim.
  BlockedRows(llvm::ArrayRef<int64_t> block, int64_t dim, int64_t members);

  int64_t getNumRows() const { return outer * inner; }
  /// Calls `visit` for each contiguous run of the rows [begin, end) of a block,
  /// with the first row's index in the block, its index in the whole tensor,
  /// and the number of rows.
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

/// Splits the rows of a block into pieces for pipelining. Pieces have equal
/// size, except at the end of the pipeline where transfers and computation do
/// not overlap: there they are smaller.
class Pieces {
public:
  /// Small pieces come first if transfers wait for computation, and last if
  /// computation waits for transfers.
  enum class Small { First, Last };

  Pieces(int64_t rows, int64_t rowBytes, int64_t numMembers, Small small);
  int64_t getCount() const { return begins.size() - 1; }
  int64_t getBegin(int64_t index) const { return begins[index]; }
  int64_t getEnd(int64_t index) const { return begins[index + 1]; }
  int64_t getSize(int64_t index) const {
    return getEnd(index) - getBegin(index);
  }

private:
  /// The first row of each piece, followed by the number of rows.
  std::vector<int64_t> begins;
};

/// Returns a view of consecutive rows of `columns` elements.
std::shared_ptr<Tensor> viewRows(const Tensor &tensor, int64_t first,
                                 int64_t count, int64_t columns);
/// Returns rows [begin, end) of the block at `position`: a view if they are
/// contiguous, and a copy otherwise.
TensorValue readRows(const Tensor &whole, const BlockedRows &blocked,
                     int64_t position, int64_t begin, int64_t end);
/// Copies `rows` to rows [begin, end) of the block at `position`.
void writeRows(const Tensor &rows, Tensor &whole, const BlockedRows &blocked,
               int64_t position, int64_t begin, int64_t end);

/// A buffer for computing rows [begin, end) of a block of `whole`. If these
/// rows are contiguous, the buffer is a view of them; otherwise `store` copies
/// it into `whole`.
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
