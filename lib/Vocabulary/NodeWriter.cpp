//===- NodeWriter.cpp - new nodes of a PyTorch graph ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeWriter.h"

#include "ElementTypes.h"

#include "commute/Dialect/GroupSpelling.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;

NodeBuilder &NodeBuilder::add(StringRef name, Argument argument) {
  node.inputs.push_back({name, std::move(argument), kind});
  return *this;
}

Argument NodeBuilder::getTensor(Value value) {
  Argument argument;
  argument.tag = ArgumentTag::Tensor;
  argument.text = graph.getName(value);
  hasFailed |= argument.text.empty();
  return argument;
}

static Argument getInteger(int64_t value) {
  Argument argument;
  argument.tag = ArgumentTag::Int;
  argument.integer = value;
  return argument;
}

static Argument getNumber(double value) {
  Argument argument;
  argument.tag = ArgumentTag::Float;
  argument.real = value;
  return argument;
}

static Argument getBoolean(bool value) {
  Argument argument;
  argument.tag = ArgumentTag::Bool;
  argument.integer = value;
  return argument;
}

NodeBuilder &NodeBuilder::tensor(StringRef name, Value value) {
  return add(name, getTensor(value));
}

NodeBuilder &NodeBuilder::named(StringRef name, StringRef value) {
  Argument argument;
  argument.tag = ArgumentTag::Tensor;
  argument.text = value;
  hasFailed |= value.empty();
  return add(name, std::move(argument));
}

NodeBuilder &NodeBuilder::operand(StringRef name, Value value) {
  auto constant = value.getDefiningOp<tp::ConstantOp>();
  bool isScalar = constant &&
                  cast<RankedTensorType>(constant.getType()).getRank() == 0 &&
                  !constant->hasAttr(tp::TPDialect::namesAttrName);
  if (!isScalar)
    return tensor(name, value);
  if (auto number = dyn_cast<FloatAttr>(constant.getValue()))
    return add(name, getNumber(number.getValueAsDouble()));
  auto integer = cast<IntegerAttr>(constant.getValue());
  if (integer.getType().isInteger(1))
    return add(name, getBoolean(integer.getValue().getBoolValue()));
  return add(name, getInteger(integer.getInt()));
}

NodeBuilder &NodeBuilder::tensors(StringRef name, ValueRange values) {
  Argument list;
  list.tag = ArgumentTag::Tensors;
  for (Value value : values)
    list.elements.push_back(getTensor(value));
  return add(name, std::move(list));
}

NodeBuilder &NodeBuilder::optionalTensor(StringRef name, Value value) {
  return value ? tensor(name, value) : none(name);
}

NodeBuilder &NodeBuilder::optionalTensors(StringRef name, ValueRange values) {
  Argument list;
  list.tag = ArgumentTag::OptionalTensors;
  for (Value value : values)
    list.elements.push_back(value ? getTensor(value) : Argument());
  return add(name, std::move(list));
}

NodeBuilder &NodeBuilder::integer(StringRef name, int64_t value) {
  return add(name, getInteger(value));
}

NodeBuilder &NodeBuilder::integers(StringRef name, ArrayRef<int64_t> values) {
  Argument list;
  list.tag = ArgumentTag::Ints;
  for (int64_t value : values)
    list.elements.push_back(getInteger(value));
  return add(name, std::move(list));
}

Argument NodeBuilder::getSize(RankedTensorType type, unsigned dim,
                              int64_t factor) {
  std::optional<Argument> size = graph.getSize(type, dim, factor, location);
  if (size)
    return *size;
  if (!hasFailed)
    emitError(location) << "cannot be written: nothing in the graph determines "
                           "the size of dim "
                        << dim << " of a " << node.target;
  hasFailed = true;
  return {};
}

NodeBuilder &NodeBuilder::sizes(StringRef name, RankedTensorType type) {
  if (type.hasStaticShape())
    return integers(name, type.getShape());
  Argument list;
  list.tag = ArgumentTag::SymInts;
  for (unsigned dim : llvm::seq<unsigned>(0, type.getRank())) {
    list.elements.push_back(getSize(type, dim, /*factor=*/1));
    list.elements.back().tag = ArgumentTag::SymInt;
  }
  return add(name, std::move(list));
}

NodeBuilder &NodeBuilder::size(StringRef name, RankedTensorType type,
                               unsigned dim, int64_t factor) {
  return add(name, getSize(type, dim, factor));
}

NodeBuilder &NodeBuilder::number(StringRef name, double value) {
  return add(name, getNumber(value));
}

NodeBuilder &NodeBuilder::boolean(StringRef name, bool value) {
  return add(name, getBoolean(value));
}

NodeBuilder &NodeBuilder::booleans(StringRef name, ArrayRef<bool> values) {
  Argument list;
  list.tag = ArgumentTag::Bools;
  for (bool value : values)
    list.elements.push_back(getBoolean(value));
  return add(name, std::move(list));
}

NodeBuilder &NodeBuilder::string(StringRef name, StringRef value) {
  Argument argument;
  argument.tag = ArgumentTag::String;
  argument.text = graph.save(value);
  return add(name, std::move(argument));
}

NodeBuilder &NodeBuilder::none(StringRef name) { return add(name, Argument()); }

NodeBuilder &NodeBuilder::scalarType(StringRef name, Type elementType) {
  Argument argument;
  argument.tag = ArgumentTag::ScalarType;
  argument.integer = static_cast<int64_t>(getScalarType(elementType));
  return add(name, std::move(argument));
}

NodeBuilder &NodeBuilder::memoryFormat(StringRef name,
                                       archive::MemoryFormat format) {
  Argument argument;
  argument.tag = ArgumentTag::MemoryFormat;
  argument.integer = static_cast<int64_t>(format);
  return add(name, std::move(argument));
}

NodeBuilder &NodeBuilder::group(tp::GroupAttr group) {
  // A vocabulary file names arguments as the schemas of old PyTorch do.
  if (own)
    return string("group_name", group.getName());
  return string(graph.getGroupArgument(), graph.getProcessGroup(group));
}

NodeBuilder &NodeBuilder::groupSize(tp::GroupAttr group) {
  // The operator of another system need not take it.
  if (own && !own->alias.isKnown("group_size")) {
    bool isTaken = own->example
                       ? own->example->find("group_size") != nullptr
                       : llvm::is_contained(own->alias.signature, "group_size");
    if (!isTaken)
      return *this;
  }
  return integer("group_size", group.getSize());
}

NodeBuilder &NodeBuilder::device() {
  const archive::Device &device = graph.getDevice();
  // The CPU is PyTorch's default device, which torch.export omits as well.
  if (device.type == "cpu")
    return *this;
  Argument argument;
  argument.tag = ArgumentTag::Device;
  argument.text = device.type;
  argument.integer = device.index.value_or(-1);
  return add("device", std::move(argument));
}

StringRef NodeBuilder::getBaseName() const {
  // "torch.ops.NAMESPACE.NAME.OVERLOAD", or a Python function.
  StringRef target = own ? own->target : node.target;
  if (!target.starts_with("torch.ops."))
    return target.rsplit('.').second;
  SmallVector<StringRef> parts;
  target.split(parts, '.');
  return parts.size() >= 2 ? parts[parts.size() - 2] : target;
}

LogicalResult NodeBuilder::respell(SmallVectorImpl<Value> &results) {
  if (!own)
    return success();
  auto makeEmpty = [&](Value result) {
    RankedTensorType type = tp::getTensor(result);
    return NodeBuilder(graph, location, "torch.ops.aten.empty.memory_format")
        .sizes("size", type)
        .keywords()
        .scalarType("dtype", type.getElementType())
        .device()
        .finishIntermediate(type);
  };
  llvm::Error error = vocabulary::respell(*own, node, results, makeEmpty);
  if (!error)
    return success();
  return emitError(location) << "cannot be written as " << own->target << ": "
                             << llvm::toString(std::move(error));
}

bool NodeWriter::expresses(const OwnSpelling &spelling, Operation *op) {
  const OperatorAlias &alias = spelling.alias;
  auto collective = cast<tp::CollectiveOpInterface>(op);
  std::optional<tp::ReductionKind> reduction =
      collective.getCollectiveReduction();
  auto stated = alias.constants.find("reduce_op");
  if (reduction && stated != alias.constants.end() &&
      stated->second.text != tp::stringifyReductionKind(*reduction))
    return false;
  std::optional<int64_t> axis = collective.getCollectiveAxis();
  if (axis.value_or(0) != 0 && !alias.isKnown("dim"))
    return false;
  // The result of a synchronous operator cannot be waited for.
  return alias.needsWait || !collective.isAsynchronous();
}

FailureOr<NodeBuilder> NodeWriter::collective(Operation *op, StringRef target,
                                              tp::GroupAttr group) {
  tp::GroupSpelling spelling = tp::getGroupSpelling(group, op);
  // An op that was read from an operator is written as this operator.
  const OwnSpelling *known = own && own->alias.sameAs == target ? own : nullptr;
  if (!known && !spelling.vocabulary.empty()) {
    auto [name, alias] = vocabulary.findAliasOf(spelling.vocabulary, target);
    if (alias) {
      std::unique_ptr<OwnSpelling> &entry = spellings[name];
      if (!entry)
        entry.reset(new OwnSpelling{name, *alias, graph.findExample(name)});
      known = entry.get();
    }
  }
  if (known && expresses(*known, op))
    return NodeBuilder(graph, op->getLoc(), target, known);
  if (!spelling.processGroup.empty())
    return NodeBuilder(graph, op->getLoc(), target);
  return op->emitError("cannot be written: ")
         << spelling.vocabulary << " has no such collective, and PyTorch's "
         << "name of group '" << group.getName() << "' is not stated";
}

FailureOr<NodeBuilder> NodeWriter::emptyStrided(Location location,
                                                RankedTensorType type) {
  tp::SymbolSpace symbols(type.getContext());
  tp::Strides strides = symbols.getStrides(type);
  if (!strides)
    return failure();
  SmallVector<int64_t> numbers;
  for (const tp::Size &stride : *strides) {
    std::optional<int64_t> number = tp::getConstant(stride);
    if (!number)
      return failure();
    numbers.push_back(*number);
  }
  NodeBuilder result = node(location, "torch.ops.aten.empty_strided.default");
  result.sizes("size", type)
      .integers("stride", numbers)
      .keywords()
      .scalarType("dtype", type.getElementType())
      .device();
  return result;
}

bool NodeWriter::isReadFrom(Operation *op, StringRef target) const {
  auto read = op->getAttrOfType<StringAttr>(tp::TPDialect::targetAttrName);
  if (!read)
    return false;
  return read.getValue() == target ||
         (own && own->target == read.getValue() && own->alias.sameAs == target);
}

Argument NodeBuilder::getOutput(Value result, StringRef base) {
  Argument output;
  output.tag = ArgumentTag::Tensor;
  output.text = graph.makeName(result, base);
  return output;
}

LogicalResult NodeBuilder::addNode(ValueRange results) {
  SmallVector<Value> values(results);
  if (failed(respell(values)))
    return failure();
  // Of a node that returns more than this tensor, the name is no tensor's.
  if (node.outputs.size() > 1 && results.size() == 1)
    node.name = graph.makeName(Value(), getBaseName());
  graph.add(std::move(node), values, location);
  return success();
}

LogicalResult NodeBuilder::finish(ValueRange results) {
  if (hasFailed)
    return failure();
  for (Value result : results)
    node.outputs.push_back(getOutput(result, getBaseName()));
  node.name = results.size() == 1 ? node.outputs.front().text
                                  : graph.makeName(Value(), getBaseName());
  return addNode(results);
}

LogicalResult NodeBuilder::finishOptionalAndList(Value first, ValueRange list) {
  if (hasFailed)
    return failure();
  SmallVector<Value> results;
  Argument tensors;
  tensors.tag = ArgumentTag::Tensors;
  // Do not use "getitem", as PyTorch would: its loader uses that name for the
  // list itself, and would report a redefinition here.
  StringRef base = getBaseName();
  if (first) {
    node.outputs.push_back(getOutput(first, base));
    results.push_back(first);
  } else {
    node.outputs.push_back(Argument());
  }
  for (Value result : list) {
    tensors.elements.push_back(getOutput(result, base));
    results.push_back(result);
  }
  node.outputs.push_back(std::move(tensors));
  node.name = graph.makeName(Value(), getBaseName());
  return addNode(results);
}

StringRef NodeBuilder::finishIntermediate(RankedTensorType type) {
  if (hasFailed)
    return {};
  StringRef name = graph.makeName(Value(), getBaseName());
  Argument output;
  output.tag = ArgumentTag::Tensor;
  output.text = name;
  node.outputs.push_back(std::move(output));
  node.name = name;
  SmallVector<Value> none;
  if (failed(respell(none)))
    return {};
  graph.addIntermediate(std::move(node), name, type, location);
  return name;
}

LogicalResult NodeWriter::writeAsOperator(Operation *op) {
  WriteFunction write = vocabulary.findWriter(op->getName());
  if (!write)
    return op->emitError("cannot be written as a PyTorch node: no vocabulary "
                         "has an operator for ")
           << op->getName();
  return write(op, *this);
}
