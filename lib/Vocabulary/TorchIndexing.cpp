//===- TorchIndexing.cpp - indexing and tensor attributes -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The export schema cannot express a Python index. Carriers encode a tuple as a
// dictionary with the keys "0", "1", and so on, a slice as one with "start",
// "stop" and "step", and an ellipsis as the string "...".
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;

namespace {
/// A tensor that is indexed dim by dim. Dims indexed by an integer are kept
/// with size 1 until `finish`.
class IndexedTensor {
public:
  IndexedTensor(NodeReader &reader, Value tensor)
      : reader(reader), value(tensor),
        shape(reader.getSymbols().getShape(getTensor(tensor))) {}

  /// Applies one index. Returns false if the index is not modelled.
  bool apply(const Argument &index);
  /// Leaves the next `count` dims unchanged.
  void skip(int64_t count) { dim += count; }
  int64_t getNumDimsLeft() const { return getTensor(value).getRank() - dim; }
  /// Sets the node's result, reshaped to the type that the node states.
  LogicalResult finish();

private:
  bool applyInteger(int64_t index);
  bool applySlice(const Argument &slice);
  void take(int64_t start, int64_t size, int64_t step);

  NodeReader &reader;
  Value value;
  tp::StridedShape shape;
  int64_t dim = 0;
  /// True if `value` was created here.
  bool wasTaken = false;
};
} // namespace

static bool isSlice(const Argument &index) {
  return index.tag == ArgumentTag::StringToArgument &&
         llvm::any_of(index.elements, [](const Argument &part) {
           return part.className == "stop";
         });
}

static bool isEllipsis(const Argument &index) {
  return index.tag == ArgumentTag::String && index.text == "...";
}

/// Reads the part `name` of a slice into `number` (nullopt for None). Returns
/// false for anything else.
static bool getPart(const Argument &slice, StringRef name,
                    std::optional<int64_t> &number) {
  for (const Argument &part : slice.elements) {
    if (part.className != name)
      continue;
    if (part.tag == ArgumentTag::Int)
      number = part.integer;
    return part.tag == ArgumentTag::Int || part.tag == ArgumentTag::None;
  }
  return true;
}

void IndexedTensor::take(int64_t start, int64_t size, int64_t step) {
  shape.sizes[dim] = size;
  if (shape.strides)
    (*shape.strides)[dim] = tp::multiply((*shape.strides)[dim], step);
  RankedTensorType type = reader.getSymbols().getType(
      getTensor(value).getElementType(), shape.sizes, shape.strides);
  value = reader.create<tp::SliceOp>(type, value, dim, start, step);
  wasTaken = true;
}

bool IndexedTensor::applyInteger(int64_t index) {
  RankedTensorType type = getTensor(value);
  if (type.isDynamicDim(dim)) {
    if (index < 0)
      return false;
  } else {
    index += index < 0 ? type.getDimSize(dim) : 0;
    if (index < 0 || index >= type.getDimSize(dim))
      return false;
  }
  take(index, 1, 1);
  ++dim;
  return true;
}

bool IndexedTensor::applySlice(const Argument &slice) {
  std::optional<int64_t> start, stop, step;
  if (!getPart(slice, "start", start) || !getPart(slice, "stop", stop) ||
      !getPart(slice, "step", step) || step.value_or(1) < 1)
    return false;
  RankedTensorType type = getTensor(value);
  bool takesAll = start.value_or(0) == 0 && !stop && step.value_or(1) == 1;
  if (takesAll) {
    ++dim;
    return true;
  }
  // Within a symbolic dim, the position of a bound depends on the symbol.
  if (type.isDynamicDim(dim))
    return false;
  int64_t extent = type.getDimSize(dim);
  auto getBound = [&](std::optional<int64_t> bound, int64_t byDefault) {
    int64_t place = bound.value_or(byDefault);
    return std::clamp<int64_t>(place + (place < 0 ? extent : 0), 0, extent);
  };
  int64_t first = getBound(start, 0);
  int64_t last = std::max(getBound(stop, extent), first);
  int64_t stride = step.value_or(1);
  int64_t size = (last - first) / stride + ((last - first) % stride != 0);
  take(size == 0 ? 0 : first, size, stride);
  ++dim;
  return true;
}

bool IndexedTensor::apply(const Argument &index) {
  if (getNumDimsLeft() <= 0)
    return false;
  if (index.tag == ArgumentTag::Int)
    return applyInteger(index.integer);
  return isSlice(index) && applySlice(index);
}

LogicalResult IndexedTensor::finish() {
  RankedTensorType type = reader.getResultType();
  if (wasTaken && value.getType() == type)
    return reader.result(value);
  // Remove the dims indexed by integers, and insert those for None.
  return reader.result(reader.create<tp::ReshapeOp>(type, value));
}

/// x[index]
static LogicalResult readGetitem(NodeReader &reader) {
  Value self = reader.tensor("self");
  const Argument *index = reader.find("index");
  if (!self || !index || !reader.getResultType())
    return failure();
  ArrayRef<Argument> indices(*index);
  bool isTuple =
      index->tag == ArgumentTag::StringToArgument && !isSlice(*index);
  if (isTuple) {
    indices = index->elements;
    for (auto [position, element] : llvm::enumerate(indices))
      if (element.className != std::to_string(position))
        return failure();
  } else if (index->tag == ArgumentTag::Ints) {
    // A tuple of integers. Lists of integers, which gather, are encoded
    // differently.
    indices = index->elements;
  }
  IndexedTensor tensor(reader, self);
  auto takesDim = [](const Argument &element) {
    return element.tag != ArgumentTag::None && !isEllipsis(element);
  };
  int64_t numTaken = llvm::count_if(indices, takesDim);
  if (llvm::count_if(indices, isEllipsis) > 1 ||
      numTaken > getTensor(self).getRank())
    return failure();
  for (const Argument &element : indices) {
    if (isEllipsis(element))
      tensor.skip(getTensor(self).getRank() - numTaken);
    else if (takesDim(element) && !tensor.apply(element))
      return failure();
  }
  return tensor.finish();
}

/// x.T and x.mT. Other attributes are not tensors or concern gradients.
static LogicalResult readAttribute(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<StringRef> name = reader.string("name");
  RankedTensorType type = reader.getResultType();
  if (!self || !name || !type)
    return failure();
  int64_t rank = getTensor(self).getRank();
  SmallVector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  if (*name == "T")
    std::reverse(permutation.begin(), permutation.end());
  else if (*name == "mT" && rank >= 2)
    std::swap(permutation[rank - 2], permutation[rank - 1]);
  else
    return failure();
  return reader.result(reader.create<tp::PermuteOp>(type, self, permutation));
}

void vocabulary::addTorchIndexing(Vocabulary &vocabulary) {
  // A marker that carriers insert for inputs that may share memory; it has no
  // other meaning. It needs no reader: the results of an unknown operator may
  // alias its operands, and an operator with an entry does not write into them.
  vocabulary.getOrAdd("commute.share_memory");
  auto add = [&](StringRef target, std::initializer_list<StringRef> parameters,
                 ReadFunction read) {
    OperatorEntry &entry = vocabulary.getOrAdd(target);
    entry.read = read;
    entry.mayAlias = true;
    for (StringRef name : parameters)
      entry.parameters.push_back({name, {}, false, false});
  };
  add("_operator.getitem", {"self", "index"}, readGetitem);
  add("builtins.getattr", {"self", "name"}, readAttribute);
}
