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
    return "upstream's rule handles only linears with a 2-D weight";
  auto concat = product.getLhs().getDefiningOp<tp::ConcatOp>();
  auto input = cast<RankedTensorType>(product.getLhs().getType());
  if (!concat || int64_t(concat.getDim()) + 1 != input.getRank())
    return "upstream's rule handles only a concatenation along the last dim "
           "that feeds the linear directly";
  unsigned numParts = concat.getInputs().size();
  if (numParts < minParts || numParts > maxParts)
    return "upstream's rule needs 2 or 3 parts, not " +
           std::to_string(numParts);
  if (!input.hasStaticShape() || !weight.hasStaticShape())
    return "upstream's rule needs static sizes";
  if (input.getShape().back() > maxWidth)
    return "upstream's rule needs a concatenated width of at most " +
           std::to_string(maxWidth) + ", not " +
           std::to_string(input.getShape().back());
  for (Value part : concat.getInputs()) {
    int64_t width = cast<RankedTensorType>(part.getType()).getShape().back();
    if (width < minPartWidth)
      return "upstream's rule needs parts of width " +
             std::to_string(minPartWidth) + " or more, not " +
             std::to_string(width);
    auto map = part.getDefiningOp<tp::MapOp>();
    if (map && map.getFunction() == tp::MapFunction::Mul)
      return "upstream's rule leaves parts that are elementwise products to "
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
