//===- NodeWriter.cpp - new nodes of a PyTorch graph ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeWriter.h"

#include "ElementTypes.h"

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
  return string(graph.getGroupArgument(), group.getName());
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
  if (!node.target.starts_with("torch.ops."))
    return node.target.rsplit('.').second;
  SmallVector<StringRef> parts;
  node.target.split(parts, '.');
  return parts.size() >= 2 ? parts[parts.size() - 2] : node.target;
}

void NodeBuilder::respell() {
  if (!own)
    return;
  node.target = graph.save(own->target);
  std::vector<archive::NamedArgument> arguments = std::move(node.inputs);
  node.inputs.clear();
  for (archive::NamedArgument &argument : arguments)
    if (auto renamed = own->alias.arguments.find(argument.name.str());
        renamed != own->alias.arguments.end())
      argument.name = graph.save(renamed->second);
  // Order the arguments as in the operator's own schema, as far as the example
  // shows it. Arguments after a gap must be keyword arguments.
  bool hasGap = false;
  for (const archive::NamedArgument &shown : own->example.inputs) {
    auto argument =
        llvm::find_if(arguments, [&](const archive::NamedArgument &candidate) {
          return candidate.name == shown.name;
        });
    if (argument == arguments.end()) {
      hasGap = true;
      continue;
    }
    argument->kind =
        hasGap ? archive::ArgumentKind::Keyword
               : shown.kind.value_or(archive::ArgumentKind::Positional);
    node.inputs.push_back(std::move(*argument));
    arguments.erase(argument);
  }
  for (archive::NamedArgument &argument : arguments) {
    argument.kind = archive::ArgumentKind::Keyword;
    node.inputs.push_back(std::move(argument));
  }
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

LogicalResult NodeBuilder::finish(ValueRange results) {
  if (hasFailed)
    return failure();
  respell();
  for (Value result : results)
    node.outputs.push_back(getOutput(result, getBaseName()));
  node.name = results.size() == 1 ? node.outputs.front().text
                                  : graph.makeName(Value(), getBaseName());
  graph.add(std::move(node), results, location);
  return success();
}

LogicalResult NodeBuilder::finishOptionalAndList(Value first, ValueRange list) {
  if (hasFailed)
    return failure();
  respell();
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
  graph.add(std::move(node), results, location);
  return success();
}

StringRef NodeBuilder::finishIntermediate(RankedTensorType type) {
  if (hasFailed)
    return {};
  respell();
  StringRef name = graph.makeName(Value(), getBaseName());
  Argument output;
  output.tag = ArgumentTag::Tensor;
  output.text = name;
  node.outputs.push_back(std::move(output));
  node.name = name;
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
