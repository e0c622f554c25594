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

Value equivalence::stripBroadcasts(Value value) {
  while (auto broadcast = value.getDefiningOp<tp::BroadcastOp>())
    value = broadcast.getInput();
  return value;
}

SmallVector<int64_t> equivalence::getRangeSizes(ArrayRef<Value> weights) {
  SmallVector<int64_t> sizes;
  for (Value value : weights)
    llvm::append_range(sizes, getShape(value).take_back(dimsOfRange));
  return sizes;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value MixtureBuilder::map(Location loc, MapFunction function,
                          ValueRange operands, Type elementType) {
  return tp::MapOp::create(builder, loc, function, operands, elementType);
}

Value MixtureBuilder::view(Location loc, Value value, ArrayRef<int64_t> shape,
                           bool repeats) {
  // Views of views of one value are views of it, so that equal weights are one
  // value however the program has reshaped the integers.
  auto isSame = [&](Operation *op) {
    return repeats ? isa_and_nonnull<tp::BroadcastOp>(op)
                   : isa_and_nonnull<tp::ReshapeOp>(op);
  };
  while (isSame(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  RankedTensorType type = tp::getTensor(value);
  if (type.getShape() == shape)
    return value;
  auto result = RankedTensorType::get(shape, type.getElementType());
  Value &known = views[{value.getAsOpaquePointer(), repeats, shape.vec()}];
  if (!known && repeats)
    known = tp::BroadcastOp::create(builder, loc, result, value);
  else if (!known)
    known = tp::ReshapeOp::create(builder, loc, result, value);
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

Value MixtureBuilder::iota(Location loc, int64_t start, int64_t size,
                           int64_t step) {
  return tp::IotaOp::create(
      builder, loc, RankedTensorType::get({size}, builder.getI64Type()),
      builder.getI64IntegerAttr(start), builder.getI64IntegerAttr(step));
}

Value MixtureBuilder::integer(Location loc, int64_t number) {
  return tp::ConstantOp::create(builder, loc,
                                RankedTensorType::get({}, builder.getI64Type()),
                                builder.getI64IntegerAttr(number));
}

Value MixtureBuilder::sum(Location loc, Value value, ArrayRef<int64_t> dims,
                          bool keepsDims) {
  RankedTensorType type = tp::getTensor(value);
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
    else if (keepsDims)
      shape.push_back(1);
  return tp::ReduceOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()),
      tp::ReductionKind::Sum, value, dims, keepsDims);
}

Value MixtureBuilder::constant(Location loc, double number) {
  return tp::ConstantOp::create(builder, loc,
                                RankedTensorType::get({}, builder.getF64Type()),
                                builder.getF64FloatAttr(number));
}

Value MixtureBuilder::permute(Location loc, Value value,
                              ArrayRef<int64_t> permutation) {
  RankedTensorType type = tp::getTensor(value);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  return tp::PermuteOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      permutation);
}

Value MixtureBuilder::multiply(Location loc, Value lhs, Value rhs,
                               Type elementType) {
  return tp::MatmulOp::create(builder, loc, lhs, rhs, /*bias=*/Value(),
                              /*lhsScale=*/Value(), /*rhsScale=*/Value(),
                              /*transposeLhs=*/false, /*transposeRhs=*/false,
                              elementType);
}

Value MixtureBuilder::concat(Location loc, ValueRange values, int64_t dim) {
  return tp::ConcatOp::create(builder, loc, values, dim);
}

Operation *MixtureBuilder::copy(Operation *op, ValueRange operands) {
  Operation *result = op->cloneWithoutRegions();
  result->setOperands(operands);
  return builder.insert(result);
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
  if (isa<tp::CopyOp, tp::WaitOp, tp::RegionMarkerOp>(op))
    return operands.front();
  if (isa<tp::ReshapeOp, tp::BroadcastOp>(op))
    return view(op->getLoc(), operands.front(), shape,
                isa<tp::BroadcastOp>(op));
  // A slice along a dim that weights are repeated along has the same weights.
  if (auto slice = dyn_cast<tp::SliceOp>(op))
    if (auto repeated = operands.front().getDefiningOp<tp::BroadcastOp>()) {
      Value source = repeated.getInput();
      if (getShape(source).size() == shape.size() &&
          getShape(source)[slice.getDim()] == 1)
        return broadcast(op->getLoc(), source, shape);
    }
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
  Operation *moving = copy(op, operands);
  moving->getResult(0).setType(resultType);
  if (auto permute = dyn_cast<tp::PermuteOp>(moving)) {
    SmallVector<int64_t> permutation(permute.getPermutation());
    for (size_t dim = type.getRank(); dim < shape.size(); ++dim)
      permutation.push_back(static_cast<int64_t>(dim));
    permute.setPermutation(permutation);
  }
  return known = moving->getResult(0);
}

//===----------------------------------------------------------------------===//
// Mixtures
//===----------------------------------------------------------------------===//

Value MixtureBuilder::createDim(Location loc, int64_t start, int64_t size,
                                int64_t step, unsigned number) {
  Value numbers = iota(loc, start, size, step);
  numbers.getDefiningOp()->setAttr(
      rangeAttrName,
      builder.getDenseI64ArrayAttr({input, static_cast<int64_t>(number)}));
  return numbers;
}

Mixture MixtureBuilder::createSource(Location loc, Value key, int64_t low,
                                     int64_t high, int64_t period,
                                     Type elementType) {
  Type f64 = builder.getF64Type();
  SmallVector<int64_t> shape(getShape(key)), column(shape);
  auto rank = static_cast<int64_t>(shape.size());
  // Whole periods, of which numbers outside of the range have no weight.
  int64_t first = llvm::divideFloorSigned(low, period) * period;
  int64_t count = llvm::divideCeilSigned(high - first, period);
  Mixture mixture;
  Value major = createDim(loc, first, count, period, 0);
  Value minor = createDim(loc, 0, period, 1, 1);
  Value numbers =
      map(loc, MapFunction::Add, {reshape(loc, major, {count, 1}), minor},
          builder.getI64Type());
  // Different functions of each number and each element, divided by their sum.
  column.append(dimsOfRange, 1);
  Value unknown =
      map(loc, MapFunction::Weight,
          {reshape(loc, key, column), cast(loc, numbers, f64)}, f64);
  auto exclude = [&](MapFunction comparison, int64_t end) {
    Value isOutside =
        map(loc, comparison, {numbers, integer(loc, end)}, builder.getI1Type());
    unknown = map(loc, MapFunction::Select,
                  {isOutside, constant(loc, 0), unknown}, f64);
  };
  if (first < low)
    exclude(MapFunction::Less, low);
  if (first + count * period > high)
    exclude(MapFunction::GreaterEqual, high);
  mixture.weights.push_back(
      map(loc, MapFunction::Div,
          {unknown, sum(loc, unknown, {rank, rank + 1}, true)}, f64));
  shape.append({count, period});
  mixture.least = static_cast<double>(low);
  mixture.most = static_cast<double>(high) - 1;
  if (isTruthType(elementType)) {
    numbers = map(loc, MapFunction::NotEqual, {numbers, integer(loc, 0)},
                  elementType);
  } else {
    numbers = cast(loc, numbers, elementType);
    mixture.low = first;
  }
  mixture.table = broadcast(loc, numbers, shape);
  return mixture;
}

Value MixtureBuilder::getRemainders(Location loc, const Mixture &numbers,
                                    int64_t divisor) {
  ArrayRef<int64_t> shape = getShape(numbers.table);
  Value minor = map(loc, MapFunction::Remainder,
                    {iota(loc, 0, shape.back()), integer(loc, divisor)},
                    builder.getI64Type());
  return broadcast(loc, minor, shape);
}

Value MixtureBuilder::getQuotients(Location loc, const Mixture &numbers,
                                   int64_t divisor) {
  ArrayRef<int64_t> shape = getShape(numbers.table);
  int64_t period = shape.back(), count = shape[shape.size() - 2];
  Type i64 = builder.getI64Type();
  Value major = iota(loc, *numbers.low / divisor, count, period / divisor);
  Value minor = map(loc, MapFunction::FloorDiv,
                    {iota(loc, 0, period), integer(loc, divisor)}, i64);
  Value sum =
      map(loc, MapFunction::Add, {reshape(loc, major, {count, 1}), minor}, i64);
  return broadcast(loc, sum, shape);
}

Mixture MixtureBuilder::createConstant(Location loc, Value value,
                                       const Mixture &like) {
  Mixture mixture = like;
  mixture.low.reset();
  SmallVector<int64_t> shape(getShape(value)), column(shape);
  for (Value &weights : mixture.weights) {
    // Any weights do. These stand for the first number.
    ArrayRef<int64_t> sizes = getShape(weights).take_back(dimsOfRange);
    auto isFirst = [&](int64_t size) {
      return cast(loc,
                  map(loc, MapFunction::Equal,
                      {iota(loc, 0, size), integer(loc, 0)},
                      builder.getI1Type()),
                  builder.getF64Type());
    };
    Value both =
        map(loc, MapFunction::Mul,
            {reshape(loc, isFirst(sizes[0]), {sizes[0], 1}), isFirst(sizes[1])},
            builder.getF64Type());
    SmallVector<int64_t> own(shape);
    llvm::append_range(own, sizes);
    weights = broadcast(loc, both, own);
    column.append(dimsOfRange, 1);
  }
  llvm::append_range(shape, getRangeSizes(like.weights));
  mixture.table = broadcast(loc, reshape(loc, value, column), shape);
  return mixture;
}

Value MixtureBuilder::align(Location loc, Value table, ArrayRef<Value> own,
                            ArrayRef<Value> weights) {
  ArrayRef<int64_t> shape = getShape(table);
  auto ownRank = static_cast<int64_t>(shape.size() - dimsOfRange * own.size());
  SmallVector<int64_t> aligned(shape.take_front(ownRank));
  SmallVector<int64_t> order;
  for (Value source : weights) {
    auto position = llvm::find(own, source);
    bool depends = position != own.end();
    int64_t first =
        ownRank + static_cast<int64_t>(dimsOfRange) * (position - own.begin());
    for (auto [dim, size] :
         llvm::enumerate(getShape(source).take_back(dimsOfRange))) {
      aligned.push_back(depends ? size : 1);
      if (depends)
        order.push_back(first + static_cast<int64_t>(dim));
    }
  }
  // The ranges may come in another order.
  if (!llvm::is_sorted(order)) {
    SmallVector<int64_t> permutation;
    for (int64_t dim = 0; dim < ownRank; ++dim)
      permutation.push_back(dim);
    llvm::append_range(permutation, order);
    table = permute(loc, table, permutation);
  }
  return reshape(loc, table, aligned);
}

Value MixtureBuilder::moveRanges(Location loc, Value table, int64_t numRanges,
                                 bool toFront) {
  auto rank = static_cast<int64_t>(getShape(table).size());
  int64_t first = toFront ? rank - numRanges : numRanges;
  SmallVector<int64_t> permutation;
  for (int64_t dim = 0; dim < rank; ++dim)
    permutation.push_back((first + dim) % rank);
  return permute(loc, table, permutation);
}

Value MixtureBuilder::expandWeights(Location loc, Value weights,
                                    ArrayRef<int64_t> shape) {
  SmallVector<int64_t> full(shape);
  llvm::append_range(full, getShape(weights).take_back(dimsOfRange));
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
  size_t rank = getShape(value).size() - dimsOfRange * mixture.weights.size();
  for (size_t index = mixture.weights.size(); index-- > 0;) {
    Value weights = mixture.weights[index];
    SmallVector<int64_t> shape(getShape(weights));
    shape.insert(shape.begin() + rank, dimsOfRange * index, 1);
    auto dim = static_cast<int64_t>(rank + dimsOfRange * index);
    value = map(loc, MapFunction::Mul, {value, reshape(loc, weights, shape)},
                resultType);
    value = sum(loc, value, {dim, dim + 1}, /*keepsDims=*/false);
  }
  if (isTruthType(type))
    value = map(loc, MapFunction::IsOne, value, type);
  return collapsed[mixture.table] = value;
}
