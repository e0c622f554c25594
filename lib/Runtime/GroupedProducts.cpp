//===- GroupedProducts.cpp - products of groups of rows ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include <cstring>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

/// The ends of the groups; nullopt if they descend or exceed the number of
/// rows, which `failure` says.
static std::optional<std::vector<int64_t>>
loadOffsets(const Tensor &offsets, int64_t rows, std::string &failure) {
  std::vector<int64_t> ends(offsets.getNumElements());
  loadElements(offsets.getKind(), offsets.getData(), ends.size(), ends.data());
  int64_t previous = 0;
  for (auto [group, end] : llvm::enumerate(ends)) {
    if (end < previous || end > rows) {
      failure = "offset " + std::to_string(end) + " of group " +
                std::to_string(group) + " is not between " +
                std::to_string(previous) + " and " + std::to_string(rows);
      return std::nullopt;
    }
    previous = end;
  }
  return ends;
}

/// The elements of `tensor` from `start` on, as a tensor of these sizes that
/// shares its memory.
static Tensor getPart(const Tensor &tensor, int64_t start,
                      ArrayRef<int64_t> sizes) {
  size_t offset = start * runtime::getNumBytes(tensor.getKind());
  return Tensor(sizes, tensor.getElementType(),
                std::shared_ptr<const std::byte>(tensor.getSharedData(),
                                                 tensor.getData() + offset));
}

static void setZero(Tensor &tensor) {
  std::memset(tensor.getMutableData(), 0, tensor.getNumBytes());
}

/// lhs[:, group] @ rhs[group, :] for each group.
static TensorValue contractGroups(const Tensor &lhs, const Tensor &rhs,
                                  ArrayRef<int64_t> ends, Type type,
                                  std::string &failure) {
  int64_t rows = lhs.getSizes()[0], columns = rhs.getSizes()[1];
  int64_t numGroups = ends.size(), start = 0;
  std::shared_ptr<Tensor> result =
      Tensor::allocate({numGroups, rows, columns}, type);
  setZero(*result);
  for (auto [group, end] : llvm::enumerate(ends)) {
    int64_t count = end - start;
    if (count > 0) {
      TensorValue left =
          gatherStrided(lhs, tp::getSliceView(lhs.getSizes(), /*dim=*/1, start,
                                              /*step=*/1, count));
      Tensor right = getPart(rhs, start * columns, {count, columns});
      Tensor product =
          getPart(*result, static_cast<int64_t>(group) * rows * columns,
                  {rows, columns});
      if (!multiplyMatricesInto({*left}, {right}, nullptr, product, failure))
        return nullptr;
    }
    start = end;
  }
  return result;
}

TensorValue runtime::multiplyGroupedRows(const Tensor &lhs, const Tensor &rhs,
                                         const Tensor &offsets,
                                         const Tensor *rest, Type type,
                                         std::string &failure) {
  bool contracts = rhs.getRank() == 2;
  int64_t rows = lhs.getSizes()[contracts ? 1 : 0];
  auto ends = loadOffsets(offsets, rows, failure);
  if (!ends)
    return nullptr;
  if (contracts)
    return contractGroups(lhs, rhs, *ends, type, failure);
  int64_t inner = rhs.getSizes()[1], columns = rhs.getSizes()[2], start = 0;
  std::shared_ptr<Tensor> result = Tensor::allocate({rows, columns}, type);
  bool hasRest = ends->empty() || ends->back() < rows;
  if (hasRest && rest)
    std::memcpy(result->getMutableData(), rest->getData(),
                result->getNumBytes());
  else if (hasRest)
    setZero(*result);
  for (auto [group, end] : llvm::enumerate(*ends)) {
    int64_t count = end - start;
    if (count > 0) {
      Tensor left = getPart(lhs, start * inner, {count, inner});
      Tensor right = getPart(rhs, static_cast<int64_t>(group) * inner * columns,
                             {inner, columns});
      Tensor product = getPart(*result, start * columns, {count, columns});
      if (!multiplyMatricesInto({left}, {right}, nullptr, product, failure))
        return nullptr;
    }
    start = end;
  }
  return result;
}

TensorValue runtime::fillUninitialized(ArrayRef<int64_t> sizes, Type type) {
  // What torch.utils.deterministic.fill_uninitialized_memory fills in, so that
  // a program that reads it is seen to.
  if (isa<FloatType>(type))
    return fill(llvm::APFloat::getNaN(llvm::APFloat::IEEEdouble()), sizes,
                type);
  unsigned width = type.getIntOrFloatBitWidth();
  bool isSigned = width > 1 && !type.isUnsignedInteger();
  llvm::APInt largest = isSigned ? llvm::APInt::getSignedMaxValue(width)
                                 : llvm::APInt::getMaxValue(width);
  return fill(static_cast<int64_t>(largest.getZExtValue()), sizes, type);
}
