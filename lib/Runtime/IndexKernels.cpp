//===- IndexKernels.cpp - look-ups, gather, scatter, sorting ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include <cmath>
#include <cstring>
#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

/// Reads indices of a dim of `extent` elements, wrapped; nullopt for one that
/// is out of range, which `failure` names.
static std::optional<std::vector<int64_t>>
loadIndices(const Tensor &indices, unsigned dim, int64_t extent,
            bool wrapsNegative, std::string &failure) {
  std::vector<int64_t> result(indices.getNumElements());
  loadElements(indices.getKind(), indices.getData(), result.size(),
               result.data());
  bool isUnsigned = indices.getKind() == ElementKind::U64;
  for (int64_t &index : result) {
    int64_t wrapped =
        index < 0 && wrapsNegative && !isUnsigned ? index + extent : index;
    if (wrapped < 0 || wrapped >= extent) {
      failure = "index " +
                (isUnsigned ? std::to_string(static_cast<uint64_t>(index))
                            : std::to_string(index)) +
                " is out of range: dim " + std::to_string(dim) +
                " of the table has size " + std::to_string(extent);
      return std::nullopt;
    }
    index = wrapped;
  }
  return result;
}

TensorValue runtime::takeRows(const Tensor &table, const Tensor &indices,
                              unsigned dim, bool wrapsNegative,
                              std::string &failure) {
  ArrayRef<int64_t> tableSizes = table.getSizes();
  SmallVector<int64_t> sizes(tableSizes.take_front(dim));
  llvm::append_range(sizes, indices.getSizes());
  llvm::append_range(sizes, tableSizes.drop_front(dim + 1));
  int64_t extent = tableSizes[dim];
  auto rows = loadIndices(indices, dim, extent, wrapsNegative, failure);
  if (!rows)
    return nullptr;
  std::shared_ptr<Tensor> result =
      Tensor::allocate(sizes, table.getElementType());
  if (result->getNumElements() == 0)
    return result;
  size_t rowBytes = runtime::getNumElements(tableSizes.drop_front(dim + 1)) *
                    runtime::getNumBytes(table.getKind());
  int64_t outer = runtime::getNumElements(tableSizes.take_front(dim));
  std::byte *output = result->getMutableData();
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t row : *rows) {
      std::memcpy(output, table.getData() + (block * extent + row) * rowBytes,
                  rowBytes);
      output += rowBytes;
    }
  return result;
}

/// Calls `visit` with the offset of each element of a tensor of `sizes`, and
/// the offset of the element at `indices` along `dim` in a tensor which has
/// `extent` elements along it.
template <typename Visitor>
static void forEachIndexed(ArrayRef<int64_t> sizes, unsigned dim,
                           int64_t extent, ArrayRef<int64_t> indices,
                           Visitor visit) {
  int64_t outer = runtime::getNumElements(sizes.take_front(dim));
  int64_t inner = runtime::getNumElements(sizes.drop_front(dim + 1));
  int64_t offset = 0;
  for (int64_t block = 0; block < outer; ++block)
    for (int64_t row = 0; row < sizes[dim]; ++row)
      for (int64_t column = 0; column < inner; ++column, ++offset)
        visit(offset, (block * extent + indices[offset]) * inner + column);
}

/// Calls `visit` with a value of a type that has the size of an element.
template <typename Visitor>
static void withElement(ElementKind kind, Visitor visit) {
  switch (runtime::getNumBytes(kind)) {
  case 1:
    return visit(uint8_t());
  case 2:
    return visit(uint16_t());
  case 4:
    return visit(uint32_t());
  default:
    return visit(uint64_t());
  }
}

/// Returns true if `tensor` has the sizes of `other` along all dims but `dim`.
static bool matchesBeside(const Tensor &tensor, const Tensor &other,
                          unsigned dim) {
  SmallVector<int64_t> sizes(tensor.getSizes());
  if (sizes.size() != other.getSizes().size())
    return false;
  sizes[dim] = other.getSizes()[dim];
  return ArrayRef<int64_t>(sizes) == other.getSizes();
}

TensorValue runtime::takeElements(const Tensor &table, const Tensor &indices,
                                  unsigned dim, std::string &failure) {
  if (!matchesBeside(table, indices, dim)) {
    failure = "indices of sizes " + formatSizes(indices.getSizes()) +
              " do not match a table of sizes " + formatSizes(table.getSizes());
    return nullptr;
  }
  int64_t extent = table.getSizes()[dim];
  auto known =
      loadIndices(indices, dim, extent, /*wrapsNegative=*/false, failure);
  if (!known)
    return nullptr;
  std::shared_ptr<Tensor> result =
      Tensor::allocate(indices.getSizes(), table.getElementType());
  withElement(table.getKind(), [&](auto element) {
    using Element = decltype(element);
    const auto *source = table.getDataAs<Element>();
    auto *target = result->getMutableDataAs<Element>();
    forEachIndexed(
        indices.getSizes(), dim, extent, *known,
        [&](int64_t to, int64_t from) { target[to] = source[from]; });
  });
  return result;
}

TensorValue runtime::scatterElements(const Tensor &input, const Tensor &indices,
                                     const Tensor &updates, unsigned dim,
                                     bool accumulates, bool wrapsNegative,
                                     std::string &failure) {
  if (!matchesBeside(input, indices, dim) ||
      updates.getSizes() != indices.getSizes()) {
    failure = "indices of sizes " + formatSizes(indices.getSizes()) +
              " do not match updates of sizes " +
              formatSizes(updates.getSizes()) + " and an input of sizes " +
              formatSizes(input.getSizes());
    return nullptr;
  }
  int64_t extent = input.getSizes()[dim];
  auto known = loadIndices(indices, dim, extent, wrapsNegative, failure);
  if (!known)
    return nullptr;
  std::shared_ptr<Tensor> result =
      Tensor::allocate(input.getSizes(), input.getElementType());
  if (!accumulates) {
    std::memcpy(result->getMutableData(), input.getData(), input.getNumBytes());
    withElement(input.getKind(), [&](auto element) {
      using Element = decltype(element);
      const auto *source = updates.getDataAs<Element>();
      auto *target = result->getMutableDataAs<Element>();
      forEachIndexed(
          indices.getSizes(), dim, extent, *known,
          [&](int64_t from, int64_t to) { target[to] = source[from]; });
    });
    return result;
  }
  // Sums are rounded once, at the end.
  dispatch(getComputeKind(input.getKind()), [&](auto zero) {
    using Compute = decltype(zero);
    std::vector<Compute> sums(input.getNumElements());
    std::vector<Compute> added(updates.getNumElements());
    loadElements(input.getKind(), input.getData(), sums.size(), sums.data());
    loadElements(updates.getKind(), updates.getData(), added.size(),
                 added.data());
    forEachIndexed(indices.getSizes(), dim, extent, *known,
                   [&](int64_t from, int64_t to) { sums[to] += added[from]; });
    storeElements(result->getKind(), sums.data(), sums.size(),
                  result->getMutableData());
  });
  return result;
}

TensorValue runtime::sortRows(const Tensor &input, unsigned dim,
                              bool descending, int64_t count, Type type) {
  SmallVector<int64_t> sizes(input.getSizes());
  sizes[dim] = count;
  std::shared_ptr<Tensor> result = Tensor::allocate(sizes, type);
  int64_t size = input.getSizes()[dim];
  int64_t outer = runtime::getNumElements(input.getSizes().take_front(dim));
  int64_t inner = runtime::getNumElements(input.getSizes().drop_front(dim + 1));
  std::vector<int64_t> orders(result->getNumElements());
  dispatch(getComputeKind(input.getKind()), [&](auto zero) {
    using Compute = decltype(zero);
    std::vector<Compute> elements(input.getNumElements());
    loadElements(input.getKind(), input.getData(), elements.size(),
                 elements.data());
    auto isLess = [](Compute a, Compute b) {
      if constexpr (std::is_floating_point_v<Compute>)
        return a < b || (std::isnan(b) && !std::isnan(a));
      return a < b;
    };
    std::vector<int64_t> order(size);
    for (int64_t block = 0; block < outer; ++block)
      for (int64_t column = 0; column < inner; ++column) {
        auto at = [&](int64_t row) {
          return (block * size + row) * inner + column;
        };
        std::iota(order.begin(), order.end(), 0);
        llvm::sort(order, [&](int64_t a, int64_t b) {
          Compute first = elements[at(a)], second = elements[at(b)];
          bool ascends = isLess(first, second);
          bool descends = isLess(second, first);
          // Equal elements keep their order.
          if (!ascends && !descends)
            return a < b;
          return descending ? descends : ascends;
        });
        for (int64_t row = 0; row < count; ++row)
          orders[(block * count + row) * inner + column] = order[row];
      }
  });
  storeElements(result->getKind(), orders.data(), orders.size(),
                result->getMutableData());
  return result;
}
