//===- TensorTypes.cpp - types of a graph's tensors -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "TensorTypes.h"

#include "ElementTypes.h"
#include "SymbolicExpression.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

/// PyTorch's operators accept tensors of at most this many dims
/// (dim_bitset_size). A tensor of higher rank becomes an opaque value.
static constexpr size_t maxDims = 64;

/// Returns the sizes and strides, or nullopt if one of them is symbolic.
static std::optional<SmallVector<int64_t, 8>>
getStaticShape(const archive::TensorMeta &meta) {
  SmallVector<int64_t, 8> numbers;
  for (const auto *list : {&meta.sizes, &meta.strides})
    for (const archive::SymInt &number : *list) {
      if (!number.isStatic())
        return std::nullopt;
      numbers.push_back(*number.value);
    }
  return numbers;
}

RankedTensorType TensorTypes::get(StringRef name) {
  auto cached = types.find(name);
  if (cached != types.end())
    return cached->second;
  auto found = graph.tensorValues.find(name);
  if (found == graph.tensorValues.end())
    return {};
  const archive::TensorMeta &meta = found->second;
  RankedTensorType type;
  Type element = getElementType(meta.dtype, symbols.getContext());
  if (element && meta.layout == archive::stridedLayout &&
      meta.sizes.size() <= maxDims)
    type = read(meta, element);
  types.try_emplace(name, type);
  return type;
}

RankedTensorType TensorTypes::read(const archive::TensorMeta &meta,
                                   Type element) {
  RankedTensorType computed;
  RankedTensorType *type = &computed;
  if (std::optional<SmallVector<int64_t, 8>> numbers = getStaticShape(meta))
    type = &staticTypes[{element.getAsOpaquePointer(), std::move(*numbers)}];
  if (*type)
    return *type;
  tp::Sizes sizes;
  SmallVector<tp::Size, 4> strides;
  for (const archive::SymInt &size : meta.sizes)
    sizes.push_back(readSize(size, symbols));
  for (const archive::SymInt &stride : meta.strides)
    strides.push_back(readStride(stride, symbols));
  return *type = symbols.getType(element, sizes, strides);
}
