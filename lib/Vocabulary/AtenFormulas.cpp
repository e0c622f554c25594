//===- AtenFormulas.cpp - operators that are formulas -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Operators without an op of their own, which are imported as formulas of other
// ops. Unless a pass rewrites a part of the formula, the exporter keeps the
// original node.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;
using tp::ReductionKind;

/// Returns the indices 0, 1, ... of `repeats`, each repeated as often as
/// `repeats` states, `count` in total. The index at a position is the number of
/// repeats that end at or before it.
static Value getRepeatedIndices(NodeReader &reader, Value repeats,
                                int64_t count) {
  Builder &builder = reader.getBuilder();
  Type integer = builder.getI64Type();
  int64_t size = getTensor(repeats).getNumElements();
  Value ends = reader.create<tp::RowwiseOp>(
      RankedTensorType::get({size}, integer), tp::RowFunction::CumulativeSum,
      repeats, /*dim=*/0);
  Value positions = reader.iota(count);
  Value hasEnded = reader.map(MapFunction::LessEqual,
                              {ends, reader.reshape(positions, {count, 1})},
                              builder.getI1Type());
  Formula f(reader, integer);
  return f.reduce(ReductionKind::Sum, f.of(hasEnded), 1, /*keepDims=*/false);
}

/// repeat_interleave(repeats), and repeat_interleave(self, repeats, dim): the
/// elements of self at these indices.
static LogicalResult readRepeatInterleave(NodeReader &reader) {
  Value repeats = reader.tensor("repeats");
  RankedTensorType type = reader.getResultType();
  // Which the result has.
  reader.skip("output_size");
  if (!repeats || !type || !getTensor(repeats).hasStaticShape() ||
      getTensor(repeats).getRank() != 1 || isFloat(repeats))
    return failure();
  Value self = reader.tensor("self");
  int64_t dim = 0;
  if (self) {
    // Without a dim, PyTorch flattens the tensor first.
    if (reader.isAbsent("dim")) {
      if (!getTensor(self).hasStaticShape())
        return failure();
      self = reader.reshape(self, {getTensor(self).getNumElements()});
    } else {
      std::optional<int64_t> stated = reader.dim("dim", type.getRank());
      if (!stated)
        return failure();
      dim = *stated;
    }
    // A single number for all elements is a different overload.
    if (getTensor(self).getDimSize(dim) != getTensor(repeats).getNumElements())
      return failure();
  }
  if (type.isDynamicDim(dim))
    return failure();
  Value indices = getRepeatedIndices(reader, repeats, type.getDimSize(dim));
  Formula f(reader, type.getElementType());
  if (!self)
    return f.result(0, indices);
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  return f.result(0, reader.create<tp::TakeOp>(
                         reader.getDenseType(type.getElementType(), sizes),
                         self, indices, dim, /*wraps_negative=*/false));
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

/// Returns prepend, self and append as one tensor; null if their element types
/// differ.
static Value join(NodeReader &reader, Value self, int64_t dim) {
  SmallVector<Value> parts = {self};
  for (StringRef name : {"prepend", "append"}) {
    if (reader.isAbsent(name))
      continue;
    Value part = reader.tensor(name);
    if (!part || getElementType(part) != getElementType(self))
      return {};
    parts.insert(name == "prepend" ? parts.begin() : parts.end(), part);
  }
  return parts.size() == 1 ? self : reader.concat(parts, dim);
}

/// x[1:] - x[:-1] along a dim; for truth values, whether they differ.
static LogicalResult readDifference(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type || reader.integer("n", 1) != 1)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), -1);
  if (!dim)
    return failure();
  self = join(reader, self, *dim);
  if (!self || getTensor(self).getDimSize(*dim) == 0)
    return failure();
  tp::Size count = reader.getSymbols().getSizes(type)[*dim];
  Value next = reader.slice(self, *dim, 1, count);
  Value previous = reader.slice(self, *dim, 0, count);
  Type element = getElementType(self);
  auto function =
      element.isInteger(1) ? MapFunction::NotEqual : MapFunction::Sub;
  Formula f(reader, element);
  return f.result(0, reader.map(function, {next, previous}, element));
}

/// Returns the indices of elements [-left, size + right) of a dim, which lie
/// within the dim where the padding repeats its elements.
static Value getPaddedIndices(NodeReader &reader, StringRef mode, int64_t size,
                              int64_t left, int64_t right) {
  Type integer = reader.getBuilder().getI64Type();
  auto apply = [&](MapFunction function, Value value, int64_t number) {
    return reader.map(function, {value, reader.constant(number)}, integer);
  };
  Value position = reader.iota(left + size + right, -left);
  if (mode == "circular")
    return apply(MapFunction::Remainder, position, size);
  if (mode == "replicate")
    return apply(MapFunction::Minimum, apply(MapFunction::Maximum, position, 0),
                 size - 1);
  // Reflected at the first element, then at the last one.
  position = reader.map(MapFunction::Abs, position, integer);
  Value distance = reader.map(
      MapFunction::Abs, apply(MapFunction::Sub, position, size - 1), integer);
  return reader.map(MapFunction::Sub, {reader.constant(size - 1), distance},
                    integer);
}

/// Pads dims with elements of the dim itself.
static LogicalResult setRepeatingPad(NodeReader &reader, ArrayRef<int64_t> pad,
                                     StringRef mode) {
  Value value = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!value || !type || pad.size() % 2 != 0 ||
      getTensor(value).getRank() != type.getRank() ||
      static_cast<int64_t>(pad.size() / 2) > type.getRank())
    return failure();
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(value));
  for (size_t pair = 0; pair < pad.size() / 2; ++pair) {
    int64_t dim = type.getRank() - 1 - static_cast<int64_t>(pair);
    int64_t left = pad[2 * pair], right = pad[2 * pair + 1];
    int64_t size = getTensor(value).getDimSize(dim);
    // A reflection does not repeat the element at the edge.
    int64_t largest = mode == "reflect" ? size - 1 : size, padded;
    if (left < 0 || right < 0 || getTensor(value).isDynamicDim(dim) ||
        size == 0 || (mode != "replicate" && std::max(left, right) > largest) ||
        llvm::AddOverflow(left, size, padded) ||
        llvm::AddOverflow(padded, right, padded))
      return failure();
    if (left == 0 && right == 0)
      continue;
    Value indices = getPaddedIndices(reader, mode, size, left, right);
    sizes[dim] = padded;
    value = reader.create<tp::TakeOp>(
        reader.getDenseType(type.getElementType(), sizes), value, indices, dim,
        /*wraps_negative=*/false);
  }
  Formula f(reader, type.getElementType());
  return f.result(0, reader.reshape(value, sizes));
}

/// reflection_pad1d and similar operators.
template <bool reflects>
static LogicalResult readRepeatingPad(NodeReader &reader) {
  std::optional<SmallVector<int64_t>> pad = reader.integers("padding");
  return pad ? setRepeatingPad(reader, *pad, reflects ? "reflect" : "replicate")
             : failure();
}

/// pad(x, [left, right, ...]): from the last dim to the first. Negative numbers
/// of elements crop.
static LogicalResult readPad(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<SmallVector<int64_t>> pad = reader.integers("pad");
  std::optional<StringRef> mode = reader.string("mode", StringRef("constant"));
  std::optional<double> number = reader.number("value", 0);
  RankedTensorType type = reader.getResultType();
  if (pad && mode &&
      llvm::is_contained({"reflect", "replicate", "circular"}, *mode))
    return setRepeatingPad(reader, *pad, *mode);
  if (!self || !pad || !type || mode != StringRef("constant") || !number ||
      pad->size() % 2 != 0 || getTensor(self).getRank() != type.getRank() ||
      static_cast<int64_t>(pad->size() / 2) > type.getRank())
    return failure();
  Value value = self;
  for (size_t pair = 0; pair < pad->size() / 2; ++pair) {
    int64_t dim = type.getRank() - 1 - static_cast<int64_t>(pair);
    int64_t left = (*pad)[2 * pair], right = (*pad)[2 * pair + 1];
    if (left == 0 && right == 0)
      continue;
    if (getTensor(value).isDynamicDim(dim))
      return failure();
    int64_t start = std::max<int64_t>(-left, 0);
    int64_t size =
        getTensor(value).getDimSize(dim) - start - std::max<int64_t>(-right, 0);
    if (size < 0)
      return failure();
    if (size != getTensor(value).getDimSize(dim))
      value = reader.slice(value, dim, start, size);
    value = reader.pad(value, dim, std::max<int64_t>(left, 0),
                       std::max<int64_t>(right, 0), *number);
  }
  Formula f(reader, type.getElementType());
  return f.result(0, value);
}

/// The elements in reverse order along some dims.
static LogicalResult readFlip(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<SmallVector<int64_t>> dims = reader.integers("dims");
  if (!self || !dims)
    return failure();
  RankedTensorType type = getTensor(self);
  Value value = self;
  for (int64_t dim : *dims) {
    dim += dim < 0 ? type.getRank() : 0;
    if (dim < 0 || dim >= type.getRank() || type.isDynamicDim(dim))
      return failure();
    int64_t size = type.getDimSize(dim);
    Value positions = reader.iota(size, size - 1, -1);
    tp::Sizes sizes = reader.getSymbols().getSizes(type);
    value = reader.create<tp::TakeOp>(
        reader.getDenseType(type.getElementType(), sizes), value, positions,
        dim, /*wraps_negative=*/false);
  }
  Formula f(reader, type.getElementType());
  return f.result(0, value);
}

void vocabulary::addAtenFormulas(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.aten.repeat_interleave.Tensor",
                  "torch.ops.aten.repeat_interleave.self_Tensor"},
                 readRepeatInterleave);
  vocabulary.add("torch.ops.aten.diff.default", readDifference);
  vocabulary.add(
      {"torch.ops.aten.constant_pad_nd.default", "torch.ops.aten.pad.default"},
      readPad);
  vocabulary.add({"torch.ops.aten.reflection_pad1d.default",
                  "torch.ops.aten.reflection_pad2d.default",
                  "torch.ops.aten.reflection_pad3d.default"},
                 readRepeatingPad</*reflects=*/true>);
  vocabulary.add({"torch.ops.aten.replication_pad1d.default",
                  "torch.ops.aten.replication_pad2d.default",
                  "torch.ops.aten.replication_pad3d.default"},
                 readRepeatingPad</*reflects=*/false>);
  vocabulary.add("torch.ops.aten.flip.default", readFlip);
}
