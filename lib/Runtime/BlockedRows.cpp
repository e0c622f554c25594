//===- BlockedRows.cpp - rows of a rank's block -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "BlockedRows.h"

#include "llvm/Support/MathExtras.h"

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

Pieces::Pieces(int64_t rows, int64_t rowBytes, int64_t numMembers,
               Small small) {
  // Small pieces are slow, because each message has a latency and each product
  // reads the whole right-hand side. But pieces must be small enough that the
  // first pieces of all other members have arrived when this rank has
  // multiplied its own block.
  constexpr int64_t leastRows = 64, leastBytes = 64 << 10;
  int64_t mostAlike = std::clamp<int64_t>(numMembers, 4, 8);
  int64_t least = std::max(
      leastRows,
      int64_t(llvm::divideCeil(leastBytes, std::max<int64_t>(rowBytes, 1))));
  int64_t numAlike = std::clamp<int64_t>(rows / least, 1, mostAlike);
  SmallVector<int64_t> sizes;
  for (int64_t index = 0; index < numAlike; ++index)
    sizes.push_back(rows * (index + 1) / numAlike - rows * index / numAlike);
  // Split the last piece further, because nothing overlaps with it: each part
  // is half of the remainder, so that it takes no longer than the part before.
  // A single piece is not split: it overlaps with nothing anyway.
  constexpr int64_t mostCuts = 3;
  for (int64_t cut = 0; cut < mostCuts && numAlike > 1; ++cut) {
    int64_t part = sizes.back() / 2;
    if (part < least)
      break;
    sizes.back() -= part;
    sizes.push_back(part);
  }
  if (small == Small::First)
    std::reverse(sizes.begin(), sizes.end());
  begins.push_back(0);
  for (int64_t size : sizes)
    begins.push_back(begins.back() + size);
}

std::shared_ptr<Tensor> runtime::viewRows(const Tensor &tensor, int64_t first,
                                          int64_t count, int64_t columns) {
  size_t start = first * columns * runtime::getNumBytes(tensor.getKind());
  return std::make_shared<Tensor>(
      ArrayRef<int64_t>{count, columns}, tensor.getElementType(),
      std::shared_ptr<const std::byte>(tensor.getSharedData(),
                                       tensor.getData() + start));
}

/// Returns a view of the rows if they are contiguous, and null otherwise.
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
