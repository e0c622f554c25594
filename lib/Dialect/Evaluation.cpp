//===- Evaluation.cpp - steps that several ops share ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/Evaluation.h"

#include "commute/Dialect/TPDialect.h"

#include <numeric>

using namespace mlir;
using namespace commute::tp;

Type Algebra::getComputeType(Type type) {
  auto number = dyn_cast<FloatType>(type);
  return number && number.getWidth() < 32 ? Float32Type::get(type.getContext())
                                          : type;
}

AlgebraValue Algebra::scalar(double value, Type type) {
  return constant(FloatAttr::get(Float64Type::get(type.getContext()), value),
                  {}, type);
}

AlgebraValue Algebra::transpose(const AlgebraValue &input) {
  SmallVector<int64_t> permutation(input->getRank());
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[input->getRank() - 2],
            permutation[input->getRank() - 1]);
  return permute(input, permutation);
}

AlgebraValue Algebra::linear(AlgebraValue lhs, AlgebraValue rhs,
                             const AlgebraValue &lhsScale,
                             const AlgebraValue &rhsScale,
                             const AlgebraValue &bias, Type type) {
  Type compute = getComputeType(type);
  auto scale = [&](const AlgebraValue &input, const AlgebraValue &factor) {
    return map(MapFunction::Mul, {cast(input, compute), cast(factor, compute)},
               compute);
  };
  if (lhsScale)
    lhs = scale(lhs, lhsScale);
  if (rhsScale)
    rhs = scale(rhs, rhsScale);
  AlgebraValue output = matmul(lhs, rhs, type);
  return bias ? map(MapFunction::Add, {output, bias}, type) : output;
}

AlgebraValue Algebra::combine(ReductionKind kind, ArrayRef<AlgebraValue> inputs,
                              Type type) {
  // Add a leading dim and reduce over it, so that accumulation is implemented
  // only once.
  SmallVector<AlgebraValue> stacked;
  for (const AlgebraValue &input : inputs) {
    SmallVector<int64_t> sizes(input->getSizes());
    sizes.insert(sizes.begin(), 1);
    stacked.push_back(reshape(input, sizes));
  }
  return reduce(kind, concat(stacked, 0), {0}, /*keepDims=*/false, type);
}
