//===- UpstreamSplitRule.cpp - Inductor's rule for linears of cats --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "UpstreamSplitRule.h"

using namespace mlir;
using namespace commute;

static constexpr unsigned minParts = 2, maxParts = 3;
static constexpr int64_t minPartWidth = 8, maxWidth = 384;

std::string
commute::findUpstreamObjection(const analysis::PartialProducts &products) {
  tp::MatmulOp product = products.product;
  auto weight = cast<RankedTensorType>(product.getRhs().getType());
  if (weight.getRank() != 2 || !product.getTransposeRhs() ||
      product.getTransposeLhs())
    return "upstream's rule knows linears with a matrix of weights only";
  auto concat = product.getLhs().getDefiningOp<tp::ConcatOp>();
  auto input = cast<RankedTensorType>(product.getLhs().getType());
  if (!concat || int64_t(concat.getDim()) + 1 != input.getRank())
    return "upstream's rule knows concatenations along the last dim, right in "
           "front of a linear";
  unsigned numParts = concat.getInputs().size();
  if (numParts < minParts || numParts > maxParts)
    return "upstream's rule takes 2 or 3 parts, not " +
           std::to_string(numParts);
  if (!input.hasStaticShape() || !weight.hasStaticShape())
    return "upstream's rule takes static sizes only";
  if (input.getShape().back() > maxWidth)
    return "upstream's rule takes concatenations of at most " +
           std::to_string(maxWidth) + " elements, not " +
           std::to_string(input.getShape().back());
  for (Value part : concat.getInputs()) {
    int64_t width = cast<RankedTensorType>(part.getType()).getShape().back();
    if (width < minPartWidth)
      return "upstream's rule takes parts of at least " +
             std::to_string(minPartWidth) + " elements, not " +
             std::to_string(width);
    auto map = part.getDefiningOp<tp::MapOp>();
    if (map && map.getFunction() == tp::MapFunction::Mul)
      return "upstream's rule leaves parts that are products of elements to "
             "another pass";
  }
  return "";
}

SplitForm commute::getUpstreamForm() {
  SplitForm form;
  form.accumulates = false;
  form.copiesSlices = true;
  form.simplifies = false;
  return form;
}
