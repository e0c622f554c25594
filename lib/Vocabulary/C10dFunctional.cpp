//===- C10dFunctional.cpp - PyTorch's functional collectives ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"
#include "NodeReader.h"
#include "NodeWriter.h"
#include "TensorCast.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

static std::optional<tp::ReductionKind> getReduction(NodeReader &reader) {
  std::optional<StringRef> name = reader.string("reduce_op");
  if (!name)
    return std::nullopt;
  // PyTorch writes lower-case names but accepts any case.
  return tp::symbolizeReductionKind(name->lower());
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// Creates the op for one tensor, or returns null for a form that is not
// modelled.

template <bool isInPlace>
static Value makeAllReduce(NodeReader &reader, Value input,
                           RankedTensorType type, tp::GroupAttr group) {
  std::optional<tp::ReductionKind> reduction = getReduction(reader);
  if (!reduction)
    return {};
  return reader.create<tp::AllReduceOp>(type, *reduction, input, group,
                                        reader.needsWait(), isInPlace);
}

static Value makeAllGather(NodeReader &reader, Value input,
                           RankedTensorType type, tp::GroupAttr group) {
  std::optional<int64_t> dim = reader.collectiveDim(getTensor(input).getRank());
  if (!dim)
    return {};
  return reader.create<tp::AllGatherOp>(type, input, *dim, group,
                                        reader.needsWait());
}

static Value makeReduceScatter(NodeReader &reader, Value input,
                               RankedTensorType type, tp::GroupAttr group) {
  std::optional<tp::ReductionKind> reduction = getReduction(reader);
  std::optional<int64_t> dim = reader.collectiveDim(getTensor(input).getRank());
  if (!reduction || !dim)
    return {};
  return reader.create<tp::ReduceScatterOp>(type, *reduction, input, *dim,
                                            group, reader.needsWait());
}

template <bool isInPlace>
static Value makeBroadcast(NodeReader &reader, Value input,
                           RankedTensorType type, tp::GroupAttr group) {
  // c10d identifies the root by its position in the group.
  std::optional<int64_t> root = reader.integer("src");
  if (!root)
    return {};
  return reader.create<tp::CollectiveBroadcastOp>(
      type, input, *root, group, reader.needsWait(), isInPlace);
}

using MakeFunction = Value (*)(NodeReader &, Value, RankedTensorType,
                               tp::GroupAttr);

/// Reads an operator with one input and one output.
template <MakeFunction make>
static LogicalResult readSingle(NodeReader &reader) {
  Value input = reader.tensor("input");
  RankedTensorType type = reader.getResultType();
  if (!input || !type)
    return failure();
  tp::GroupAttr group = reader.group();
  Value made = group ? make(reader, input, type, group) : Value();
  return made ? reader.result(made) : failure();
}

/// Reads an operator with a list of inputs and outputs as one op for each pair.
template <MakeFunction make>
static LogicalResult readCoalesced(NodeReader &reader) {
  std::optional<SmallVector<Value>> inputs = reader.tensors("inputs");
  if (!inputs || inputs->empty() || inputs->size() != reader.getNumResults())
    return failure();
  tp::GroupAttr group = reader.group();
  if (!group)
    return failure();
  for (auto [index, input] : llvm::enumerate(*inputs)) {
    RankedTensorType type = reader.getResultType(index);
    Value made = type ? make(reader, input, type, group) : Value();
    if (!made)
      return failure();
    reader.setResult(index, made);
  }
  return success();
}

static LogicalResult readAllToAll(NodeReader &reader) {
  Value input = reader.tensor("input");
  RankedTensorType type = reader.getResultType();
  std::optional<SmallVector<int64_t>> outputs =
      reader.integers("output_split_sizes");
  std::optional<SmallVector<int64_t>> inputs =
      reader.integers("input_split_sizes");
  if (!input || !type || getTensor(input).getRank() == 0)
    return failure();
  if (!outputs || !inputs)
    return reader.decline("its split sizes are symbolic");
  tp::GroupAttr group = reader.group();
  if (!group)
    return failure();
  return reader.result(reader.create<tp::AllToAllOp>(
      type, input, *outputs, *inputs, group, reader.needsWait()));
}

static LogicalResult readWait(NodeReader &reader) {
  Value tensor = reader.tensor("tensor");
  RankedTensorType type = reader.getResultType();
  if (!tensor || !type)
    return failure();
  return reader.result(reader.create<tp::WaitOp>(type, tensor));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Adds the group argument and finishes the node, followed by a wait unless the
/// op is asynchronous itself or its node needs none.
static LogicalResult finishCollective(NodeWriter &writer, NodeBuilder &node,
                                      tp::GroupAttr group, bool isAsync,
                                      Value result) {
  node.group(group);
  if (isAsync || !node.needsWait())
    return node.finish(result);
  StringRef started = node.finishIntermediate(getTensor(result));
  return writer
      .node(result.getLoc(), "torch.ops._c10d_functional.wait_tensor.default")
      .named("tensor", started)
      .finish(result);
}

/// Adds the dim that a collective acts on. Reports an error unless the node can
/// state it, or it is 0, as PyTorch requires.
static LogicalResult addAxis(NodeBuilder &node, Operation *op, int64_t axis) {
  if (node.states("dim")) {
    node.integer("dim", axis);
    return success();
  }
  if (axis == 0)
    return success();
  return op->emitError("PyTorch has no collective along dim ")
         << axis << ": run the pass lower-collectives first";
}

/// Returns the in-place operator if its write into `input` cannot be observed,
/// and the functional operator otherwise.
static StringRef getTarget(OpOperand &input, bool isInPlace,
                           StringRef functional, StringRef inPlace) {
  return isInPlace && mayWriteInto(input) ? inPlace : functional;
}

/// Writes a collective as `writeFunctional` does, unless its group is one of
/// TensorCast's, which are lists of ranks without names.
template <LogicalResult (*writeFunctional)(Operation *, NodeWriter &)>
static LogicalResult writeCollective(Operation *op, NodeWriter &writer) {
  auto collective = cast<tp::CollectiveOpInterface>(op);
  return collective.getCollectiveGroup().getName().empty()
             ? writeTensorCastCollective(op, writer)
             : writeFunctional(op, writer);
}

static LogicalResult writeAllReduce(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::AllReduceOp>(operation);
  FailureOr<NodeBuilder> node = writer.collective(
      op,
      getTarget(op.getInputMutable(), op.getInPlace(),
                "torch.ops._c10d_functional.all_reduce.default",
                "torch.ops._c10d_functional.all_reduce_.default"),
      op.getGroup());
  if (failed(node))
    return failure();
  node->tensor("input", op.getInput())
      .string("reduce_op", tp::stringifyReductionKind(op.getReduction()));
  return finishCollective(writer, *node, op.getGroup(), op.getAsync(),
                          op.getResult());
}

static LogicalResult writeBroadcast(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::CollectiveBroadcastOp>(operation);
  FailureOr<NodeBuilder> node = writer.collective(
      op,
      getTarget(op.getInputMutable(), op.getInPlace(),
                "torch.ops._c10d_functional.broadcast.default",
                "torch.ops._c10d_functional.broadcast_.default"),
      op.getGroup());
  if (failed(node))
    return failure();
  node->tensor("input", op.getInput()).integer("src", op.getRoot());
  return finishCollective(writer, *node, op.getGroup(), op.getAsync(),
                          op.getResult());
}

static LogicalResult writeAllGather(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::AllGatherOp>(operation);
  FailureOr<NodeBuilder> node = writer.collective(
      op, "torch.ops._c10d_functional.all_gather_into_tensor.default",
      op.getGroup());
  if (failed(node))
    return failure();
  node->tensor("input", op.getInput());
  if (failed(addAxis(*node, op, op.getGatherAxis())))
    return failure();
  node->groupSize(op.getGroup());
  return finishCollective(writer, *node, op.getGroup(), op.getAsync(),
                          op.getResult());
}

static LogicalResult writeReduceScatter(Operation *operation,
                                        NodeWriter &writer) {
  auto op = cast<tp::ReduceScatterOp>(operation);
  FailureOr<NodeBuilder> node = writer.collective(
      op, "torch.ops._c10d_functional.reduce_scatter_tensor.default",
      op.getGroup());
  if (failed(node))
    return failure();
  node->tensor("input", op.getInput())
      .string("reduce_op", tp::stringifyReductionKind(op.getReduction()));
  if (failed(addAxis(*node, op, op.getScatterAxis())))
    return failure();
  node->groupSize(op.getGroup());
  return finishCollective(writer, *node, op.getGroup(), op.getAsync(),
                          op.getResult());
}

static LogicalResult writeAllToAll(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::AllToAllOp>(operation);
  FailureOr<NodeBuilder> node = writer.collective(
      op, "torch.ops._c10d_functional.all_to_all_single.default",
      op.getGroup());
  if (failed(node))
    return failure();
  node->tensor("input", op.getInput())
      .integers("output_split_sizes", op.getOutputSplits())
      .integers("input_split_sizes", op.getInputSplits());
  return finishCollective(writer, *node, op.getGroup(), op.getAsync(),
                          op.getResult());
}

static LogicalResult writeWait(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::WaitOp>(operation);
  return writer
      .node(op.getLoc(), "torch.ops._c10d_functional.wait_tensor.default")
      .tensor("tensor", op.getInput())
      .finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void vocabulary::addC10dFunctional(Vocabulary &vocabulary) {
  // The autograd forms compute the same values and differ only in their
  // gradients, which a captured graph either contains explicitly or does not
  // need.
  for (StringRef library : {"torch.ops._c10d_functional.",
                            "torch.ops._c10d_functional_autograd."}) {
    // c10d rejects a non-dense input of these operators (or did in most
    // releases). all_reduce and broadcast make a dense copy instead.
    auto add = [&](const Twine &name, ReadFunction read,
                   std::vector<std::string> arguments) {
      OperatorEntry &entry = vocabulary.getOrAdd((library + name).str());
      entry.read = read;
      entry.denseArguments = std::move(arguments);
      entry.isCollective = true;
    };
    add("all_reduce.default", readSingle<makeAllReduce<false>>, {});
    add("all_reduce_coalesced.default", readCoalesced<makeAllReduce<false>>,
        {});
    add("broadcast.default", readSingle<makeBroadcast<false>>, {});
    add("all_gather_into_tensor.default", readSingle<makeAllGather>, {"input"});
    add("all_gather_into_tensor_coalesced.default",
        readCoalesced<makeAllGather>, {"inputs"});
    add("reduce_scatter_tensor.default", readSingle<makeReduceScatter>,
        {"input"});
    add("reduce_scatter_tensor_coalesced.default",
        readCoalesced<makeReduceScatter>, {"inputs"});
    add("all_to_all_single.default", readAllToAll, {"input"});
    add("all_gather_into_tensor_out.default", nullptr, {"input", "out"});
    add("reduce_scatter_tensor_out.default", nullptr, {"input", "out"});
    // The in-place forms pass their operand's memory to the backend.
    add("all_reduce_.default", readSingle<makeAllReduce<true>>, {"input"});
    add("all_reduce_coalesced_.default", nullptr, {"inputs"});
    add("broadcast_.default", readSingle<makeBroadcast<true>>, {"input"});
  }
  // wait_tensor is a view because its result is the tensor that was waited for.
  // An opaque collective returns fresh memory nevertheless.
  vocabulary.addView({"torch.ops._c10d_functional.wait_tensor.default"},
                     readWait);
  vocabulary.addWriter<tp::AllReduceOp>(writeCollective<writeAllReduce>);
  vocabulary.addWriter<tp::CollectiveBroadcastOp>(
      writeCollective<writeBroadcast>);
  vocabulary.addWriter<tp::AllGatherOp>(writeCollective<writeAllGather>);
  vocabulary.addWriter<tp::ReduceScatterOp>(
      writeCollective<writeReduceScatter>);
  vocabulary.addWriter<tp::AllToAllOp>(writeCollective<writeAllToAll>);
  vocabulary.addWriter<tp::WaitOp>(writeWait);
}
