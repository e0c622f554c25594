//===- NodeReader.cpp - reading one node of a PyTorch graph -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"

#include "FunctionArguments.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;

NodeReader::NodeReader(GraphReader &graph, const archive::Node &node,
                       const OperatorEntry &entry, const OperatorAlias *alias,
                       OpBuilder &builder, Location location)
    : graph(graph), node(node), entry(entry), alias(alias), builder(builder),
      location(location) {
  for (const Argument &output : node.outputs)
    output.forEachValue(
        [&](const Argument &value) { resultNames.push_back(value.text); });
  results.resize(resultNames.size());
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

const Argument *NodeReader::find(StringRef argument) const {
  if (!alias && !entry.parameters.empty()) {
    Argument rest;
    if (gatherRest(node, &entry, argument, rest))
      return &gathered.emplace_back(std::move(rest));
    std::optional<size_t> position = findInput(node, &entry, argument);
    return position ? &node.inputs[*position].value : nullptr;
  }
  const Argument *found = node.find(argument);
  if (found)
    asked.insert(found);
  return found;
}

const archive::NamedArgument *NodeReader::findUnread() const {
  for (const archive::NamedArgument &input : node.inputs)
    if (input.value.tag != ArgumentTag::None && !asked.contains(&input.value))
      return &input;
  return nullptr;
}

bool NodeReader::isAbsent(StringRef argument) const {
  const Argument *found = find(argument);
  return !found || found->tag == ArgumentTag::None;
}

/// Returns the value of a tensor argument, if the module has it as a tensor.
static Value getTensorValue(GraphReader &graph, const Argument &argument) {
  if (argument.tag == ArgumentTag::OptionalTensor)
    return argument.elements.empty()
               ? Value()
               : getTensorValue(graph, argument.elements.front());
  if (argument.tag != ArgumentTag::Tensor)
    return {};
  Value value = graph.getValue(argument.text);
  return value && isa<RankedTensorType>(value.getType()) ? value : Value();
}

Value NodeReader::tensor(StringRef argument) {
  const Argument *found = find(argument);
  return found ? getTensorValue(graph, *found) : Value();
}

std::optional<SmallVector<Value>> NodeReader::tensors(StringRef argument) {
  const Argument *found = find(argument);
  if (!found || (found->tag != ArgumentTag::Tensors &&
                 found->tag != ArgumentTag::OptionalTensors))
    return std::nullopt;
  SmallVector<Value> values;
  for (const Argument &element : found->elements) {
    values.push_back(getTensorValue(graph, element));
    if (!values.back())
      return std::nullopt;
  }
  return values;
}

Value NodeReader::element(StringRef argument, size_t index) {
  const Argument *found = find(argument);
  return found && index < found->elements.size()
             ? getTensorValue(graph, found->elements[index])
             : Value();
}

Value NodeReader::operand(StringRef argument) {
  const Argument *found = find(argument);
  if (!found)
    return {};
  switch (found->tag) {
  case ArgumentTag::Tensor:
  case ArgumentTag::OptionalTensor:
    return getTensorValue(graph, *found);
  case ArgumentTag::Int:
    return constant(found->integer);
  case ArgumentTag::Float:
    return constant(found->real);
  case ArgumentTag::Bool:
    return constant(found->integer != 0);
  default:
    return {};
  }
}

std::optional<int64_t> NodeReader::integer(StringRef argument,
                                           std::optional<int64_t> byDefault) {
  if (isAbsent(argument))
    return byDefault;
  const Argument *found = find(argument);
  if (found->tag == ArgumentTag::Int)
    return found->integer;
  if (found->tag == ArgumentTag::SymInt && !found->namesValue())
    return found->integer;
  return std::nullopt;
}

tp::Size NodeReader::size(StringRef argument) {
  if (std::optional<int64_t> number = integer(argument))
    return *number;
  const Argument *found = find(argument);
  if (!found || found->tag != ArgumentTag::SymInt || !found->namesValue())
    return {};
  return graph.getNumber(found->text);
}

std::optional<double> NodeReader::number(StringRef argument,
                                         std::optional<double> byDefault) {
  if (isAbsent(argument))
    return byDefault;
  const Argument *found = find(argument);
  if (found->tag == ArgumentTag::Float)
    return found->real;
  if (found->tag == ArgumentTag::Int)
    return static_cast<double>(found->integer);
  return std::nullopt;
}

std::optional<bool> NodeReader::boolean(StringRef argument,
                                        std::optional<bool> byDefault) {
  if (isAbsent(argument))
    return byDefault;
  const Argument *found = find(argument);
  if (found->tag == ArgumentTag::Bool)
    return found->integer != 0;
  return std::nullopt;
}

std::optional<SmallVector<int64_t>> NodeReader::integers(StringRef argument) {
  const Argument *found = find(argument);
  if (!found)
    return std::nullopt;
  if (found->tag == ArgumentTag::Int)
    return SmallVector<int64_t>{found->integer};
  if (found->tag != ArgumentTag::Ints && found->tag != ArgumentTag::SymInts)
    return std::nullopt;
  SmallVector<int64_t> values;
  for (const Argument &element : found->elements) {
    if (element.namesValue())
      return std::nullopt;
    values.push_back(element.integer);
  }
  return values;
}

std::optional<StringRef>
NodeReader::string(StringRef argument, std::optional<StringRef> byDefault) {
  if (isAbsent(argument))
    return byDefault;
  const Argument *found = find(argument);
  if (found->tag == ArgumentTag::String)
    return found->text;
  return std::nullopt;
}

std::optional<archive::MemoryFormat>
NodeReader::memoryFormat(StringRef argument, archive::MemoryFormat byDefault) {
  if (isAbsent(argument))
    return byDefault;
  const Argument *found = find(argument);
  if (found->tag != ArgumentTag::MemoryFormat)
    return std::nullopt;
  return static_cast<archive::MemoryFormat>(found->integer);
}

std::optional<int64_t> NodeReader::dim(StringRef argument, int64_t rank,
                                       std::optional<int64_t> byDefault) {
  std::optional<int64_t> value = integer(argument, byDefault);
  if (!value)
    return std::nullopt;
  if (*value < 0)
    *value += rank;
  if (*value < 0 || *value >= rank)
    return std::nullopt;
  return value;
}

std::optional<SmallVector<int64_t>> NodeReader::dims(StringRef argument,
                                                     int64_t rank) {
  std::optional<SmallVector<int64_t>> dims = SmallVector<int64_t>();
  if (!isAbsent(argument))
    dims = integers(argument);
  if (!dims)
    return std::nullopt;
  if (dims->empty())
    *dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (int64_t &dim : *dims)
    dim += dim < 0 ? rank : 0;
  llvm::sort(*dims);
  return dims;
}

tp::GroupAttr NodeReader::group() {
  std::optional<StringRef> name =
      string(find("group_name") ? "group_name" : "group");
  if (!name)
    return {};
  tp::GroupAttr found = graph.getGroup(*name, error);
  groupIsUnknown = !found;
  if (!found && error.empty())
    limitation = graph.getGroupLimitation().str();
  if (!found)
    return {};
  std::optional<int64_t> stated = integer("group_size");
  if (stated && *stated != found.getSize()) {
    error = "states group_size " + std::to_string(*stated) + ", but group '" +
            name->str() + "' has " + std::to_string(found.getSize()) +
            " members";
    return {};
  }
  return found;
}

tp::GroupAttr NodeReader::groupOfRanks(ArrayRef<int64_t> ranks) {
  tp::GroupAttr found = graph.getGroupOfRanks(ranks);
  if (!found)
    limitation = graph.getGroupLimitation().str();
  return found;
}

std::optional<int64_t> NodeReader::collectiveDim(int64_t rank) {
  if (alias && find("dim"))
    return dim("dim", rank);
  return rank > 0 ? std::optional<int64_t>(0) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool NodeReader::keepsDevice(StringRef argument) {
  const Argument *found = find(argument);
  return found && found->tag == ArgumentTag::Tensor && !resultNames.empty() &&
         graph.areOnSameDevice(found->text, resultNames.front());
}

RankedTensorType NodeReader::getResultType(size_t index) {
  if (index >= resultNames.size())
    return {};
  return graph.getTensorType(resultNames[index]);
}

Value NodeReader::constant(int64_t value) {
  Type type = builder.getI64Type();
  return create<tp::ConstantOp>(RankedTensorType::get({}, type),
                                IntegerAttr::get(type, value));
}

Value NodeReader::constant(double value) {
  Type type = builder.getF64Type();
  return create<tp::ConstantOp>(RankedTensorType::get({}, type),
                                FloatAttr::get(type, value));
}

Value NodeReader::constant(bool value) {
  Type type = builder.getI1Type();
  return create<tp::ConstantOp>(RankedTensorType::get({}, type),
                                IntegerAttr::get(type, value ? 1 : 0));
}

Value NodeReader::sizeAsNumber(const tp::Size &size) {
  if (std::optional<int64_t> known = size.getConstant())
    return constant(*known);
  Type type = builder.getI64Type();
  return create<tp::ReduceOp>(RankedTensorType::get({}, type),
                              tp::ReductionKind::Sum, fill(1, {size}, type),
                              ArrayRef<int64_t>{0}, /*keep_dims=*/false);
}

tp::StridedShape vocabulary::permute(const tp::StridedShape &shape,
                                     ArrayRef<int64_t> permutation) {
  tp::StridedShape result;
  if (shape.strides)
    result.strides.emplace();
  for (int64_t dim : permutation) {
    result.sizes.push_back(shape.sizes[dim]);
    if (shape.strides)
      result.strides->push_back((*shape.strides)[dim]);
  }
  return result;
}

Value NodeReader::permute(Value input, ArrayRef<int64_t> permutation) {
  RankedTensorType type = getTensor(input);
  tp::StridedShape shape =
      vocabulary::permute(getSymbols().getShape(type), permutation);
  return create<tp::PermuteOp>(
      getSymbols().getType(type.getElementType(), shape.sizes, shape.strides),
      input, permutation);
}

Value NodeReader::convert(Value input, Type elementType) {
  tp::Sizes sizes = getSymbols().getSizes(getTensor(input));
  return create<tp::CastOp>(getDenseType(elementType, sizes), input,
                            /*contiguous=*/true);
}

Value NodeReader::slice(Value input, int64_t dim, int64_t start,
                        const tp::Size &size) {
  auto type = cast<RankedTensorType>(input.getType());
  tp::StridedShape shape = getSymbols().getShape(type);
  shape.sizes[dim] = size;
  return create<tp::SliceOp>(
      getSymbols().getType(type.getElementType(), shape.sizes, shape.strides),
      input, dim, start, /*step=*/1);
}

Value NodeReader::reshape(Value input, const tp::Sizes &sizes) {
  auto type = cast<RankedTensorType>(input.getType());
  tp::StridedShape shape = getSymbols().getShape(type);
  return create<tp::ReshapeOp>(
      getSymbols().getType(type.getElementType(), sizes,
                           tp::getReshapedStrides(shape, sizes)),
      input);
}

Value NodeReader::broadcast(Value input, const tp::Sizes &sizes) {
  auto type = cast<RankedTensorType>(input.getType());
  tp::StridedShape shape = getSymbols().getShape(type);
  size_t shift = sizes.size() - shape.sizes.size();
  if (shape.strides) {
    SmallVector<tp::Size, 4> strides(shift, 0);
    for (auto [dim, stride] : llvm::enumerate(*shape.strides))
      strides.push_back(shape.sizes[dim] == sizes[dim + shift] ? stride
                                                               : tp::Size(0));
    shape.strides = strides;
  }
  RankedTensorType result =
      getSymbols().getType(type.getElementType(), sizes, shape.strides);
  return result == type ? input : create<tp::BroadcastOp>(result, input);
}

Value NodeReader::map(tp::MapFunction function, ValueRange operands,
                      Type elementType) {
  tp::Sizes sizes;
  for (Value operand : operands) {
    tp::Sizes own =
        getSymbols().getSizes(cast<RankedTensorType>(operand.getType()));
    if (own.size() > sizes.size())
      sizes.insert(sizes.begin(), own.size() - sizes.size(), 1);
    size_t shift = sizes.size() - own.size();
    for (auto [dim, size] : llvm::enumerate(own))
      if (size != tp::Size(1))
        sizes[dim + shift] = size;
  }
  return create<tp::MapOp>(getDenseType(elementType, sizes), function,
                           operands);
}

Value NodeReader::fill(double number, const tp::Sizes &sizes,
                       Type elementType) {
  TypedAttr value = builder.getF64FloatAttr(number);
  if (isa<IntegerType>(elementType))
    value = builder.getI64IntegerAttr(static_cast<int64_t>(number));
  return create<tp::ConstantOp>(getDenseType(elementType, sizes), value);
}

Value NodeReader::concat(ArrayRef<Value> parts, int64_t dim) {
  tp::Sizes sizes = getSymbols().getSizes(getTensor(parts.front()));
  for (Value part : parts.drop_front())
    sizes[dim] =
        tp::add(sizes[dim], getSymbols().getSizes(getTensor(part))[dim]);
  return create<tp::ConcatOp>(
      getDenseType(getElementType(parts.front()), sizes), parts, dim);
}

Value NodeReader::pad(Value input, int64_t dim, int64_t before, int64_t after,
                      double number) {
  SmallVector<Value> parts = {input};
  auto add = [&](int64_t count, size_t place) {
    if (count == 0)
      return;
    tp::Sizes sizes = getSymbols().getSizes(getTensor(input));
    sizes[dim] = count;
    parts.insert(parts.begin() + place,
                 fill(number, sizes, getElementType(input)));
  };
  add(before, 0);
  add(after, parts.size());
  return parts.size() == 1 ? input : concat(parts, dim);
}

Value NodeReader::iota(int64_t count, int64_t start, int64_t step) {
  return create<tp::IotaOp>(
      RankedTensorType::get({count}, builder.getI64Type()),
      builder.getI64IntegerAttr(start), builder.getI64IntegerAttr(step));
}

RankedTensorType NodeReader::getDenseType(Type elementType,
                                          ArrayRef<tp::Size> sizes) {
  return getSymbols().getType(elementType, sizes,
                              tp::getContiguousStrides(sizes));
}

void NodeReader::setResult(size_t index, Value value) {
  results[index] = value;
}

void NodeReader::eraseCreated() {
  for (Operation *op : llvm::reverse(created))
    op->erase();
  created.clear();
  std::fill(results.begin(), results.end(), Value());
}
