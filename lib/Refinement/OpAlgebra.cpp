//===- OpAlgebra.cpp - collectives as local ops ---------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OpAlgebra.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using tp::AlgebraValue;

FailureOr<SmallVector<int64_t>> OpAlgebra::getSizes(RankedTensorType type) {
  if (!type.hasStaticShape())
    return failure();
  return SmallVector<int64_t>(type.getShape());
}

AlgebraValue OpAlgebra::fail(ArrayRef<int64_t> sizes, Type type) {
  failed = true;
  return wrap(tp::EmptyOp::create(ops.getBuilder(), ops.getLocation(),
                                  TypeRange(RankedTensorType::get(sizes, type)),
                                  ValueRange()));
}

AlgebraValue OpAlgebra::constant(TypedAttr value, ArrayRef<int64_t> sizes,
                                 Type type) {
  return wrap(ops.constant(value, sizes, type));
}

AlgebraValue OpAlgebra::iota(TypedAttr, TypedAttr, int64_t size, Type type) {
  return fail({size}, type);
}

AlgebraValue OpAlgebra::map(tp::MapFunction function,
                            ArrayRef<AlgebraValue> operands, Type type) {
  SmallVector<Value> values;
  for (const AlgebraValue &operand : operands)
    values.push_back(unwrap(operand));
  return wrap(ops.map(function, values, type));
}

AlgebraValue OpAlgebra::bitcast(const AlgebraValue &input, Type type) {
  return share(tp::BitcastOp::create(
      ops.getBuilder(), ops.getLocation(),
      RankedTensorType::get(input->getSizes(), type), unwrap(input)));
}

AlgebraValue OpAlgebra::cast(const AlgebraValue &input, Type type) {
  if (input->getElementType() == type)
    return input;
  return share(tp::CastOp::create(
      ops.getBuilder(), ops.getLocation(),
      RankedTensorType::get(input->getSizes(), type), unwrap(input)));
}

AlgebraValue OpAlgebra::reduce(tp::ReductionKind kind,
                               const AlgebraValue &input,
                               ArrayRef<int64_t> dims, bool keepDims,
                               Type type) {
  SmallVector<int64_t> sizes;
  for (auto [dim, size] : llvm::enumerate(input->getSizes())) {
    bool isReduced = llvm::is_contained(dims, static_cast<int64_t>(dim));
    if (!isReduced || keepDims)
      sizes.push_back(isReduced ? 1 : size);
  }
  return share(tp::ReduceOp::create(ops.getBuilder(), ops.getLocation(),
                                    RankedTensorType::get(sizes, type), kind,
                                    unwrap(input), dims, keepDims));
}

AlgebraValue OpAlgebra::cumulativeSum(const AlgebraValue &input, unsigned,
                                      Type type) {
  return fail(input->getSizes(), type);
}

AlgebraValue OpAlgebra::matmul(const AlgebraValue &lhs, const AlgebraValue &rhs,
                               Type type) {
  return share(tp::MatmulOp::create(
      ops.getBuilder(), ops.getLocation(), unwrap(lhs), unwrap(rhs), Value(),
      Value(), Value(), /*transposeLhs=*/false, /*transposeRhs=*/false, type));
}

AlgebraValue OpAlgebra::multiplyGroups(const AlgebraValue &lhs,
                                       const AlgebraValue &,
                                       const AlgebraValue &,
                                       const AlgebraValue &, Type type) {
  return fail(lhs->getSizes(), type);
}

AlgebraValue OpAlgebra::uninitialized(Operation *, ArrayRef<int64_t> sizes,
                                      Type type) {
  return fail(sizes, type);
}

AlgebraValue OpAlgebra::take(const AlgebraValue &table, const AlgebraValue &,
                             unsigned, bool) {
  return fail(table->getSizes(), table->getElementType());
}

AlgebraValue OpAlgebra::takeAlong(const AlgebraValue &table,
                                  const AlgebraValue &indices, unsigned) {
  return fail(indices->getSizes(), table->getElementType());
}

AlgebraValue OpAlgebra::scatter(const AlgebraValue &input, const AlgebraValue &,
                                const AlgebraValue &, unsigned, bool, bool) {
  return fail(input->getSizes(), input->getElementType());
}

AlgebraValue OpAlgebra::sortedOrder(const AlgebraValue &input, unsigned,
                                    const tp::SortOrder &, Type type) {
  return fail(input->getSizes(), type);
}

AlgebraValue OpAlgebra::reshape(const AlgebraValue &input,
                                ArrayRef<int64_t> sizes) {
  return wrap(ops.reshape(unwrap(input), sizes));
}

AlgebraValue OpAlgebra::permute(const AlgebraValue &input,
                                ArrayRef<int64_t> permutation) {
  return wrap(ops.permute(unwrap(input), permutation));
}

AlgebraValue OpAlgebra::slice(const AlgebraValue &input, unsigned dim,
                              int64_t start, int64_t step, int64_t size) {
  return wrap(ops.slice(unwrap(input), dim, start, step, size));
}

AlgebraValue OpAlgebra::concat(ArrayRef<AlgebraValue> inputs, unsigned dim) {
  SmallVector<Value> values;
  for (const AlgebraValue &input : inputs)
    values.push_back(unwrap(input));
  return wrap(ops.concat(values, dim));
}

AlgebraValue OpAlgebra::broadcast(const AlgebraValue &input,
                                  ArrayRef<int64_t> sizes) {
  return share(tp::BroadcastOp::create(
      ops.getBuilder(), ops.getLocation(),
      RankedTensorType::get(sizes, input->getElementType()), unwrap(input)));
}

SmallVector<Value> refinement::copyOp(UniqueOps &ops, Operation *op,
                                      ArrayRef<Value> operands) {
  auto product = dyn_cast<tp::MatmulOp>(op);
  if (!product || op->getNumOperands() == 2)
    return llvm::to_vector(ops.copy(op, operands));
  OpAlgebra algebra(ops, /*rank=*/0);
  SmallVector<AlgebraValue> inputs, results;
  for (Value operand : operands)
    inputs.push_back(OpAlgebra::wrap(operand));
  if (failed(product.evaluate(algebra, inputs, results)) || algebra.hasFailed())
    return llvm::to_vector(ops.copy(op, operands));
  return {OpAlgebra::unwrap(results.front())};
}
