//===- FusedForms.cpp - fused ops that PyTorch has --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FusedForms.h"

#include "OpDraft.h"

#include "commute/Dialect/CarrierAttributes.h"

using namespace mlir;
using namespace commute;
using tp::getTensor;

analysis::Legal<> commute::checkFusedForm(Operation *op, ModuleOp module) {
  auto refuse = [&](std::string reason) {
    return analysis::Refusal{op, analysis::RefusalCode::Vocabulary,
                             std::move(reason)};
  };
  if (auto fused = dyn_cast<tp::AllGatherMatmulOp>(op)) {
    if (!fused.getBiases().empty())
      return refuse("PyTorch's fused op takes no biases");
    // PyTorch's scaled op always returns the gathered value.
    if (fused.getShardScale() && !fused.getReturnsGathered())
      return refuse(
          "PyTorch's fused op with scales always returns the gathered "
          "value, and this op does not");
    auto getType = [](Value value) {
      return getTensor(value).getElementType();
    };
    for (auto [product, right] :
         llvm::zip_equal(fused.getOutputs().take_back(fused.getRhs().size()),
                         fused.getRhs()))
      if (fused.getShardScale() && getType(product) != getType(right) &&
          !module->hasAttr(tp::elementTypeListsAttrName))
        return refuse(
            "an archive can record a scaled product only if its element "
            "type is that of the right operand");
    return {};
  }
  auto fused = dyn_cast<tp::MatmulReduceScatterOp>(op);
  if (!fused)
    return {};
  if (fused.getBias())
    return refuse("PyTorch's fused op takes no bias");
  if (!fused.getLhsScale())
    return {};
  // PyTorch's scaled op scatters other dims incorrectly.
  if (fused.getScatterAxis() > 1)
    return refuse(
        "PyTorch's fused op with scales scatters only dims 0 and 1, not "
        "dim " +
        std::to_string(fused.getScatterAxis()));
  // PyTorch's scaled op takes the shape of the product as integers.
  if (!getTensor(fused.getLhs()).hasStaticShape() ||
      !getTensor(fused.getRhs()).hasStaticShape())
    return refuse("PyTorch's fused op with scales needs static sizes");
  return {};
}

/// Multiplies along the last dim of `lhs`. PyTorch's scaled product takes
/// matrices only, so with scales all rows are flattened into one dim.
static Value multiply(OpDraft &ops, Location location, Type element, Value lhs,
                      Value rhs, Value bias, Value lhsScale, Value rhsScale) {
  tp::Sizes sizes = ops.getSizes(lhs), result = sizes;
  result.back() = ops.getSizes(rhs).back();
  bool isMatrix = !lhsScale || sizes.size() == 2;
  if (!isMatrix) {
    tp::Size rows = 1;
    for (const tp::Size &size : ArrayRef<tp::Size>(sizes).drop_back())
      rows = tp::multiply(rows, size);
    lhs = ops.reshape(lhs, {rows, sizes.back()}, location);
    if (!tp::hasOneElement(getTensor(lhsScale)))
      lhsScale = ops.reshape(lhsScale, {rows, 1}, location);
  }
  Value value = ops.add<tp::MatmulOp>(location, lhs, rhs, bias, lhsScale,
                                      rhsScale, /*transpose_lhs=*/false,
                                      /*transpose_rhs=*/false, element);
  return ops.reshape(value, result, location);
}

void commute::takeApart(tp::AllGatherMatmulOp fused) {
  OpDraft ops(fused.getContext());
  Location location = fused.getLoc();
  unsigned axis = fused.getGatherAxis();
  auto gather = [&](Value shard) -> Value {
    return ops.add<tp::AllGatherOp>(location, shard, axis, fused.getGroup(),
                                    /*async=*/false);
  };
  Value whole = gather(fused.getShard());
  Value scale = fused.getShardScale();
  if (scale && !tp::hasOneElement(getTensor(scale)))
    scale = gather(scale);
  SmallVector<Value> results;
  if (fused.getReturnsGathered())
    results.push_back(whole);
  ValueRange products = fused.getOutputs().take_back(fused.getRhs().size());
  for (auto [index, product] : llvm::enumerate(products))
    results.push_back(
        multiply(ops, location, getTensor(product).getElementType(), whole,
                 fused.getRhs()[index],
                 fused.getBiases().empty() ? Value() : fused.getBiases()[index],
                 scale, scale ? fused.getRhsScales()[index] : Value()));
  for (auto [before, after] : llvm::zip_equal(fused.getOutputs(), results))
    before.replaceAllUsesWith(ops.convert(after, getTensor(before), location));
  ops.insertBefore(fused);
  fused.erase();
}

void commute::takeApart(tp::MatmulReduceScatterOp fused) {
  OpDraft ops(fused.getContext());
  Location location = fused.getLoc();
  RankedTensorType type = getTensor(fused.getResult());
  Value product = multiply(ops, location, type.getElementType(), fused.getLhs(),
                           fused.getRhs(), fused.getBias(), fused.getLhsScale(),
                           fused.getRhsScale());
  Value scattered = ops.add<tp::ReduceScatterOp>(
      location, fused.getReduction(), product, fused.getScatterAxis(),
      fused.getGroup(), /*async=*/false);
  fused.getResult().replaceAllUsesWith(ops.convert(scattered, type, location));
  ops.insertBefore(fused);
  fused.erase();
}
