//===- BlockedRows.cpp - the rows of a rank's block -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "BlockedRows.h"

#include <cstring>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

BlockedRows::BlockedRows(ArrayRef<int64_t> block, int64_t dim, int64_t members)
    : members(members) {
  bool isLast = dim + 1 == int64_t(block.size());
  outer = runtime::getNumElements(block.take_front(dim));
  inner =
      isLast ? 1 : runtime::getNumElements(block.drop_front(dim).drop_back());
  width = block.back();
}

Pieces::Pieces(int64_t rows, int64_t rowBytes) : rows(rows) {
  // Pieces make the transfers overlap with the products, but small products
  // and messages are slow.
  constexpr int64_t most = 8, leastRows = 64, leastBytes = 64 << 10;
  count = std::clamp<int64_t>(
      std::min(rows / leastRows, rows * rowBytes / leastBytes), 1, most);
}

std::shared_ptr<Tensor> runtime::viewRows(const Tensor &tensor, int64_t first,
                                          int64_t count, int64_t columns) {
  size_t start = first * columns * runtime::getNumBytes(tensor.getKind());
  return std::make_shared<Tensor>(
      ArrayRef<int64_t>{count, columns}, tensor.getElementType(),
      std::shared_ptr<const std::byte>(tensor.getSharedData(),
                                       tensor.getData() + start));
}

/// Where a run of rows lies, if they are one.
static std::shared_ptr<Tensor> viewRun(const Tensor &whole,
                                       const BlockedRows &blocked,
                                       int64_t position, int64_t begin,
                                       int64_t end) {
  std::shared_ptr<Tensor> view;
  if (blocked.isOneRun(begin, end))
    blocked.forEachRun(position, begin, end,
                       [&](int64_t, int64_t place, int64_t count) {
                         view = viewRows(whole, place, count, blocked.width);
                       });
  return view;
}

TensorValue runtime::readRows(const Tensor &whole, const BlockedRows &blocked,
                              int64_t position, int64_t begin, int64_t end) {
  if (std::shared_ptr<Tensor> view =
          viewRun(whole, blocked, position, begin, end))
    return view;
  std::shared_ptr<Tensor> rows =
      Tensor::allocate({end - begin, blocked.width}, whole.getElementType());
  size_t rowBytes = blocked.width * runtime::getNumBytes(whole.getKind());
  blocked.forEachRun(
      position, begin, end, [&](int64_t row, int64_t place, int64_t count) {
        std::memcpy(rows->getMutableData() + (row - begin) * rowBytes,
                    whole.getData() + place * rowBytes, count * rowBytes);
      });
  return rows;
}

void runtime::writeRows(const Tensor &rows, Tensor &whole,
                        const BlockedRows &blocked, int64_t position,
                        int64_t begin, int64_t end) {
  size_t rowBytes = blocked.width * runtime::getNumBytes(whole.getKind());
  blocked.forEachRun(position, begin, end,
                     [&](int64_t row, int64_t place, int64_t count) {
                       std::memcpy(whole.getMutableData() + place * rowBytes,
                                   rows.getData() + (row - begin) * rowBytes,
                                   count * rowBytes);
                     });
}

RowsInPlace::RowsInPlace(Tensor &whole, const BlockedRows &blocked,
                         int64_t position, int64_t begin, int64_t end)
    : whole(whole), blocked(blocked), position(position), begin(begin),
      end(end), rows(viewRun(whole, blocked, position, begin, end)) {
  isElsewhere = !rows;
  if (isElsewhere)
    rows =
        Tensor::allocate({end - begin, blocked.width}, whole.getElementType());
}

void RowsInPlace::store() {
  if (isElsewhere)
    writeRows(*rows, whole, blocked, position, begin, end);
}
