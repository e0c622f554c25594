//===- UpstreamSplitRule.cpp - Inductor's rule for linears of cats --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SplitLaws.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::PartialProducts;
using analysis::ProductReader;
using analysis::Refusal;
using analysis::RefusalCode;

static constexpr unsigned minParts = 2;

/// Whether the pass for linears of concatenations that was proposed for
/// Inductor (pytorch/pytorch#186641) splits a product.
static Legal<> checkRule(const analysis::PartialProducts &products,
                         const UpstreamSplitLimits &limits) {
  tp::MatmulOp product = products.product;
  auto refuse = [&](std::string reason) {
    return Refusal{product, RefusalCode::UpstreamRule,
                   "upstream's rule " + std::move(reason)};
  };
  if (!products.contracts)
    return refuse("handles only concatenations along the contraction "
                  "dimension");
  auto weight = cast<RankedTensorType>(product.getRhs().getType());
  if (weight.getRank() != 2 || !product.getTransposeRhs() ||
      product.getTransposeLhs())
    return refuse("handles only linears with a 2-D weight");
  auto concat = product.getLhs().getDefiningOp<tp::ConcatOp>();
  auto input = cast<RankedTensorType>(product.getLhs().getType());
  if (!concat || int64_t(concat.getDim()) + 1 != input.getRank())
    return refuse("handles only a concatenation along the last dim "
                  "that feeds the linear directly");
  unsigned numParts = concat.getInputs().size();
  if (numParts < minParts || numParts > limits.maxParts)
    return refuse("needs " + std::to_string(minParts) + " to " +
                  std::to_string(limits.maxParts) + " parts, not " +
                  std::to_string(numParts));
  if (!input.hasStaticShape() || !weight.hasStaticShape())
    return refuse("needs static sizes");
  if (input.getShape().back() > limits.maxWidth)
    return refuse("needs a concatenated width of at most " +
                  std::to_string(limits.maxWidth) + ", not " +
                  std::to_string(input.getShape().back()));
  for (Value part : concat.getInputs()) {
    int64_t width = cast<RankedTensorType>(part.getType()).getShape().back();
    if (width < limits.minPartWidth)
      return refuse("needs parts of width " +
                    std::to_string(limits.minPartWidth) + " or more, not " +
                    std::to_string(width));
    auto map = part.getDefiningOp<tp::MapOp>();
    if (map && map.getFunction() == tp::MapFunction::Mul)
      return refuse("leaves parts that are elementwise products to "
                    "another pass");
  }
  return {};
}

/// Products are added afterwards, the bias to the first, and slices of the
/// weight are copied.
static SplitForm getForm() {
  SplitForm form;
  form.accumulates = false;
  form.copiesSlices = true;
  form.simplifies = false;
  return form;
}

namespace {

class UpstreamSplitLaw : public Law {
public:
  UpstreamSplitLaw(SplitState &state, UpstreamSplitLimits limits)
      : state(state), limits(limits) {}

  StringRef getName() const override { return "upstream-linear-of-cat"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::ConcatOp>(name);
  }
  void find(Operation *site, Findings &findings) override;
  std::string describe(const Refusal &refusal, Operation *site) const override {
    return "not split: " + refusal.reason;
  }

private:
  SplitState &state;
  UpstreamSplitLimits limits;
};

} // namespace

void UpstreamSplitLaw::find(Operation *site, Findings &findings) {
  if (Legal<> legal = state.mayRewrite(site); !legal)
    return findings.refuse(site, std::move(legal.getRefusal()));
  PartUsers users =
      findPartUsers(site, cast<tp::ConcatOp>(site).getDim(), *state.context);
  std::vector<SplitMember> members;
  for (const ProductReader &reader : users.products) {
    Legal<PartialProducts> products =
        findPartialProducts(reader.product, reader.factor, *state.context);
    if (products)
      if (Legal<> legal = checkRule(*products, limits); !legal)
        products = std::move(legal.getRefusal());
    if (products) {
      members.push_back({reader, std::move(*products)});
      continue;
    }
    if (!users.keeper)
      users.keeper = reader.product;
    findings.refuse(reader.product, std::move(products.getRefusal()));
  }
  if (!users.slices.empty())
    users.keeper = users.slices.back();
  users.slices.clear();
  if (members.empty())
    return;
  if (!users.keeper)
    return findings.add(site, makePartUsersFinding(std::move(users),
                                                   std::move(members), state));
  for (const SplitMember &member : members)
    findings.refuse(member.reader.product,
                    {member.reader.product, RefusalCode::OtherUsers,
                     getUserName(users.keeper) +
                         " needs the whole value, so nothing would be saved"});
}

std::unique_ptr<LawGroup>
commute::makeUpstreamSplitLaws(SplitState state, UpstreamSplitLimits limits) {
  state.forms.assign({getForm()});
  auto laws = std::make_unique<SplitLaws>(std::move(state));
  laws->add<UpstreamSplitLaw>(laws->state, limits);
  return laws;
}
