//===- SymmMem.cpp - PyTorch's fused collectives ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "NodeReader.h"
#include "NodeWriter.h"

#include "commute/Dialect/CarrierAttributes.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;

/// Returns true if the list contains only None, or is absent.
static bool areAllNone(NodeReader &reader, StringRef name) {
  const Argument *list = reader.find(name);
  return !list || llvm::all_of(list->elements, [](const Argument &element) {
    return element.tag == ArgumentTag::None;
  });
}

/// fused_all_gather_matmul(A, Bs, gather_dim, group_name, *, return_A) and its
/// scaled form: returns the gathered A, then the products. With return_A =
/// False, the first result is None.
static LogicalResult readAllGatherMatmul(NodeReader &reader) {
  Value shard = reader.tensor("A");
  std::optional<SmallVector<Value>> rhs = reader.tensors("Bs");
  if (!shard || !rhs || rhs->empty())
    return failure();
  std::optional<int64_t> axis =
      reader.dim("gather_dim", getTensor(shard).getRank());
  std::optional<bool> returnsGathered = reader.boolean("return_A", true);
  if (!axis || !returnsGathered)
    return failure();
  Value shardScale;
  SmallVector<Value> rhsScales;
  if (!reader.isAbsent("A_scale")) {
    shardScale = reader.tensor("A_scale");
    std::optional<SmallVector<Value>> scales = reader.tensors("B_scales");
    if (!shardScale || !scales || !areAllNone(reader, "biases") ||
        !areAllNone(reader, "result_scales"))
      return failure();
    rhsScales = *scales;
  }
  tp::GroupAttr group = reader.group();
  if (!group)
    return failure();
  SmallVector<Type> types;
  for (size_t index = 0; index < reader.getNumResults(); ++index) {
    types.push_back(reader.getResultType(index));
    if (!types.back())
      return failure();
  }
  if (types.size() != rhs->size() + *returnsGathered)
    return failure();
  auto op = reader.create<tp::AllGatherMatmulOp>(
      types, shard, *rhs, /*biases=*/ValueRange(), shardScale, rhsScales, *axis,
      group, *returnsGathered);
  for (auto [index, output] : llvm::enumerate(op.getOutputs()))
    reader.setResult(index, output);
  return success();
}

/// fused_matmul_reduce_scatter(A, B, reduce_op, scatter_dim, group_name), and
/// the scaled form if A was not flattened.
static LogicalResult readMatmulReduceScatter(NodeReader &reader) {
  Value lhs = reader.tensor("A");
  Value rhs = reader.tensor("B");
  RankedTensorType type = reader.getResultType();
  std::optional<StringRef> name = reader.string("reduce_op");
  if (!lhs || !rhs || !type || !name)
    return failure();
  int64_t rank = getTensor(lhs).getRank();
  std::optional<tp::ReductionKind> reduction =
      tp::symbolizeReductionKind(*name);
  bool isScaled = !reader.isAbsent("A_scale");
  std::optional<int64_t> axis =
      reader.dim(isScaled ? "orig_scatter_dim" : "scatter_dim", rank);
  if (!reduction || !axis)
    return failure();
  Value lhsScale, rhsScale;
  if (isScaled) {
    lhsScale = reader.tensor("A_scale");
    rhsScale = reader.tensor("B_scale");
    // If A was flattened, the op reshapes the product before the scatter.
    if (!lhsScale || !rhsScale || type.getRank() != rank ||
        reader.dim("scatter_dim_after_maybe_reshape", rank) != axis ||
        !reader.isAbsent("bias") || !reader.isAbsent("result_scale"))
      return failure();
  }
  tp::GroupAttr group = reader.group();
  if (!group)
    return failure();
  return reader.result(reader.create<tp::MatmulReduceScatterOp>(
      type, *reduction, lhs, rhs, /*bias=*/Value(), lhsScale, rhsScale, *axis,
      group));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static LogicalResult writeAllGatherMatmul(Operation *operation,
                                          NodeWriter &writer) {
  auto op = cast<tp::AllGatherMatmulOp>(operation);
  bool isScaled = bool(op.getShardScale());
  ValueRange products = op.getOutputs().take_back(op.getRhs().size());
  // Without stated types, each product has that of its right-hand side.
  SmallVector<Type> types(llvm::map_range(products, tp::getElementType));
  bool statesTypes =
      isScaled && llvm::any_of(llvm::zip_equal(types, op.getRhs()),
                               [](const auto &product) {
                                 auto [type, rhs] = product;
                                 return type != tp::getElementType(rhs);
                               });
  bool isInexpressible =
      statesTypes &&
      !op->getParentOfType<ModuleOp>()->hasAttr(tp::elementTypeListsAttrName);
  if (!op.getBiases().empty() || isInexpressible ||
      (isScaled && !op.getReturnsGathered()))
    return op.emitError(
        "PyTorch has no such fused op; lower-collectives decomposes it");
  NodeBuilder node = writer.node(
      op.getLoc(),
      isScaled ? "torch.ops.symm_mem.fused_all_gather_scaled_matmul.default"
               : "torch.ops.symm_mem.fused_all_gather_matmul.default");
  node.tensor("A", op.getShard()).tensors("Bs", op.getRhs());
  if (isScaled)
    node.tensor("A_scale", op.getShardScale())
        .tensors("B_scales", op.getRhsScales());
  node.integer("gather_dim", op.getGatherAxis())
      .string("group_name", writer.getProcessGroup(op.getGroup()));
  if (isScaled) {
    SmallVector<Value> none(products.size());
    SmallVector<bool> fast(products.size(), false);
    node.optionalTensors("biases", none).optionalTensors("result_scales", none);
    if (statesTypes)
      node.integers("out_dtypes", llvm::map_to_vector(types, [](Type type) {
                      return static_cast<int64_t>(getScalarType(type));
                    }));
    else
      node.optionalTensors("out_dtypes", none);
    node.booleans("use_fast_accum", fast);
  } else {
    node.keywords().boolean("return_A", op.getReturnsGathered());
  }
  return node.finishOptionalAndList(
      op.getReturnsGathered() ? op.getOutputs().front() : Value(), products);
}

static LogicalResult writeMatmulReduceScatter(Operation *operation,
                                              NodeWriter &writer) {
  auto op = cast<tp::MatmulReduceScatterOp>(operation);
  bool isScaled = bool(op.getLhsScale());
  auto axis = static_cast<int64_t>(op.getScatterAxis());
  if (op.getBias() || (isScaled && axis > 1))
    return op.emitError(
        "PyTorch has no such fused op; lower-collectives decomposes it");
  StringRef reduction = tp::stringifyReductionKind(op.getReduction());
  StringRef group = writer.getProcessGroup(op.getGroup());
  if (!isScaled)
    return writer
        .node(op.getLoc(),
              "torch.ops.symm_mem.fused_matmul_reduce_scatter.default")
        .tensor("A", op.getLhs())
        .tensor("B", op.getRhs())
        .string("reduce_op", reduction)
        .integer("scatter_dim", axis)
        .string("group_name", group)
        .finish(op.getResult());
  // The shape before the scatter.
  SmallVector<int64_t> shape(getTensor(op.getLhs()).getShape());
  shape.back() = getTensor(op.getRhs()).getDimSize(1);
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return op.emitError("PyTorch's scaled fused op takes its output shape as "
                        "an argument, and this shape is symbolic");
  return writer
      .node(op.getLoc(),
            "torch.ops.symm_mem.fused_scaled_matmul_reduce_scatter.default")
      .tensor("A", op.getLhs())
      .tensor("B", op.getRhs())
      .tensor("A_scale", op.getLhsScale())
      .tensor("B_scale", op.getRhsScale())
      .string("reduce_op", reduction)
      .integer("orig_scatter_dim", axis)
      .integer("scatter_dim_after_maybe_reshape", axis)
      .string("group_name", group)
      .integers("output_shape", shape)
      .none("bias")
      .none("result_scale")
      .scalarType("out_dtype", getElementType(op.getResult()))
      .boolean("use_fast_accum", false)
      .finish(op.getResult());
}

void vocabulary::addSymmMem(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.symm_mem.fused_all_gather_matmul.default",
                  "torch.ops.symm_mem.fused_all_gather_scaled_matmul.default"},
                 readAllGatherMatmul);
  vocabulary.add(
      {"torch.ops.symm_mem.fused_matmul_reduce_scatter.default",
       "torch.ops.symm_mem.fused_scaled_matmul_reduce_scatter.default"},
      readMatmulReduceScatter);
  vocabulary.addWriter<tp::AllGatherMatmulOp>(writeAllGatherMatmul);
  vocabulary.addWriter<tp::MatmulReduceScatterOp>(writeMatmulReduceScatter);
}
