//===- FusedForms.cpp - fused ops that PyTorch has --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FusedForms.h"

#include "OpDraft.h"

using namespace mlir;
using namespace commute;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

std::string commute::findFormProblem(Operation *op) {
  if (auto fused = dyn_cast<tp::AllGatherMatmulOp>(op)) {
    if (!fused.getBiases().empty())
      return "its products have biases";
    // A scaled one gives the gathered value whether or not anyone wants it.
    if (fused.getShardScale() && !fused.getReturnsGathered())
      return "it has scales and does not give the gathered value";
    auto getType = [](Value value) {
      return getTensor(value).getElementType();
    };
    if (fused.getShardScale() &&
        getType(fused.getOutputs().back()) != getType(fused.getRhs().back()))
      return "an archive cannot say the element types of its results, which "
             "are not those of the right operands";
    return "";
  }
  auto fused = dyn_cast<tp::MatmulReduceScatterOp>(op);
  if (!fused)
    return "";
  if (fused.getBias())
    return "its product has a bias";
  // PyTorch's scaled form cuts the right dim only of these two.
  if (fused.getLhsScale() && fused.getScatterAxis() > 1)
    return "it has scales and scatters dim " +
           std::to_string(fused.getScatterAxis());
  return "";
}

void commute::takeApart(tp::AllGatherMatmulOp fused) {
  OpDraft ops(fused.getContext());
  Location location = fused.getLoc();
  unsigned axis = fused.getGatherAxis();
  auto gather = [&](Value shard) -> Value {
    tp::Sizes sizes = ops.getSizes(shard);
    sizes[axis] = tp::multiply(sizes[axis], fused.getGroup().getSize());
    return ops.add<tp::AllGatherOp>(
        location, ops.getType(getTensor(shard).getElementType(), sizes), shard,
        axis, fused.getGroup(), /*async=*/false);
  };
  Value whole = gather(fused.getShard());
  Value scale = fused.getShardScale();
  if (scale && getTensor(scale).getNumElements() != 1)
    scale = gather(scale);
  SmallVector<Value> results;
  if (fused.getReturnsGathered())
    results.push_back(whole);
  ValueRange products = fused.getOutputs().take_back(fused.getRhs().size());
  for (auto [index, product] : llvm::enumerate(products))
    results.push_back(ops.add<tp::MatmulOp>(
        location,
        ops.getType(getTensor(product).getElementType(), ops.getSizes(product)),
        whole, fused.getRhs()[index],
        fused.getBiases().empty() ? Value() : fused.getBiases()[index], scale,
        scale ? fused.getRhsScales()[index] : Value(),
        /*transpose_lhs=*/false, /*transpose_rhs=*/false));
  for (auto [before, after] : llvm::zip_equal(fused.getOutputs(), results))
    before.replaceAllUsesWith(ops.convert(after, getTensor(before), location));
  ops.insertBefore(fused);
  fused.erase();
}

void commute::takeApart(tp::MatmulReduceScatterOp fused) {
  OpDraft ops(fused.getContext());
  Location location = fused.getLoc();
  tp::Sizes sizes = ops.getSizes(fused.getLhs());
  sizes.back() = ops.getSizes(fused.getRhs()).back();
  RankedTensorType type = getTensor(fused.getResult());
  Value product = ops.add<tp::MatmulOp>(
      location, ops.getType(type.getElementType(), sizes), fused.getLhs(),
      fused.getRhs(), fused.getBias(), fused.getLhsScale(), fused.getRhsScale(),
      /*transpose_lhs=*/false, /*transpose_rhs=*/false);
  Value scattered = ops.add<tp::ReduceScatterOp>(
      location, type, fused.getReduction(), product, fused.getScatterAxis(),
      fused.getGroup(), /*async=*/false);
  fused.getResult().replaceAllUsesWith(ops.convert(scattered, type, location));
  ops.insertBefore(fused);
  fused.erase();
}
