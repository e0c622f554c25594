//===- SplitLaws.cpp - products in segments, as laws ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SplitLaws.h"

#include "SharedViews.h"
#include "SplitPrices.h"

#include "commute/Analysis/Collectives/ReindexedCollectives.h"
#include "commute/Dialect/NodeName.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::PartialProducts;
using analysis::ProductReader;
using analysis::Refusal;
using analysis::RefusalCode;

std::string commute::getUserName(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() ? "the return op"
                                               : getNodeName(op);
}

//===----------------------------------------------------------------------===//
// What all findings have in common
//===----------------------------------------------------------------------===//

namespace {

class SplitFinding : public Finding {
public:
  explicit SplitFinding(SplitState &state) : state(state) {}

  void explain(Refusal &refusal, Operation *site, const Draft &draft,
               const Price &price,
               const target::PriceModel &model) const override;

protected:
  /// "12.0 us before, 11.0 us after on h100x8"; empty if that is not known.
  static std::string formatSeconds(const Price &price,
                                   const target::PriceModel *model);
  static LawRemark getRemark(Operation *op, const SplitDraft &draft,
                             std::string change, StringRef seconds);

  SplitState &state;
};

} // namespace

std::string SplitFinding::formatSeconds(const Price &price,
                                        const target::PriceModel *model) {
  if (!price.isKnown() || !model)
    return "";
  return formatMicroseconds(*price.before) + " before, " +
         formatMicroseconds(*price.after) + " after on " +
         model->getTarget().name;
}

LawRemark SplitFinding::getRemark(Operation *op, const SplitDraft &draft,
                                  std::string text, StringRef seconds) {
  if (!seconds.empty())
    text += "; " + seconds.str();
  if (!draft.notes.empty())
    text += "; numerics: " + llvm::join(draft.notes, "; ");
  return {op->getLoc(), "parts", std::move(text)};
}

void SplitFinding::explain(Refusal &refusal, Operation *site,
                           const Draft &draft, const Price &price,
                           const target::PriceModel &model) const {
  if (!price.isKnown())
    refusal.reason = "it cannot be priced because some sizes have no value";
  else if (refusal.code == RefusalCode::NoProgress)
    refusal.reason = "the rewrite would not reduce multiplications, "
                     "concatenations or slices";
  else
    refusal.reason = formatMicroseconds(*price.after) + " rewritten, " +
                     formatMicroseconds(*price.before) + " unchanged on " +
                     model.getTarget().name +
                     describeMargin(*price.before, *price.after, state.margin);
}

//===----------------------------------------------------------------------===//
// Operands with parts
//===----------------------------------------------------------------------===//

PartUsers commute::findPartUsers(Operation *source, unsigned dim,
                                 analysis::ProductContext &context) {
  analysis::DimReaders readers =
      analysis::findDimReaders(source->getResult(0), dim);
  // MLIR does not define the order of users; sort them.
  auto isBefore = [&](Operation *a, Operation *b) {
    return context.getWriteOrder().getPosition(a) <
           context.getWriteOrder().getPosition(b);
  };
  llvm::sort(readers.products,
             [&](const ProductReader &a, const ProductReader &b) {
               return isBefore(a.product, b.product);
             });
  llvm::sort(readers.slices, isBefore);
  auto *first = llvm::min_element(readers.others, isBefore);
  return {source, std::move(readers.products), std::move(readers.slices),
          first == readers.others.end() ? nullptr : *first};
}

/// Describes how a product is split.
static std::string describeChange(const PartialProducts &products,
                                  Operation *source) {
  unsigned numParts = products.segments.size();
  if (!products.contracts)
    return "split into " + std::to_string(numParts) +
           " products, one for each part of " + getNodeName(source);
  unsigned numShards = llvm::count_if(
      products.segments, [](const analysis::ProductSegment &segment) {
        return bool(segment.group);
      });
  if (numParts == 1)
    return "replaced by an all_reduce of one product per rank";
  std::string change = "split into a sum of " + std::to_string(numParts) +
                       " products along the contraction dimension";
  if (numShards > 0)
    change += ", " + std::to_string(numShards) +
              " of them computed by each rank on its own shard";
  return change;
}

/// The product in the cheapest of the forms.
static std::unique_ptr<SplitDraft> draftProduct(const PartialProducts &products,
                                                const SplitState &state) {
  if (!products.contracts)
    return draftProductsSideBySide(products, *state.context);
  std::unique_ptr<SplitDraft> best;
  for (const SplitForm &form : state.forms) {
    std::unique_ptr<SplitDraft> draft =
        draftPartialSum(products, form, *state.context);
    if (!draft)
      continue;
    if (best) {
      const target::PriceModel &model = state.prices.getModel();
      SplitCost first = getCostAfter({best.get()}, model);
      SplitCost second = getCostAfter({draft.get()}, model);
      bool isBetter = state.policy == Policy::Always
                          ? second.doesLessThan(first)
                          : second.seconds < first.seconds;
      if (!isBetter)
        continue;
    }
    best = std::move(draft);
  }
  assert(best && "a sum without products of symbolic size is refused before");
  return best;
}

namespace {

/// One of several users, rewritten without the others: less arithmetic can pay
/// even if the whole value remains.
class PartUser : public SplitFinding {
public:
  PartUser(ProductReader reader, Operation *source, SplitState &state)
      : SplitFinding(state), reader(reader), source(source) {}

  Legal<std::unique_ptr<Draft>> draft() override {
    // The rewrite of another user may have changed what is found.
    Legal<PartialProducts> products =
        findPartialProducts(reader.product, reader.factor, *state.context);
    if (!products)
      return std::move(products.getRefusal());
    change = describeChange(*products, source);
    return std::unique_ptr<Draft>(draftProduct(*products, state));
  }
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    return {getRemark(reader.product, static_cast<const SplitDraft &>(draft),
                      change, formatSeconds(price, model))};
  }
  SmallVector<Operation *> getRefusedSites(Operation *site) const override {
    return {reader.product};
  }

private:
  ProductReader reader;
  Operation *source;
  std::string change;
};

class PartUsersFinding : public SplitFinding {
public:
  PartUsersFinding(PartUsers users, std::vector<SplitMember> members,
                   SplitState &state)
      : SplitFinding(state), users(std::move(users)),
        members(std::move(members)) {}

  Legal<std::unique_ptr<Draft>> draft() override;
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override;
  void explain(Refusal &refusal, Operation *site, const Draft &draft,
               const Price &price,
               const target::PriceModel &model) const override;
  SmallVector<Operation *> getRefusedSites(Operation *site) const override;
  std::vector<std::unique_ptr<Finding>> getParts() const override;

private:
  PartUsers users;
  std::vector<SplitMember> members;
  /// Those of the drafts, in order: the product or slice, and what becomes of
  /// it.
  SmallVector<std::pair<Operation *, std::string>> changes;
};

} // namespace

std::unique_ptr<Finding>
commute::makePartUsersFinding(PartUsers users, std::vector<SplitMember> members,
                              SplitState &state) {
  return std::make_unique<PartUsersFinding>(std::move(users),
                                            std::move(members), state);
}

Legal<std::unique_ptr<Draft>> PartUsersFinding::draft() {
  auto group = std::make_unique<SplitDrafts>();
  changes.clear();
  for (const SplitMember &member : members) {
    group->members.push_back(draftProduct(member.products, state));
    changes.emplace_back(member.reader.product,
                         describeChange(member.products, users.source));
  }
  for (tp::SliceOp slice : users.slices) {
    if (std::unique_ptr<SplitDraft> draft =
            draftSlicedConcat(slice, *state.context)) {
      group->members.push_back(std::move(draft));
      changes.emplace_back(slice, "now reads a single part of " +
                                      getNodeName(users.source));
    } else if (!users.keeper) {
      users.keeper = slice;
    }
  }
  return std::unique_ptr<Draft>(std::move(group));
}

SmallVector<LawRemark>
PartUsersFinding::describe(const Draft &draft, const Price &price,
                           const target::PriceModel *model) const {
  const auto &group = static_cast<const SplitDrafts &>(draft);
  std::string seconds = formatSeconds(price, model);
  if (group.members.size() > 1 && !seconds.empty())
    seconds += ", for all users of the same parts together";
  SmallVector<LawRemark> remarks;
  for (const auto &[member, change] : llvm::zip_equal(group.members, changes))
    remarks.push_back(getRemark(change.first, *member, change.second, seconds));
  return remarks;
}

void PartUsersFinding::explain(Refusal &refusal, Operation *site,
                               const Draft &draft, const Price &price,
                               const target::PriceModel &model) const {
  SplitFinding::explain(refusal, site, draft, price, model);
  if (users.keeper)
    refusal.reason +=
        "; " + getUserName(users.keeper) + " needs the whole value";
}

SmallVector<Operation *>
PartUsersFinding::getRefusedSites(Operation *site) const {
  SmallVector<Operation *> sites;
  for (const SplitMember &member : members) {
    tp::MatmulOp product = member.reader.product;
    sites.push_back(product);
  }
  return sites;
}

std::vector<std::unique_ptr<Finding>> PartUsersFinding::getParts() const {
  std::vector<std::unique_ptr<Finding>> parts;
  if (changes.size() > 1)
    for (const SplitMember &member : members)
      parts.push_back(
          std::make_unique<PartUser>(member.reader, users.source, state));
  return parts;
}

namespace {

/// op(cat(a, b)) is made of op(a) and op(b).
class PartsLaw : public Law {
public:
  explicit PartsLaw(SplitState &state) : state(state) {}

  StringRef getName() const override { return "operands-with-parts"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::ConcatOp, tp::AllGatherOp, tp::WaitOp>(name);
  }
  void find(Operation *site, Findings &findings) override;
  std::string describe(const Refusal &refusal, Operation *site) const override {
    return "not split: " + refusal.reason;
  }

private:
  /// The dim of an op's result that has parts: those of a concatenation, or
  /// the shards of a gather.
  static std::optional<unsigned> findDim(Operation *op) {
    if (auto concat = dyn_cast<tp::ConcatOp>(op))
      return concat.getDim();
    auto gather = dyn_cast<tp::AllGatherOp>(op);
    if (isa<tp::WaitOp>(op))
      gather = op->getOperand(0).getDefiningOp<tp::AllGatherOp>();
    if (gather && gather.getAsync() == isa<tp::WaitOp>(op))
      return gather.getGatherAxis();
    return std::nullopt;
  }

  SplitState &state;
};

} // namespace

void PartsLaw::find(Operation *site, Findings &findings) {
  std::optional<unsigned> dim = findDim(site);
  if (!dim)
    return;
  if (Legal<> legal = state.mayRewrite(site); !legal)
    return findings.refuse(site, std::move(legal.getRefusal()));
  PartUsers users = findPartUsers(site, *dim, *state.context);
  std::vector<SplitMember> members;
  for (ProductReader reader : users.products) {
    Legal<PartialProducts> products =
        findPartialProducts(reader.product, reader.factor, *state.context);
    if (products && products->contracts && isSumOfZeros(*products) &&
        !reader.product.getType().hasStaticShape())
      products = Refusal{reader.product, RefusalCode::SymbolicSize,
                         "all parts of its sum are zero, and a constant of "
                         "symbolic size cannot be created"};
    if (products) {
      members.push_back({reader, std::move(*products)});
      continue;
    }
    if (!users.keeper)
      users.keeper = reader.product;
    findings.refuse(reader.product, std::move(products.getRefusal()));
  }
  if (!members.empty())
    findings.add(site, makePartUsersFinding(std::move(users),
                                            std::move(members), state));
}

//===----------------------------------------------------------------------===//
// Results that are sliced or concatenated
//===----------------------------------------------------------------------===//

namespace {

/// A rewrite of one op by one draft.
class ResultFinding : public SplitFinding {
public:
  using Drafting =
      std::function<Legal<std::unique_ptr<SplitDraft>>(SplitState &)>;
  using Describing = std::function<std::string(const SplitDraft &)>;

  ResultFinding(Operation *op, SplitState &state, Drafting drafting,
                Describing describing)
      : SplitFinding(state), op(op), drafting(std::move(drafting)),
        describing(std::move(describing)) {}

  Legal<std::unique_ptr<Draft>> draft() override {
    Legal<std::unique_ptr<SplitDraft>> draft = drafting(state);
    if (!draft)
      return std::move(draft.getRefusal());
    return std::unique_ptr<Draft>(std::move(*draft));
  }
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    const auto &split = static_cast<const SplitDraft &>(draft);
    return {
        getRemark(op, split, describing(split), formatSeconds(price, model))};
  }

private:
  Operation *op;
  Drafting drafting;
  Describing describing;
};

/// slice_n(a @ b) = a @ slice_n(b)
class SlicesLaw : public Law {
public:
  explicit SlicesLaw(SplitState &state) : state(state) {}

  StringRef getName() const override { return "sliced-results"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::MatmulOp>(name);
  }
  void find(Operation *site, Findings &findings) override;
  std::string describe(const Refusal &refusal, Operation *site) const override {
    return "not split: " + refusal.reason;
  }

private:
  static Refusal describeSlices(Refusal refusal) {
    if (refusal.isApplicable())
      refusal.reason = "only slices of it are used, but " + refusal.reason;
    return refusal;
  }

  SplitState &state;
};

/// cat_n(a @ b, a @ c) = a @ cat_n(b, c)
class JoinsLaw : public Law {
public:
  explicit JoinsLaw(SplitState &state) : state(state) {}

  StringRef getName() const override { return "concatenated-results"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::ConcatOp>(name);
  }
  void find(Operation *site, Findings &findings) override;
  std::string describe(const Refusal &refusal, Operation *site) const override {
    return "products not merged: " + refusal.reason;
  }

private:
  SplitState &state;
};

} // namespace

void SlicesLaw::find(Operation *site, Findings &findings) {
  if (Legal<> legal = state.mayRewrite(site); !legal)
    return findings.refuse(site, std::move(legal.getRefusal()));
  Legal<analysis::SlicedProduct> sliced =
      analysis::findSlicedProduct(cast<tp::MatmulOp>(site));
  if (!sliced)
    return findings.refuse(site, describeSlices(sliced.getRefusal()));
  auto draft = [sliced = std::move(*sliced)](
                   SplitState &state) -> Legal<std::unique_ptr<SplitDraft>> {
    Legal<std::unique_ptr<SplitDraft>> result =
        draftSlicedProduct(sliced, *state.context);
    if (!result)
      return describeSlices(result.getRefusal());
    return result;
  };
  auto describe = [](const SplitDraft &result) {
    return "reduced to " + std::to_string(result.numProducts) +
           (result.numProducts == 1
                ? " product that computes only the slice that is used"
                : " products that compute only the slices that are used");
  };
  findings.add(site, std::make_unique<ResultFinding>(
                         site, state, std::move(draft), describe));
}

void JoinsLaw::find(Operation *site, Findings &findings) {
  if (Legal<> legal = state.mayRewrite(site); !legal)
    return findings.refuse(site, std::move(legal.getRefusal()));
  Legal<analysis::JoinedProducts> joined =
      findJoinedProducts(cast<tp::ConcatOp>(site), *state.context);
  if (!joined)
    return findings.refuse(site, std::move(joined.getRefusal()));
  unsigned numProducts = 0, numRuns = joined->runs.size();
  for (const analysis::JoinedRun &run : joined->runs)
    numProducts += run.products.size();
  auto draft = [joined = std::move(*joined)](
                   SplitState &state) -> Legal<std::unique_ptr<SplitDraft>> {
    return draftJoinedProducts(joined, *state.context);
  };
  auto describe = [=](const SplitDraft &) {
    return "its " + std::to_string(numProducts) + " products merged into " +
           std::to_string(numRuns) + " by concatenating their operands";
  };
  findings.add(site, std::make_unique<ResultFinding>(
                         site, state, std::move(draft), describe));
}

//===----------------------------------------------------------------------===//
// The group
//===----------------------------------------------------------------------===//

Legal<> SplitState::mayRewrite(Operation *op) const {
  Operation *collective = partOfCollective.lookup(op);
  if (!collective)
    return {};
  return Refusal{op, RefusalCode::Conflict,
                 "it is part of a collective along another dim, " +
                     getNodeName(collective) +
                     ", with which a later pass may fuse the product"};
}

llvm::Error SplitLaws::beginRound(func::FuncOp function) {
  state.context = std::make_unique<analysis::ProductContext>(function);
  state.partOfCollective.clear();
  if (!state.keepsCollectives)
    return llvm::Error::success();
  for (Operation &op : function.getBody().front()) {
    Legal<analysis::ReindexedCollective> found = Refusal();
    if (auto gather = dyn_cast<tp::AllGatherOp>(op))
      found = analysis::findReindexedGather(gather);
    else if (auto scatter = dyn_cast<tp::ReduceScatterOp>(op))
      found = analysis::findReindexedScatter(scatter);
    if (!found)
      continue;
    for (Operation *part : found->ops)
      state.partOfCollective[part] = &op;
    if (Operation *source = found->input.getDefiningOp())
      if (isa<tp::ReduceScatterOp>(op))
        state.partOfCollective[source] = &op;
  }
  return llvm::Error::success();
}

void SplitLaws::endRound(func::FuncOp function, RewriterBase &rewriter) {
  // Fewer users of a value may let the next round rewrite more.
  shareViews(function.getBody().front(), rewriter);
}

std::unique_ptr<LawGroup> commute::makeSplitLaws(SplitState state) {
  auto laws = std::make_unique<SplitLaws>(std::move(state));
  laws->add<PartsLaw>(laws->state);
  laws->add<SlicesLaw>(laws->state);
  laws->add<JoinsLaw>(laws->state);
  return laws;
}
