//===- Mixtures.cpp - integers as mixtures of their values ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Mixtures.h"

#include "FieldFunctions.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

std::optional<SmallVector<int64_t>>
equivalence::appendSizes(ArrayRef<int64_t> shape, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> all(shape);
  llvm::append_range(all, sizes);
  int64_t count = 1;
  for (int64_t size : all)
    if (llvm::MulOverflow(count, std::max<int64_t>(size, 1), count))
      return std::nullopt;
  return all;
}

SmallVector<int64_t> equivalence::getRangeSizes(ArrayRef<Value> weights) {
  return llvm::map_to_vector(
      weights, [](Value value) { return getShape(value).back(); });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value MixtureBuilder::map(Location loc, MapFunction function,
                          ValueRange operands, Type elementType) {
  return tp::MapOp::create(builder, loc, function, operands, elementType);
}

Value MixtureBuilder::reshape(Location loc, Value value,
                              ArrayRef<int64_t> shape) {
  RankedTensorType type = tp::getTensor(value);
  if (type.getShape() == shape)
    return value;
  Value &known = views[{value.getAsOpaquePointer(), false, shape.vec()}];
  if (!known)
    known = tp::ReshapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        value);
  return known;
}

Value MixtureBuilder::broadcast(Location loc, Value value,
                                ArrayRef<int64_t> shape) {
  RankedTensorType type = tp::getTensor(value);
  if (type.getShape() == shape)
    return value;
  Value &known = views[{value.getAsOpaquePointer(), true, shape.vec()}];
  if (!known)
    known = tp::BroadcastOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        value);
  return known;
}

Value MixtureBuilder::cast(Location loc, Value value, Type type) {
  RankedTensorType own = tp::getTensor(value);
  if (own.getElementType() == type)
    return value;
  return tp::CastOp::create(builder, loc,
                            RankedTensorType::get(own.getShape(), type), value,
                            /*contiguous=*/UnitAttr());
}

Value MixtureBuilder::iota(Location loc, int64_t start, int64_t size) {
  return tp::IotaOp::create(
      builder, loc, RankedTensorType::get({size}, builder.getI64Type()),
      builder.getI64IntegerAttr(start), builder.getI64IntegerAttr(1));
}

Value MixtureBuilder::sum(Location loc, Value value, int64_t dim,
                          bool keepsDim) {
  RankedTensorType type = tp::getTensor(value);
  SmallVector<int64_t> shape(type.getShape());
  if (keepsDim)
    shape[dim] = 1;
  else
    shape.erase(shape.begin() + dim);
  return tp::ReduceOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()),
      tp::ReductionKind::Sum, value, ArrayRef<int64_t>{dim}, keepsDim);
}

Value MixtureBuilder::constant(Location loc, double number) {
  return tp::ConstantOp::create(builder, loc,
                                RankedTensorType::get({}, builder.getF64Type()),
                                builder.getF64FloatAttr(number));
}

Value MixtureBuilder::applyUnknown(Location loc, Value value, double name) {
  Type type = getNumberType();
  // The prover knows nothing of this function but its value at zero.
  Value inner = map(loc, MapFunction::GeluTanh, value, type);
  Value shifted =
      map(loc, MapFunction::Add, {inner, constant(loc, name)}, type);
  return map(loc, MapFunction::GeluTanh, shifted, type);
}

Value MixtureBuilder::move(Operation *op, ValueRange operands,
                           ArrayRef<int64_t> rangeSizes) {
  auto type = tp::getTensor(op->getResult(0));
  SmallVector<int64_t> shape(type.getShape());
  llvm::append_range(shape, rangeSizes);
  auto resultType = RankedTensorType::get(
      shape, tp::getTensor(operands.front()).getElementType());
  std::vector<void *> opaque;
  for (Value operand : operands)
    opaque.push_back(operand.getAsOpaquePointer());
  Value &known = moved[{op->getName().getAsOpaquePointer(),
                        op->getPropertiesAsAttribute().getAsOpaquePointer(),
                        resultType.getAsOpaquePointer(), std::move(opaque)}];
  if (known)
    return known;
  Operation *copy = op->cloneWithoutRegions();
  builder.insert(copy);
  copy->setOperands(operands);
  copy->getResult(0).setType(resultType);
  if (auto permute = dyn_cast<tp::PermuteOp>(copy)) {
    SmallVector<int64_t> permutation(permute.getPermutation());
    for (size_t dim = type.getRank(); dim < shape.size(); ++dim)
      permutation.push_back(static_cast<int64_t>(dim));
    permute.setPermutation(permutation);
  }
  return known = copy->getResult(0);
}

//===----------------------------------------------------------------------===//
// Mixtures
//===----------------------------------------------------------------------===//

Mixture MixtureBuilder::createSource(Location loc, Value key, int64_t low,
                                     int64_t high, Type elementType) {
  Type f64 = builder.getF64Type();
  SmallVector<int64_t> shape(getShape(key));
  auto rank = static_cast<int64_t>(shape.size());
  int64_t size = high - low;
  Mixture mixture;
  Value numbers = iota(loc, low, size);
  numbers.getDefiningOp()->setAttr(rangeAttrName,
                                   builder.getI64IntegerAttr(input));
  // Different functions of each number and each element, divided by their sum.
  Value inner = map(loc, MapFunction::GeluTanh, key, f64);
  SmallVector<int64_t> column(shape);
  column.push_back(1);
  Value shifted =
      map(loc, MapFunction::Add,
          {reshape(loc, inner, column), cast(loc, numbers, f64)}, f64);
  Value unknown = map(loc, MapFunction::GeluTanh, shifted, f64);
  mixture.weights.push_back(map(loc, MapFunction::Div,
                                {unknown, sum(loc, unknown, rank, true)}, f64));
  shape.push_back(size);
  if (isTruthType(elementType)) {
    Value zero = tp::ConstantOp::create(
        builder, loc, RankedTensorType::get({}, builder.getI64Type()),
        builder.getI64IntegerAttr(0));
    numbers = map(loc, MapFunction::NotEqual, {numbers, zero}, elementType);
  } else {
    numbers = cast(loc, numbers, elementType);
  }
  mixture.table = broadcast(loc, numbers, shape);
  mixture.least = static_cast<double>(low);
  mixture.most = static_cast<double>(high) - 1;
  return mixture;
}

Mixture MixtureBuilder::createConstant(Location loc, Value value,
                                       const Mixture &like) {
  Mixture mixture = like;
  SmallVector<int64_t> shape(getShape(value));
  SmallVector<int64_t> column(shape);
  for (Value &weights : mixture.weights) {
    SmallVector<int64_t> own(shape);
    own.push_back(getShape(weights).back());
    // Any weights do. These stand for the first number.
    Value numbers = iota(loc, 0, own.back());
    Value zero = tp::ConstantOp::create(
        builder, loc, RankedTensorType::get({}, builder.getI64Type()),
        builder.getI64IntegerAttr(0));
    Value isFirst =
        map(loc, MapFunction::Equal, {numbers, zero}, builder.getI1Type());
    weights = broadcast(loc, cast(loc, isFirst, builder.getF64Type()), own);
    column.push_back(1);
  }
  llvm::append_range(shape, getRangeSizes(like.weights));
  mixture.table = broadcast(loc, reshape(loc, value, column), shape);
  return mixture;
}

Value MixtureBuilder::align(Location loc, Value table, ArrayRef<Value> own,
                            ArrayRef<Value> weights) {
  ArrayRef<int64_t> shape = getShape(table);
  auto ownRank = static_cast<int64_t>(shape.size() - own.size());
  SmallVector<int64_t> aligned(shape.take_front(ownRank));
  SmallVector<int64_t> order, kept;
  for (auto [index, source] : llvm::enumerate(weights)) {
    auto position = llvm::find(own, source);
    bool depends = position != own.end();
    aligned.push_back(depends ? getShape(source).back() : 1);
    if (depends)
      order.push_back(ownRank + (position - own.begin()));
  }
  // The ranges may come in another order.
  if (!llvm::is_sorted(order)) {
    SmallVector<int64_t> permutation, permuted;
    for (int64_t dim = 0; dim < ownRank; ++dim)
      permutation.push_back(dim);
    llvm::append_range(permutation, order);
    for (int64_t dim : permutation)
      permuted.push_back(shape[dim]);
    table = tp::PermuteOp::create(
        builder, loc,
        RankedTensorType::get(permuted, tp::getTensor(table).getElementType()),
        table, permutation);
  }
  return reshape(loc, table, aligned);
}

Value MixtureBuilder::expandWeights(Location loc, Value weights,
                                    ArrayRef<int64_t> shape) {
  SmallVector<int64_t> full(shape);
  full.push_back(getShape(weights).back());
  return broadcast(loc, weights, full);
}

Value MixtureBuilder::toNumber(Location loc, Value value) {
  return cast(loc, value, getNumberType());
}

Value MixtureBuilder::collapse(Location loc, const Mixture &mixture) {
  if (Value known = collapsed.lookup(mixture.table))
    return known;
  Type type = tp::getTensor(mixture.table).getElementType();
  bool isFloat = isFieldType(type);
  Value value = isFloat ? mixture.table : toNumber(loc, mixture.table);
  Type resultType = isFloat ? type : getNumberType();
  auto rank =
      static_cast<int64_t>(getShape(value).size() - mixture.weights.size());
  for (size_t index = mixture.weights.size(); index-- > 0;) {
    Value own = mixture.weights[index];
    SmallVector<int64_t> shape(getShape(own));
    shape.insert(shape.begin() + rank, index, 1);
    value = map(loc, MapFunction::Mul, {value, reshape(loc, own, shape)},
                resultType);
    value = sum(loc, value, rank + static_cast<int64_t>(index),
                /*keepsDim=*/false);
  }
  if (isTruthType(type))
    value = map(loc, MapFunction::IsOne, value, type);
  return collapsed[mixture.table] = value;
}
