//===- UniqueOps.cpp - ops that are created once --------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "UniqueOps.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

unsigned UniqueOps::OpInfo::getHashValue(const Operation *op) {
  return OperationEquivalence::computeHash(
      const_cast<Operation *>(op),
      /*hashOperands=*/OperationEquivalence::directHashValue,
      /*hashResults=*/OperationEquivalence::ignoreHashValue,
      OperationEquivalence::IgnoreLocations);
}

bool UniqueOps::OpInfo::isEqual(const Operation *lhs, const Operation *rhs) {
  if (lhs == rhs)
    return true;
  if (lhs == getEmptyKey() || lhs == getTombstoneKey() ||
      rhs == getEmptyKey() || rhs == getTombstoneKey())
    return false;
  return OperationEquivalence::isEquivalentTo(
      const_cast<Operation *>(lhs), const_cast<Operation *>(rhs),
      OperationEquivalence::IgnoreLocations);
}

UniqueOps::UniqueOps(MLIRContext *context)
    : builder(context), location(builder.getUnknownLoc()) {
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  function = func::FuncOp::create(builder, location, "main",
                                  builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value UniqueOps::addInput(StringRef name, Type type) {
  inputNames.push_back(name.str());
  return function.getBody().front().addArgument(type, location);
}

ValueRange UniqueOps::share(Operation *op) {
  // Allocations and calls that may have effects are not values.
  if (!shares || !isMemoryEffectFree(op))
    return op->getResults();
  auto [place, isNew] = known.insert(op);
  if (isNew)
    return op->getResults();
  op->erase();
  return (*place)->getResults();
}

ValueRange UniqueOps::copy(Operation *op, ArrayRef<Value> operands) {
  Operation *copied = op->clone();
  copied->setOperands(operands);
  copied->removeAttr(tp::TPDialect::namesAttrName);
  copied->removeAttr(tp::TPDialect::targetAttrName);
  builder.insert(copied);
  return share(copied);
}

OwningOpRef<ModuleOp> UniqueOps::makeModule(ArrayRef<Value> results) {
  Block &block = function.getBody().front();
  auto end = func::ReturnOp::create(builder, location, results);
  function.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), TypeRange(ValueRange(results))));
  SmallVector<Attribute> attributes;
  for (const std::string &name : inputNames)
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        tp::TPDialect::nameAttrName, builder.getStringAttr(name))));
  function.setArgAttrsAttr(builder.getArrayAttr(attributes));
  OwningOpRef<ModuleOp> made = cast<ModuleOp>((*module)->clone());
  end->erase();
  return made;
}

Value UniqueOps::reshape(Value input, ArrayRef<int64_t> sizes) {
  if (tp::getTensor(input).getShape() == sizes)
    return input;
  return share(tp::ReshapeOp::create(
                   builder, location,
                   RankedTensorType::get(sizes, tp::getElementType(input)),
                   input))
      .front();
}

Value UniqueOps::permute(Value input, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> sizes;
  for (int64_t dim : permutation)
    sizes.push_back(tp::getTensor(input).getDimSize(dim));
  return share(tp::PermuteOp::create(
                   builder, location,
                   RankedTensorType::get(sizes, tp::getElementType(input)),
                   input, permutation))
      .front();
}

Value UniqueOps::slice(Value input, unsigned dim, int64_t start, int64_t step,
                       int64_t size) {
  RankedTensorType type = tp::getTensor(input);
  if (size == type.getDimSize(dim) && start == 0 && step == 1)
    return input;
  SmallVector<int64_t> sizes(type.getShape());
  sizes[dim] = size;
  return share(tp::SliceOp::create(
                   builder, location,
                   RankedTensorType::get(sizes, type.getElementType()), input,
                   dim, start, step))
      .front();
}

Value UniqueOps::concat(ArrayRef<Value> inputs, unsigned dim) {
  if (inputs.size() == 1)
    return inputs.front();
  SmallVector<int64_t> sizes(tp::getTensor(inputs.front()).getShape());
  for (Value input : inputs.drop_front())
    sizes[dim] += tp::getTensor(input).getDimSize(dim);
  return share(tp::ConcatOp::create(
                   builder, location,
                   RankedTensorType::get(sizes,
                                         tp::getElementType(inputs.front())),
                   inputs, dim))
      .front();
}

Value UniqueOps::map(tp::MapFunction mapFunction, ArrayRef<Value> operands,
                     Type type) {
  return share(tp::MapOp::create(builder, location, mapFunction,
                                 ValueRange(operands), type))
      .front();
}

Value UniqueOps::constant(TypedAttr value, ArrayRef<int64_t> sizes, Type type) {
  return share(tp::ConstantOp::create(builder, location,
                                      RankedTensorType::get(sizes, type),
                                      value))
      .front();
}

Value UniqueOps::sum(ArrayRef<Value> inputs) {
  Value result = inputs.front();
  for (Value input : inputs.drop_front())
    result =
        map(tp::MapFunction::Add, {result, input}, tp::getElementType(input));
  return result;
}

Value UniqueOps::copyMemory(Value input) {
  auto type = dyn_cast<RankedTensorType>(input.getType());
  if (!type)
    return input;
  SmallVector<int64_t> sizes(type.getShape());
  sizes.insert(sizes.begin(), 1);
  Value parts = reshape(input, sizes);
  Value copied = tp::ConcatOp::create(
      builder, location, RankedTensorType::get(sizes, type.getElementType()),
      ValueRange(parts), 0);
  return reshape(copied, type.getShape());
}
