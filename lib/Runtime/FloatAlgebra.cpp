//===- FloatAlgebra.cpp - evaluation over floats and integers ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/FloatAlgebra.h"

#include "Kernels.h"

#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;
using tp::AlgebraValue;

static SmallVector<const Tensor *> getTensors(ArrayRef<AlgebraValue> values) {
  SmallVector<const Tensor *> tensors;
  for (const AlgebraValue &value : values)
    tensors.push_back(&asTensor(value));
  return tensors;
}

void FloatAlgebra::fail(std::string message) {
  if (!failure)
    failure = std::move(message);
}

llvm::Error FloatAlgebra::takeFailure() {
  if (peerFailed)
    return llvm::make_error<PeerFailure>();
  if (!failure)
    return llvm::Error::success();
  std::string message = std::move(*failure);
  failure.reset();
  return llvm::createStringError(message);
}

AlgebraValue FloatAlgebra::check(TensorValue value, std::string &message,
                                 ArrayRef<int64_t> sizes, Type type) {
  if (value)
    return value;
  fail(std::move(message));
  return fill(int64_t(0), sizes, type);
}

FailureOr<SmallVector<int64_t>> FloatAlgebra::getSizes(RankedTensorType type) {
  auto lookup = [&](StringRef name) -> std::optional<int64_t> {
    auto found = symbols.find(name.str());
    return found == symbols.end() ? std::nullopt : std::optional(found->second);
  };
  SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    std::optional<int64_t> size = tp::evaluateSize(type, dim, lookup);
    if (!size || *size < 0)
      return mlir::failure();
    sizes.push_back(*size);
  }
  return sizes;
}

//===----------------------------------------------------------------------===//
// Whole ops
//===----------------------------------------------------------------------===//

const Tensor *FloatAlgebra::getRowBias(const AlgebraValue &bias,
                                       int64_t columns) {
  const Tensor &tensor = asTensor(bias);
  bool isRow = tensor.getRank() > 0 && tensor.getSizes().back() == columns &&
               tensor.getNumElements() == columns;
  return isRow ? &tensor : nullptr;
}

AlgebraValue FloatAlgebra::combineInPlace(tp::ReductionKind kind,
                                          ArrayRef<AlgebraValue> inputs,
                                          Type type) {
  std::string message;
  TensorValue result = combineTensors(kind, getTensors(inputs), type, message);
  return check(std::move(result), message, inputs.front()->getSizes(), type);
}

bool FloatAlgebra::tryWhole(Operation *op, ArrayRef<AlgebraValue> operands,
                            SmallVectorImpl<AlgebraValue> &results) {
  auto getElement = [&] {
    return llvm::cast<RankedTensorType>(op->getResult(0).getType())
        .getElementType();
  };
  // Read operands transposed in place, and add the bias before the single
  // rounding.
  if (auto matmul = dyn_cast<tp::MatmulOp>(op)) {
    if (matmul.getLhsScale() || matmul.getRhsScale())
      return false;
    const Tensor *bias = nullptr;
    if (matmul.getBias()) {
      const Tensor &rhs = asTensor(operands[1]);
      int64_t columnDim = rhs.getRank() - (matmul.getTransposeRhs() ? 2 : 1);
      bias = getRowBias(operands[2], rhs.getSizes()[columnDim]);
      if (!bias)
        return false;
    }
    std::string message;
    TensorValue result =
        multiplyMatrices({asTensor(operands[0]), matmul.getTransposeLhs()},
                         {asTensor(operands[1]), matmul.getTransposeRhs()},
                         bias, getElement(), message);
    results.push_back(check(std::move(result), message, {}, getElement()));
    return true;
  }
  // Combine the tensors in the peers' memory, without copies.
  if (auto allReduce = dyn_cast<tp::AllReduceOp>(op)) {
    tp::GroupAttr group = allReduce.getGroup();
    SmallVector<AlgebraValue> toMembers(group.getSize(), operands[0]);
    FailureOr<SmallVector<AlgebraValue>> received =
        exchange(op, group, toMembers);
    results.push_back(failed(received)
                          ? operands[0]
                          : combineInPlace(allReduce.getReduction(), *received,
                                           getElement()));
    return true;
  }
  if (auto fused = dyn_cast<tp::AllGatherMatmulOp>(op))
    return gatherAndMultiply(fused, operands, results);
  if (auto fused = dyn_cast<tp::MatmulReduceScatterOp>(op))
    return multiplyAndScatter(fused, operands, results);
  return false;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

AlgebraValue FloatAlgebra::constant(TypedAttr value, ArrayRef<int64_t> sizes,
                                    Type type) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return fill(number.getValue(), sizes, type);
  if (auto number = dyn_cast<IntegerAttr>(value)) {
    // True is 1, not -1.
    const llvm::APInt &bits = number.getValue();
    return fill(bits.getBitWidth() == 1 ? int64_t(bits.getZExtValue())
                                        : bits.getSExtValue(),
                sizes, type);
  }
  fail("a constant that is neither an integer nor a float");
  return fill(int64_t(0), sizes, type);
}

AlgebraValue FloatAlgebra::iota(TypedAttr start, TypedAttr step, int64_t size,
                                Type type) {
  // Compute start + i * step in f64 if either is a float.
  Type wide = isa<FloatAttr>(start) || isa<FloatAttr>(step)
                  ? Type(Float64Type::get(type.getContext()))
                  : Type(IntegerType::get(type.getContext(), 64));
  std::shared_ptr<Tensor> positions =
      Tensor::allocate({size}, IntegerType::get(type.getContext(), 64));
  auto *elements = positions->getMutableDataAs<int64_t>();
  for (int64_t index = 0; index < size; ++index)
    elements[index] = index;
  AlgebraValue offsets =
      map(tp::MapFunction::Mul, {positions, constant(step, {}, wide)}, wide);
  return map(tp::MapFunction::Add, {offsets, constant(start, {}, wide)}, type);
}

AlgebraValue FloatAlgebra::map(tp::MapFunction function,
                               ArrayRef<AlgebraValue> operands, Type type) {
  std::string message;
  TensorValue result =
      mapElements(function, getTensors(operands), type, message);
  return check(std::move(result), message, operands.front()->getSizes(), type);
}

AlgebraValue FloatAlgebra::cast(const AlgebraValue &input, Type type) {
  if (input->getElementType() == type)
    return input;
  return castElements(asTensor(input), type);
}

AlgebraValue FloatAlgebra::bitcast(const AlgebraValue &input, Type type) {
  return std::make_shared<Tensor>(input->getSizes(), type,
                                  asTensor(input).getSharedData());
}

AlgebraValue FloatAlgebra::reduce(tp::ReductionKind kind,
                                  const AlgebraValue &input,
                                  ArrayRef<int64_t> dims, bool keepDims,
                                  Type type) {
  return reduceElements(kind, asTensor(input), dims, keepDims, type);
}

AlgebraValue FloatAlgebra::cumulativeSum(const AlgebraValue &input,
                                         unsigned dim, Type type) {
  return sumCumulatively(asTensor(input), dim, type);
}

AlgebraValue FloatAlgebra::matmul(const AlgebraValue &lhs,
                                  const AlgebraValue &rhs, Type type) {
  std::string message;
  TensorValue result = multiplyMatrices({asTensor(lhs)}, {asTensor(rhs)},
                                        nullptr, type, message);
  SmallVector<int64_t> sizes(lhs->getSizes());
  sizes.back() = rhs->getSizes().back();
  return check(std::move(result), message, sizes, type);
}

AlgebraValue FloatAlgebra::multiplyGroups(const AlgebraValue &lhs,
                                          const AlgebraValue &rhs,
                                          const AlgebraValue &offsets,
                                          const AlgebraValue &rest, Type type) {
  std::string message;
  TensorValue result =
      multiplyGroupedRows(asTensor(lhs), asTensor(rhs), asTensor(offsets),
                          rest ? &asTensor(rest) : nullptr, type, message);
  return check(std::move(result), message, {}, type);
}

AlgebraValue FloatAlgebra::uninitialized(Operation *, ArrayRef<int64_t> sizes,
                                         Type type) {
  return fillUninitialized(sizes, type);
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

AlgebraValue FloatAlgebra::take(const AlgebraValue &table,
                                const AlgebraValue &indices, unsigned dim,
                                bool wrapsNegative) {
  std::string message;
  TensorValue result =
      takeRows(asTensor(table), asTensor(indices), dim, wrapsNegative, message);
  return check(std::move(result), message, {}, table->getElementType());
}

AlgebraValue FloatAlgebra::takeAlong(const AlgebraValue &table,
                                     const AlgebraValue &indices,
                                     unsigned dim) {
  std::string message;
  TensorValue result =
      takeElements(asTensor(table), asTensor(indices), dim, message);
  return check(std::move(result), message, indices->getSizes(),
               table->getElementType());
}

AlgebraValue FloatAlgebra::scatter(const AlgebraValue &input,
                                   const AlgebraValue &indices,
                                   const AlgebraValue &updates, unsigned dim,
                                   bool accumulates, bool wrapsNegative) {
  std::string message;
  TensorValue result =
      scatterElements(asTensor(input), asTensor(indices), asTensor(updates),
                      dim, accumulates, wrapsNegative, message);
  return check(std::move(result), message, input->getSizes(),
               input->getElementType());
}

AlgebraValue FloatAlgebra::sortedOrder(const AlgebraValue &input, unsigned dim,
                                       const tp::SortOrder &order, Type type) {
  int64_t size = input->getSizes()[dim];
  return sortRows(asTensor(input), dim, order.isDescending,
                  order.count.value_or(size), type);
}

AlgebraValue FloatAlgebra::reshape(const AlgebraValue &input,
                                   ArrayRef<int64_t> sizes) {
  const Tensor &tensor = asTensor(input);
  std::string message;
  TensorValue result;
  if (runtime::getNumElements(sizes) == tensor.getNumElements())
    result = std::make_shared<Tensor>(sizes, tensor.getElementType(),
                                      tensor.getSharedData());
  else
    message = "a tensor of sizes " + formatSizes(tensor.getSizes()) +
              " cannot be reshaped to " + formatSizes(sizes);
  return check(std::move(result), message, sizes, tensor.getElementType());
}

AlgebraValue FloatAlgebra::permute(const AlgebraValue &input,
                                   ArrayRef<int64_t> permutation) {
  return gatherStrided(asTensor(input),
                       tp::getPermutedView(input->getSizes(), permutation));
}

AlgebraValue FloatAlgebra::slice(const AlgebraValue &input, unsigned dim,
                                 int64_t start, int64_t step, int64_t size) {
  SmallVector<int64_t> sizes(input->getSizes());
  int64_t extent = sizes[dim];
  sizes[dim] = size;
  std::string message;
  TensorValue result;
  // Check that the slice is in range without overflow.
  bool fits = size == 0 || (start >= 0 && start < extent && step >= 1 &&
                            (size - 1) <= (extent - 1 - start) / step);
  if (fits) {
    result =
        gatherStrided(asTensor(input), tp::getSliceView(input->getSizes(), dim,
                                                        start, step, size));
  } else {
    message = "the slice of " + std::to_string(size) + " from " +
              std::to_string(start) + " in steps of " + std::to_string(step) +
              " is out of range: dim " + std::to_string(dim) + " has size " +
              std::to_string(extent);
  }
  return check(std::move(result), message, sizes, input->getElementType());
}

AlgebraValue FloatAlgebra::concat(ArrayRef<AlgebraValue> inputs, unsigned dim) {
  std::string message;
  TensorValue result = concatenate(getTensors(inputs), dim, message);
  return check(std::move(result), message, inputs.front()->getSizes(),
               inputs.front()->getElementType());
}

AlgebraValue FloatAlgebra::broadcast(const AlgebraValue &input,
                                     ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> common(sizes);
  std::string message;
  TensorValue result;
  if (broadcastSizes(input->getSizes(), common) &&
      ArrayRef<int64_t>(common) == sizes)
    result = gatherStrided(asTensor(input),
                           {SmallVector<int64_t>(sizes),
                            getBroadcastStrides(input->getSizes(), sizes)});
  else
    message = "a tensor of sizes " + formatSizes(input->getSizes()) +
              " cannot be broadcast to " + formatSizes(sizes);
  return check(std::move(result), message, sizes, input->getElementType());
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

std::optional<CollectiveCall>
FloatAlgebra::makeCall(Operation *op, tp::GroupAttr group,
                       const tp::AlgebraTensor &sent) {
  ArrayRef<int64_t> members = group.getMembersAround(transport.getRank());
  if (members.empty()) {
    fail("rank " + std::to_string(transport.getRank()) +
         " runs a collective of group \"" + group.getName().str() +
         "\", of which it is not a member");
    return std::nullopt;
  }
  CollectiveCall call;
  call.members.assign(members.begin(), members.end());
  call.place = describe(op->getLoc());
  if (auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName))
    for (auto name : names.getAsRange<StringAttr>())
      call.node += name.str();
  auto collective = llvm::cast<tp::CollectiveOpInterface>(op);
  call.operation = collective.getCollectiveText();
  // Ranks may exchange different numbers of rows, so state only the element
  // type.
  llvm::raw_string_ostream operand(call.operand);
  auto type = llvm::cast<RankedTensorType>(op->getOperand(0).getType());
  if (!collective.hasEqualOperands())
    operand << type.getElementType();
  else if (type.hasStaticShape())
    operand << RankedTensorType::get(type.getShape(), type.getElementType());
  else
    operand << RankedTensorType::get(sent.getSizes(), type.getElementType());
  return call;
}

bool FloatAlgebra::takeError(llvm::Error error) {
  if (!error)
    return false;
  llvm::handleAllErrors(
      std::move(error), [&](const PeerFailure &) { peerFailed = true; },
      [&](const llvm::ErrorInfoBase &info) { fail(info.message()); });
  return true;
}

std::optional<FloatAlgebra::Collective>
FloatAlgebra::startCollective(Operation *op, tp::GroupAttr group,
                              const tp::AlgebraTensor &sent, Type elementType,
                              size_t numTensors) {
  std::optional<CollectiveCall> call = makeCall(op, group, sent);
  if (!call)
    return std::nullopt;
  llvm::Expected<std::unique_ptr<Transfer>> transfer =
      transport.start(*call, elementType, numTensors, /*overlaps=*/true);
  if (!transfer) {
    takeError(transfer.takeError());
    return std::nullopt;
  }
  size_t position =
      llvm::find(call->members, transport.getRank()) - call->members.begin();
  return Collective{std::move(*transfer), position};
}

FailureOr<SmallVector<AlgebraValue>>
FloatAlgebra::exchange(Operation *op, tp::GroupAttr group,
                       ArrayRef<AlgebraValue> toMembers) {
  std::optional<CollectiveCall> call = makeCall(op, group, *toMembers.front());
  if (!call)
    return mlir::failure();
  SmallVector<TensorValue> sent;
  for (const AlgebraValue &value : toMembers)
    sent.push_back(std::static_pointer_cast<const Tensor>(value));
  llvm::Expected<SmallVector<TensorValue>> received =
      transport.exchange(*call, sent);
  if (!received) {
    takeError(received.takeError());
    return mlir::failure();
  }
  return SmallVector<AlgebraValue>(received->begin(), received->end());
}

FailureOr<int64_t> FloatAlgebra::getPosition(tp::GroupAttr group) {
  std::optional<int64_t> position = group.getPosition(transport.getRank());
  if (!position)
    return mlir::failure();
  return *position;
}
