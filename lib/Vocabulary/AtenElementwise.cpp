//===- AtenElementwise.cpp - elementwise ATen operators ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"
#include "commute/Dialect/ScalarFunctions.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using tp::MapFunction;

static std::string getTarget(StringRef name) {
  return ("torch.ops.aten." + name).str();
}

/// Returns true if an operand is a Python number.
static bool isScalar(Value value) {
  auto constant = value.getDefiningOp<tp::ConstantOp>();
  return constant &&
         cast<RankedTensorType>(constant.getType()).getRank() == 0 &&
         !constant->hasAttr(tp::TPDialect::namesAttrName);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Sets one tp.map of `operands` as the node's result.
static LogicalResult setMap(NodeReader &reader, MapFunction function,
                            ArrayRef<Value> operands) {
  RankedTensorType type = reader.getResultType();
  if (!type || llvm::is_contained(operands, Value()))
    return failure();
  return reader.result(reader.create<tp::MapOp>(type, function, operands));
}

/// Reads an operand of a binary function whose other operand is `tensor` (null
/// if that is a number). PyTorch's kernels convert an integer to the tensor's
/// element type, so that -1 is 255 beside a uint8 tensor. Booleans are promoted
/// instead.
static Value readBeside(NodeReader &reader, StringRef argument, Value tensor) {
  const Argument *found = reader.find(argument);
  auto integer =
      tensor ? dyn_cast<IntegerType>(
                   cast<RankedTensorType>(tensor.getType()).getElementType())
             : IntegerType();
  if (!found || found->tag != ArgumentTag::Int || !integer ||
      integer.getWidth() == 1 || integer.getWidth() >= 64)
    return reader.operand(argument);
  return reader.constant(
      static_cast<int64_t>(tp::wrapInteger(found->integer, integer)));
}

template <MapFunction function>
static LogicalResult readUnary(NodeReader &reader) {
  return setMap(reader, function, {reader.tensor("self")});
}

template <MapFunction function>
static LogicalResult readBinary(NodeReader &reader) {
  return setMap(reader, function,
                {readBeside(reader, "self", reader.tensor("other")),
                 readBeside(reader, "other", reader.tensor("self"))});
}

/// Returns `other` scaled by `alpha`, for add and sub.
static Value readScaledOther(NodeReader &reader, StringRef name) {
  Value other = reader.operand(name);
  if (!other || reader.integer("alpha", 1) == 1)
    return other;
  Value alpha = reader.operand("alpha");
  if (!alpha)
    return {};
  auto type = cast<RankedTensorType>(other.getType());
  RankedTensorType sum = reader.getResultType();
  if (!sum)
    return {};
  // PyTorch promotes to the result type before it multiplies. The sizes and
  // layout of `other` do not change.
  if (!isScalar(other) && type.getElementType() != sum.getElementType()) {
    tp::StridedShape shape = reader.getSymbols().getShape(type);
    type = reader.getSymbols().getType(sum.getElementType(), shape.sizes,
                                       shape.strides);
    other = reader.create<tp::CastOp>(type, other, /*contiguous=*/false);
  }
  return reader.create<tp::MapOp>(type, MapFunction::Mul,
                                  ValueRange{other, alpha});
}

static LogicalResult readAdd(NodeReader &reader) {
  return setMap(reader, MapFunction::Add,
                {reader.operand("self"), readScaledOther(reader, "other")});
}

static LogicalResult readSub(NodeReader &reader) {
  return setMap(reader, MapFunction::Sub,
                {reader.operand("self"), readScaledOther(reader, "other")});
}

static LogicalResult readRsub(NodeReader &reader) {
  if (!reader.isAbsent("alpha") && reader.integer("alpha") != 1)
    return failure();
  return setMap(reader, MapFunction::Sub,
                {reader.operand("other"), reader.operand("self")});
}

static LogicalResult readPow(NodeReader &reader) {
  return setMap(reader, MapFunction::Pow,
                {reader.operand("self"), reader.operand("exponent")});
}

static LogicalResult readSquare(NodeReader &reader) {
  Value self = reader.tensor("self");
  return setMap(reader, MapFunction::Mul, {self, self});
}

static LogicalResult readDivMode(NodeReader &reader) {
  std::optional<StringRef> mode = reader.string("rounding_mode", StringRef());
  if (!mode || (!mode->empty() && *mode != "floor"))
    return failure();
  return setMap(reader,
                mode->empty() ? MapFunction::Div : MapFunction::FloorDiv,
                {reader.operand("self"), reader.operand("other")});
}

static LogicalResult readGelu(NodeReader &reader) {
  std::optional<StringRef> approximate = reader.string("approximate", "none");
  if (!approximate || (*approximate != "none" && *approximate != "tanh"))
    return failure();
  return setMap(reader,
                *approximate == "tanh" ? MapFunction::GeluTanh
                                       : MapFunction::Gelu,
                {reader.tensor("self")});
}

static LogicalResult readWhere(NodeReader &reader) {
  return setMap(reader, MapFunction::Select,
                {reader.tensor("condition"), reader.operand("self"),
                 reader.operand("other")});
}

static LogicalResult readMaskedFill(NodeReader &reader) {
  return setMap(
      reader, MapFunction::Select,
      {reader.tensor("mask"), reader.operand("value"), reader.tensor("self")});
}

static LogicalResult readClamp(NodeReader &reader) {
  Value value = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!value || !type)
    return failure();
  for (auto [name, function] :
       {std::pair<StringRef, MapFunction>("min", MapFunction::Maximum),
        std::pair<StringRef, MapFunction>("max", MapFunction::Minimum)}) {
    if (reader.isAbsent(name))
      continue;
    Value bound = readBeside(reader, name, reader.tensor("self"));
    if (!bound)
      return failure();
    value = reader.create<tp::MapOp>(type, function, ValueRange{value, bound});
  }
  if (value == reader.tensor("self"))
    return failure();
  return reader.result(value);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Returns true if PyTorch's operator accepts a number as either operand.
static bool takesNumberForEither(MapFunction function) {
  return function == MapFunction::Add || function == MapFunction::Sub ||
         function == MapFunction::Mul || function == MapFunction::Div ||
         function == MapFunction::FloorDiv;
}

/// The overload depends on which operand is a number, and some functions have
/// no overload with a number on the left.
static LogicalResult writeBinary(tp::MapOp op, NodeWriter &writer) {
  MapFunction function = op.getFunction();
  Value self = op.getOperands()[0];
  Value other = op.getOperands()[1];
  auto finish = [&](const Twine &name, StringRef otherName, bool isNumber) {
    NodeBuilder node =
        writer.node(op.getLoc(), writer.save(getTarget(name.str())));
    node.operand("self", self);
    if (isNumber)
      node.operand(otherName, other);
    else
      node.tensor(otherName, other);
    return node.finish(op.getResult());
  };
  if (takesNumberForEither(function))
    return finish(getInfo(function).aten, "other",
                  /*isNumber=*/!isScalar(self));
  if (function == MapFunction::Pow) {
    if (isScalar(other) && !isScalar(self))
      return finish("pow.Tensor_Scalar", "exponent", /*isNumber=*/true);
    return finish(isScalar(self) ? "pow.Scalar" : "pow.Tensor_Tensor",
                  "exponent", /*isNumber=*/false);
  }
  if (function == MapFunction::Remainder) {
    if (isScalar(other) && !isScalar(self))
      return finish("remainder.Scalar", "other", /*isNumber=*/true);
    return finish(isScalar(self) ? "remainder.Scalar_Tensor"
                                 : "remainder.Tensor",
                  "other", /*isNumber=*/false);
  }
  // All remaining functions commute or have a mirrored form.
  if (isScalar(self)) {
    std::swap(self, other);
    if (std::optional<tp::Comparison> comparison = tp::getComparison(function))
      function = comparison->mirrored;
  }
  StringRef name = getInfo(function).aten;
  auto writeTensors = [&] {
    return writer.node(op.getLoc(), writer.save(getTarget(name)))
        .tensor("self", self)
        .tensor("other", other)
        .finish(op.getResult());
  };
  if (!isScalar(other) || isScalar(self))
    return writeTensors();
  if (function == MapFunction::Maximum || function == MapFunction::Minimum) {
    // A clamp with one bound.
    NodeBuilder node = writer.node(op.getLoc(), "torch.ops.aten.clamp.default");
    node.tensor("self", self);
    if (function == MapFunction::Minimum)
      node.none("min").operand("max", other);
    else
      node.operand("min", other);
    return node.finish(op.getResult());
  }
  if (name.consume_back("Tensor"))
    return finish(name + "Scalar", "other", /*isNumber=*/true);
  return writeTensors();
}

static LogicalResult writeMap(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::MapOp>(operation);
  Location location = op.getLoc();
  OperandRange operands = op.getOperands();
  tp::ScalarFunctionInfo info = getInfo(op.getFunction());
  if (info.arity == 1 && !info.aten.empty())
    return writer.node(location, writer.save(getTarget(info.aten)))
        .tensor("self", operands[0])
        .finish(op.getResult());
  if (op.getFunction() == MapFunction::Gelu ||
      op.getFunction() == MapFunction::GeluTanh) {
    NodeBuilder node = writer.node(location, "torch.ops.aten.gelu.default");
    node.tensor("self", operands[0]);
    if (op.getFunction() == MapFunction::GeluTanh)
      node.keywords().string("approximate", "tanh");
    return node.finish(op.getResult());
  }
  if (op.getFunction() == MapFunction::Select) {
    // The overloads of `where` differ in which branches are numbers.
    StringRef target = "torch.ops.aten.where.self";
    if (isScalar(operands[1]))
      target = isScalar(operands[2]) ? "torch.ops.aten.where.Scalar"
                                     : "torch.ops.aten.where.ScalarSelf";
    else if (isScalar(operands[2]))
      target = "torch.ops.aten.where.ScalarOther";
    return writer.node(location, target)
        .tensor("condition", operands[0])
        .operand("self", operands[1])
        .operand("other", operands[2])
        .finish(op.getResult());
  }
  return writeBinary(op, writer);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

/// Adds a reader for the overloads of a function of one tensor, or of two
/// operands of which either may be a number.
template <MapFunction function>
static void addReader(Vocabulary &vocabulary) {
  constexpr tp::ScalarFunctionInfo info = getInfo(function);
  StringRef name = info.aten;
  if (name.empty())
    return;
  ReadFunction read =
      info.arity == 1 ? readUnary<function> : readBinary<function>;
  vocabulary.add(getTarget(name), read);
  // The overload that takes a number as `other`.
  if (name.consume_back("Tensor"))
    vocabulary.add(getTarget(name) + "Scalar", read);
}

void vocabulary::addAtenElementwise(Vocabulary &vocabulary) {
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  addReader<MapFunction::Name>(vocabulary);
#include "commute/Dialect/ScalarFunctions.def"
  // Override the readers that the table added: they ignore alpha and the
  // exponent.
  vocabulary.add({"torch.ops.aten.add.Tensor", "torch.ops.aten.add.Scalar"},
                 readAdd);
  vocabulary.add({"torch.ops.aten.sub.Tensor", "torch.ops.aten.sub.Scalar"},
                 readSub);
  vocabulary.add({"torch.ops.aten.rsub.Tensor", "torch.ops.aten.rsub.Scalar"},
                 readRsub);
  vocabulary.add({"torch.ops.aten.pow.Tensor_Tensor",
                  "torch.ops.aten.pow.Tensor_Scalar",
                  "torch.ops.aten.pow.Scalar"},
                 readPow);
  vocabulary.add("torch.ops.aten.remainder.Scalar_Tensor",
                 readBinary<MapFunction::Remainder>);
  vocabulary.add("torch.ops.aten.floor_divide.Scalar",
                 readBinary<MapFunction::FloorDiv>);
  vocabulary.add("torch.ops.aten.square.default", readSquare);
  vocabulary.add(
      {"torch.ops.aten.div.Tensor_mode", "torch.ops.aten.div.Scalar_mode"},
      readDivMode);
  vocabulary.add("torch.ops.aten.gelu.default", readGelu);
  vocabulary.add(
      {"torch.ops.aten.__and__.Tensor", "torch.ops.aten.__and__.Scalar"},
      readBinary<MapFunction::BitwiseAnd>);
  vocabulary.add(
      {"torch.ops.aten.__or__.Tensor", "torch.ops.aten.__or__.Scalar"},
      readBinary<MapFunction::BitwiseOr>);
  vocabulary.add(
      {"torch.ops.aten.__xor__.Tensor", "torch.ops.aten.__xor__.Scalar"},
      readBinary<MapFunction::BitwiseXor>);
  vocabulary.add({"torch.ops.aten.min.other"},
                 readBinary<MapFunction::Minimum>);
  vocabulary.add({"torch.ops.aten.max.other"},
                 readBinary<MapFunction::Maximum>);
  vocabulary.add(
      {"torch.ops.aten.where.self", "torch.ops.aten.where.ScalarSelf",
       "torch.ops.aten.where.ScalarOther", "torch.ops.aten.where.Scalar"},
      readWhere);
  vocabulary.add({"torch.ops.aten.masked_fill.Scalar",
                  "torch.ops.aten.masked_fill.Tensor"},
                 readMaskedFill);
  vocabulary.add(
      {"torch.ops.aten.clamp.default", "torch.ops.aten.clamp.Tensor",
       "torch.ops.aten.clamp_min.default", "torch.ops.aten.clamp_min.Tensor",
       "torch.ops.aten.clamp_max.default", "torch.ops.aten.clamp_max.Tensor"},
      readClamp);
  vocabulary.addWriter<tp::MapOp>(writeMap);
}
