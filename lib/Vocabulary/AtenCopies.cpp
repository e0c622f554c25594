//===- AtenCopies.cpp - ATen's casts and copies -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::MemoryFormat;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Reads to.dtype, to.device, type_as, _to_copy and similar casts on one
/// device.
static LogicalResult readCast(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<MemoryFormat> format =
      reader.memoryFormat("memory_format", MemoryFormat::Preserve);
  // A move to another device or into another layout is not a cast.
  bool statesDevice = !reader.isAbsent("device") ||
                      !reader.isAbsent("layout") || !reader.isAbsent("other");
  if (!self || !type || !format ||
      (statesDevice && !reader.keepsDevice("self")))
    return failure();
  for (StringRef argument : {"dtype", "device", "layout", "other"})
    reader.skip(argument);
  if (*format != MemoryFormat::Preserve && *format != MemoryFormat::Contiguous)
    return failure();
  auto op = reader.create<tp::CastOp>(type, self,
                                      *format == MemoryFormat::Contiguous);
  return reader.result(op);
}

static LogicalResult readClone(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<MemoryFormat> format =
      reader.memoryFormat("memory_format", MemoryFormat::Preserve);
  if (!self || !type || !format)
    return failure();
  if (*format != MemoryFormat::Preserve && *format != MemoryFormat::Contiguous)
    return failure();
  return reader.result(
      reader.create<tp::CopyOp>(type, self, *format == MemoryFormat::Preserve));
}

static LogicalResult readContiguous(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type ||
      reader.memoryFormat("memory_format", MemoryFormat::Contiguous) !=
          MemoryFormat::Contiguous)
    return failure();
  return reader.result(
      reader.create<tp::CopyOp>(type, self, /*preserve_strides=*/false));
}

/// The tensor with the strides of the result, which is the operand itself if it
/// has them. Inductor states layouts with it that its kernels rely on.
static LogicalResult readForcedStrides(NodeReader &reader) {
  Value self = reader.tensor("input");
  RankedTensorType type = reader.getResultType();
  // The result states its strides.
  reader.skip("stride");
  if (!self || !type)
    return failure();
  if (self.getType() == type)
    return reader.result(reader.create<tp::ReshapeOp>(type, self));
  return reader.result(
      reader.create<tp::CopyOp>(type, self, /*preserve_strides=*/true));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static LogicalResult writeCast(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::CastOp>(operation);
  NodeBuilder node =
      writer.node(op.getLoc(), "torch.ops.aten._to_copy.default");
  node.tensor("self", op.getInput())
      .keywords()
      .scalarType("dtype",
                  cast<RankedTensorType>(op.getType()).getElementType());
  if (op.getContiguous())
    node.memoryFormat("memory_format", MemoryFormat::Contiguous);
  return node.finish(op.getResult());
}

/// The dims of a tensor from the outermost to the innermost in memory; nullopt
/// where that does not follow from the strides.
static std::optional<SmallVector<int64_t>>
findMemoryOrder(const tp::Sizes &sizes, ArrayRef<tp::Size> strides) {
  auto isWithin = [&](int64_t inner, int64_t outer) {
    return tp::isConstant(sizes[inner], 1) || tp::isConstant(sizes[outer], 1) ||
           tp::divideExactly(strides[outer], strides[inner]);
  };
  SmallVector<int64_t> order;
  auto left = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  while (!left.empty()) {
    // Of equal strides, the first dim is the outer one.
    auto next = llvm::find_if(left, [&](int64_t outer) {
      return !tp::isConstant(strides[outer], 0) &&
             llvm::all_of(
                 left, [&](int64_t inner) { return isWithin(inner, outer); });
    });
    if (next == left.end())
      return std::nullopt;
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

/// Writes a copy into a layout with symbolic strides: as a dense copy of the
/// permuted tensor, permuted back. Gaps between the elements are left out; they
/// allow no view that dense memory does not.
static LogicalResult writePermutedCopy(tp::CopyOp op,
                                       const tp::StridedShape &shape,
                                       tp::SymbolSpace &symbols,
                                       NodeWriter &writer) {
  std::optional<SmallVector<int64_t>> order =
      findMemoryOrder(shape.sizes, *shape.strides);
  if (!order)
    return op.emitError("cannot write a copy whose symbolic strides do not "
                        "tell the order of its dims in memory");
  Type element = getElementType(op.getInput());
  tp::StridedShape permuted =
      permute(symbols.getShape(getTensor(op.getInput())), *order);
  SmallVector<int64_t> back(order->size());
  for (auto [position, dim] : llvm::enumerate(*order))
    back[dim] = static_cast<int64_t>(position);
  StringRef before = writer.node(op.getLoc(), "torch.ops.aten.permute.default")
                         .tensor("self", op.getInput())
                         .integers("dims", *order)
                         .finishIntermediate(symbols.getType(
                             element, permuted.sizes, permuted.strides));
  StringRef copied =
      writer.node(op.getLoc(), "torch.ops.aten.clone.default")
          .named("self", before)
          .keywords()
          .memoryFormat("memory_format", MemoryFormat::Contiguous)
          .finishIntermediate(
              symbols.getType(element, permuted.sizes,
                              tp::getContiguousStrides(permuted.sizes)));
  return writer.node(op.getLoc(), "torch.ops.aten.permute.default")
      .named("self", copied)
      .integers("dims", back)
      .finish(op.getResult());
}

/// Writes a copy into a layout that is not the operand's, as aten.copy makes
/// it: PyTorch has no operator for this alone.
static LogicalResult writeCopyInto(tp::CopyOp op, const tp::StridedShape &shape,
                                   tp::SymbolSpace &symbols,
                                   NodeWriter &writer) {
  auto type = cast<RankedTensorType>(op.getType());
  FailureOr<NodeBuilder> empty = writer.emptyStrided(op.getLoc(), type);
  if (failed(empty))
    return writePermutedCopy(op, shape, symbols, writer);
  StringRef target = empty->finishIntermediate(type);
  return writer.node(op.getLoc(), "torch.ops.aten.copy.default")
      .named("self", target)
      .tensor("src", op.getInput())
      .finish(op.getResult());
}

static LogicalResult writeCopy(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::CopyOp>(operation);
  if (op.getPreserveStrides()) {
    tp::SymbolSpace symbols(op.getContext());
    tp::StridedShape input = symbols.getShape(getTensor(op.getInput()));
    tp::StridedShape own = symbols.getShape(getTensor(op.getResult()));
    tp::Strides preserved = op.inferStrides(0, input, own.sizes);
    if (own.strides && preserved && *preserved != *own.strides)
      return writeCopyInto(op, own, symbols, writer);
  }
  NodeBuilder node = writer.node(op.getLoc(), "torch.ops.aten.clone.default");
  node.tensor("self", op.getInput());
  if (!op.getPreserveStrides())
    node.keywords().memoryFormat("memory_format", MemoryFormat::Contiguous);
  return node.finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void vocabulary::addAtenCopies(Vocabulary &vocabulary) {
  // These return their operand itself if there is nothing to convert.
  vocabulary.addView({"torch.ops.aten.to.dtype",
                      "torch.ops.aten.to.dtype_layout",
                      "torch.ops.aten.to.device", "torch.ops.aten.to.other",
                      "torch.ops.aten.type_as.default"},
                     readCast);
  vocabulary.add("torch.ops.aten._to_copy.default", readCast);
  // What AOTAutograd's decompositions make of casts.
  vocabulary.addAlias("torch.ops.prims.convert_element_type.default",
                      "torch.ops.aten._to_copy.default", {{"self", "a"}});
  vocabulary.add({"torch.ops.aten.clone.default",
                  "torch.ops.aten.lift_fresh_copy.default"},
                 readClone);
  vocabulary.addView({"torch.ops.aten.contiguous.default"}, readContiguous);
  vocabulary.addView({"torch.ops.prims.inductor_force_stride_order.default"},
                     readForcedStrides);
  vocabulary.addWriter<tp::CastOp>(writeCast);
  vocabulary.addWriter<tp::CopyOp>(writeCopy);
}
