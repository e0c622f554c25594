//===- SplitLinear.cpp - products of parts, and parts of products ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PassPrices.h"
#include "SharedViews.h"
#include "SplitPrices.h"
#include "UpstreamSplitRule.h"

#include "commute/Analysis/NodeName.h"
#include "commute/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace commute {
#define GEN_PASS_DEF_SPLITLINEAR
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;
using analysis::getNodeName;
using analysis::PartialProducts;
using analysis::ProductContext;
using analysis::ProductReader;

namespace {

/// A rewrite that is legal.
struct Candidate {
  /// The op that the remark is attached to.
  Operation *op;
  SplitDraft draft;
  /// The change, for the remark.
  std::string change;
};

class SplitLinearPass : public commute::impl::SplitLinearBase<SplitLinearPass> {
public:
  using SplitLinearBase::SplitLinearBase;

  void runOnOperation() final;

private:
  /// Visits all ops once; true if something was rewritten.
  bool sweep();
  /// Products and slices of the value that `source` concatenates along `dim`.
  void visitParts(Operation *source, unsigned dim);
  void visitSlices(tp::MatmulOp product);
  void visitJoin(tp::ConcatOp concat);
  std::optional<Candidate> findCandidate(const ProductReader &reader,
                                         Operation *source);
  /// Rewrites one product independently of the others: less arithmetic can be
  /// profitable even if the concatenation remains. False if it is not.
  bool applyApart(const ProductReader &reader, Operation *source);
  std::optional<Candidate> draftSum(const PartialProducts &products);

  /// Why the candidates are not applied together; empty if they are.
  std::string findObjection(ArrayRef<Candidate *> candidates);
  /// The seconds that the candidates save together; 0 if unknown.
  double getGain(ArrayRef<Candidate *> candidates);
  /// Whether applying only the candidates that are profitable on their own
  /// saves more.
  bool isBetterApart(ArrayRef<Candidate *> candidates);
  void apply(ArrayRef<Candidate *> candidates);
  void eraseUnread(ArrayRef<Operation *> ops);
  std::string formatSeconds(const SplitCost &before, const SplitCost &after);

  /// Records why an op is not rewritten; the last reason is reported.
  void refuse(Operation *op, const Twine &reason) {
    refusals[op] = reason.str();
  }
  void remark(const Candidate &candidate, StringRef seconds);
  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(getArgument())
        .function(getOperation().getName());
  }

  // Shared pointers, because passes are copied before they run.
  std::shared_ptr<PassPrices> prices;
  std::shared_ptr<ProductContext> context;
  llvm::DenseMap<Operation *, std::string> refusals;
  /// Ops erased in this sweep.
  llvm::DenseSet<Operation *> erased;
  bool hasChanged = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Decision
//===----------------------------------------------------------------------===//

std::string SplitLinearPass::formatSeconds(const SplitCost &before,
                                           const SplitCost &after) {
  if (!before.isKnown || !after.isKnown)
    return "";
  return formatMicroseconds(before.seconds) + " before, " +
         formatMicroseconds(after.seconds) + " after on " +
         prices->getModel().getTarget().name;
}

static SmallVector<const SplitDraft *>
getDrafts(ArrayRef<Candidate *> candidates) {
  return llvm::map_to_vector(candidates,
                             [](Candidate *candidate) -> const SplitDraft * {
                               return &candidate->draft;
                             });
}

std::string SplitLinearPass::findObjection(ArrayRef<Candidate *> candidates) {
  if (exactRounding)
    for (Candidate *candidate : candidates)
      if (candidate->draft.reassociates)
        return "the rewrite would round its sum in a different order, which "
               "exact-rounding forbids";
  if (policy == "upstream")
    return "";
  SmallVector<const SplitDraft *> drafts = getDrafts(candidates);
  const target::PriceModel &price = prices->getModel();
  SplitCost before = getCostBefore(drafts, price);
  SplitCost after = getCostAfter(drafts, price);
  if (!before.isKnown || !after.isKnown)
    return "it cannot be priced because some sizes have no value";
  if (policy == "always")
    return after.doesLessThan(before)
               ? ""
               : "the rewrite would not reduce multiplications, concatenations "
                 "or slices";
  if (after.seconds * (1 + margin) < before.seconds)
    return "";
  return formatMicroseconds(after.seconds) + " rewritten, " +
         formatMicroseconds(before.seconds) + " unchanged on " +
         price.getTarget().name +
         describeMargin(before.seconds, after.seconds, margin);
}

double SplitLinearPass::getGain(ArrayRef<Candidate *> candidates) {
  SmallVector<const SplitDraft *> drafts = getDrafts(candidates);
  SplitCost before = getCostBefore(drafts, prices->getModel());
  SplitCost after = getCostAfter(drafts, prices->getModel());
  return before.isKnown && after.isKnown ? before.seconds - after.seconds : 0;
}

bool SplitLinearPass::isBetterApart(ArrayRef<Candidate *> candidates) {
  if (policy != "profitable" || candidates.size() < 2)
    return false;
  double apart = 0;
  for (Candidate *candidate : candidates)
    if (findObjection({candidate}).empty())
      apart += getGain({candidate});
  return apart > getGain(candidates);
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

void SplitLinearPass::remark(const Candidate &candidate, StringRef seconds) {
  std::string text = candidate.change;
  if (!seconds.empty())
    text += "; " + seconds.str();
  if (!candidate.draft.notes.empty())
    text += "; numerics: " + llvm::join(candidate.draft.notes, "; ");
  remark::passed(candidate.op->getLoc(), getRemark("parts"))
      << remark::add("{0}", text);
}

void SplitLinearPass::eraseUnread(ArrayRef<Operation *> ops) {
  llvm::SmallSetVector<Operation *, 16> unread(ops.begin(), ops.end());
  while (!unread.empty()) {
    Operation *op = unread.pop_back_val();
    if (!isOpTriviallyDead(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        unread.insert(definition);
    erased.insert(op);
    refusals.erase(op);
    op->erase();
  }
}

void SplitLinearPass::apply(ArrayRef<Candidate *> candidates) {
  SmallVector<const SplitDraft *> drafts = getDrafts(candidates);
  const target::PriceModel &price = prices->getModel();
  // The price of all candidates that are applied together.
  std::string seconds =
      formatSeconds(getCostBefore(drafts, price), getCostAfter(drafts, price));
  if (candidates.size() > 1 && !seconds.empty())
    seconds += ", for all users of the same parts together";
  SmallVector<Operation *> replaced;
  for (Candidate *candidate : candidates) {
    remark(*candidate, seconds);
    numProducts += candidate->draft.numProducts;
    ++numRewritten;
    candidate->draft.addReplaced(replaced);
    for (Operation *op : candidate->draft.ops.getOps())
      context->getWriteOrder().addInFront(op, candidate->draft.position);
    candidate->draft.apply();
  }
  eraseUnread(replaced);
  hasChanged = true;
}

//===----------------------------------------------------------------------===//
// Operands of parts
//===----------------------------------------------------------------------===//

static std::string getReaderName(Operation *op) {
  return op->hasTrait<OpTrait::IsTerminator>() ? "the return op"
                                               : getNodeName(op);
}

std::optional<Candidate>
SplitLinearPass::draftSum(const PartialProducts &products) {
  tp::MatmulOp product = products.product;
  SplitForm form;
  if (policy == "upstream") {
    std::string objection = findUpstreamObjection(products);
    if (!objection.empty()) {
      refuse(product, objection);
      return std::nullopt;
    }
    form = getUpstreamForm();
  }
  unsigned numShards = llvm::count_if(
      products.segments, [](const analysis::ProductSegment &segment) {
        return bool(segment.group);
      });
  unsigned numParts = products.segments.size();
  std::string change = numParts == 1
                           ? "replaced by an all_reduce of one product per rank"
                           : "split into a sum of " + std::to_string(numParts) +
                                 " products along the contraction dimension";
  if (numParts > 1 && numShards > 0)
    change += ", " + std::to_string(numShards) +
              " of them computed by each rank on its own shard";
  // Try with simplifications, and without in case they are not profitable.
  std::optional<Candidate> best;
  for (bool simplifies : {true, false}) {
    // Simplifications reorder sums.
    if (simplifies && (policy == "upstream" || exactRounding))
      continue;
    form.simplifies = simplifies;
    std::optional<SplitDraft> draft = draftPartialSum(products, form, *context);
    if (!draft)
      continue;
    Candidate candidate{product, std::move(*draft), change};
    if (best && policy != "upstream") {
      const target::PriceModel &price = prices->getModel();
      SplitCost first = getCostAfter({&best->draft}, price);
      SplitCost second = getCostAfter({&candidate.draft}, price);
      bool isBetter = policy == "always" ? second.doesLessThan(first)
                                         : second.seconds < first.seconds;
      if (!isBetter)
        continue;
    }
    best.emplace(std::move(candidate));
  }
  if (!best)
    refuse(product, "all parts of its sum are zero, and a constant of symbolic "
                    "size cannot be created");
  return best;
}

std::optional<Candidate>
SplitLinearPass::findCandidate(const ProductReader &reader, Operation *source) {
  std::string reason;
  std::optional<PartialProducts> products =
      findPartialProducts(reader.product, reader.factor, *context, reason);
  if (!products) {
    if (!reason.empty())
      refuse(reader.product, reason);
    return std::nullopt;
  }
  if (products->contracts)
    return draftSum(*products);
  if (policy == "upstream") {
    refuse(reader.product, "upstream's rule handles only concatenations "
                           "along the contraction dimension");
    return std::nullopt;
  }
  return Candidate{reader.product, draftProductsSideBySide(*products, *context),
                   "split into " + std::to_string(products->segments.size()) +
                       " products, one for each part of " +
                       getNodeName(source)};
}

void SplitLinearPass::visitParts(Operation *source, unsigned dim) {
  analysis::DimReaders readers =
      analysis::findDimReaders(source->getResult(0), dim);
  if (readers.products.empty())
    return;
  // MLIR does not define the order of users; sort them.
  auto getPosition = [&](Operation *op) {
    return context->getWriteOrder().getPosition(op);
  };
  llvm::sort(readers.products,
             [&](const ProductReader &a, const ProductReader &b) {
               return getPosition(a.product) < getPosition(b.product);
             });
  llvm::sort(readers.slices, [&](tp::SliceOp a, tp::SliceOp b) {
    return getPosition(a) < getPosition(b);
  });
  std::vector<Candidate> candidates;
  SmallVector<ProductReader> legal;
  auto *foremost =
      llvm::min_element(readers.others, [&](Operation *a, Operation *b) {
        return getPosition(a) < getPosition(b);
      });
  Operation *keeper = foremost == readers.others.end() ? nullptr : *foremost;
  for (const ProductReader &reader : readers.products) {
    if (std::optional<Candidate> candidate = findCandidate(reader, source)) {
      candidates.push_back(std::move(*candidate));
      legal.push_back(reader);
    } else if (!keeper) {
      keeper = reader.product;
    }
  }
  if (candidates.empty())
    return;
  for (tp::SliceOp slice : readers.slices) {
    if (policy == "upstream")
      keeper = slice;
    else if (std::optional<SplitDraft> draft =
                 draftSlicedConcat(slice, *context))
      candidates.push_back(
          {slice, std::move(*draft),
           "now reads a single part of " + getNodeName(source)});
    else if (!keeper)
      keeper = slice;
  }
  SmallVector<Candidate *> all;
  for (Candidate &candidate : candidates)
    all.push_back(&candidate);

  // Try all users of the parts together: then the concatenation is unused.
  std::string objection = findObjection(all);
  if (policy == "upstream" && keeper)
    objection = getReaderName(keeper) +
                " needs the whole value, so nothing would be saved";
  if (objection.empty() && !isBetterApart(all))
    return apply(all);
  // Drop the drafts now: their ops would count as extra users of their
  // operands.
  bool isGroup = candidates.size() > 1;
  candidates.clear();
  if (keeper && policy != "upstream")
    objection += "; " + getReaderName(keeper) + " needs the whole value";
  for (const ProductReader &reader : legal) {
    // The products are in program order, and a rewrite erases only ops before
    // its product.
    assert(!erased.contains(reader.product) && "a product was erased");
    if (!isGroup || !applyApart(reader, source))
      refuse(reader.product, objection);
  }
}

bool SplitLinearPass::applyApart(const ProductReader &reader,
                                 Operation *source) {
  if (policy == "upstream")
    return false;
  std::optional<Candidate> candidate = findCandidate(reader, source);
  if (!candidate || !findObjection({&*candidate}).empty())
    return false;
  apply({&*candidate});
  return true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void SplitLinearPass::visitSlices(tp::MatmulOp product) {
  std::string reason;
  std::optional<analysis::SlicedProduct> sliced =
      analysis::findSlicedProduct(product, reason);
  std::optional<SplitDraft> draft;
  if (sliced)
    draft = draftSlicedProduct(*sliced, *context, reason);
  if (!draft) {
    if (!reason.empty())
      refuse(product, "only slices of it are used, but " + reason);
    return;
  }
  unsigned count = draft->numProducts;
  Candidate candidate{
      product, std::move(*draft),
      "reduced to " + std::to_string(count) +
          (count == 1 ? " product that computes only the slice that is used"
                      : " products that compute only the slices that are "
                        "used")};
  std::string objection = findObjection({&candidate});
  if (objection.empty())
    return apply({&candidate});
  refuse(product, objection);
}

void SplitLinearPass::visitJoin(tp::ConcatOp concat) {
  std::string reason;
  std::optional<analysis::JoinedProducts> joined =
      findJoinedProducts(concat, *context, reason);
  if (!joined) {
    if (!reason.empty())
      refuse(concat, reason);
    return;
  }
  unsigned count = 0;
  for (const analysis::JoinedRun &run : joined->runs)
    count += run.products.size();
  Candidate candidate{concat, draftJoinedProducts(*joined, *context),
                      "its " + std::to_string(count) +
                          " products merged into " +
                          std::to_string(joined->runs.size()) +
                          " by concatenating their operands"};
  std::string objection = findObjection({&candidate});
  if (objection.empty())
    return apply({&candidate});
  refuse(concat, objection);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

bool SplitLinearPass::sweep() {
  context = std::make_shared<ProductContext>(getOperation());
  refusals.clear();
  erased.clear();
  hasChanged = false;
  SmallVector<Operation *> anchors;
  for (Operation &op : getOperation().getBody().front())
    if (isa<tp::ConcatOp, tp::MatmulOp, tp::AllGatherOp, tp::WaitOp>(op))
      anchors.push_back(&op);
  for (Operation *op : anchors) {
    if (erased.contains(op))
      continue;
    if (auto concat = dyn_cast<tp::ConcatOp>(op)) {
      visitParts(concat, concat.getDim());
      if (policy != "upstream" && !erased.contains(op))
        visitJoin(concat);
    } else if (auto product = dyn_cast<tp::MatmulOp>(op)) {
      if (policy != "upstream")
        visitSlices(product);
    } else if (policy != "upstream") {
      auto gather = dyn_cast<tp::AllGatherOp>(op);
      if (!gather)
        gather = op->getOperand(0).getDefiningOp<tp::AllGatherOp>();
      if (gather && gather.getAsync() == isa<tp::WaitOp>(op))
        visitParts(op, gather.getGatherAxis());
    }
  }
  return hasChanged;
}

void SplitLinearPass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (policy != "always" && policy != "profitable" && policy != "upstream") {
    function.emitError("split-linear: unknown policy '" + policy +
                       "'; expected always, profitable or upstream");
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock())
    return;
  llvm::Expected<std::unique_ptr<PassPrices>> loaded =
      PassPrices::load(targetName, function);
  if (!loaded) {
    function.emitError(llvm::toString(loaded.takeError()));
    return signalPassFailure();
  }
  prices = std::move(*loaded);
  // A rewrite may enable another one, to the depth to which concatenations are
  // nested.
  constexpr unsigned maxSweeps = 64;
  // Sharing equal views reduces the number of users of their operands.
  for (unsigned count = 0; count < maxSweeps && sweep(); ++count)
    if (!context->getWriteOrder().hasWriters())
      shareViews(function.getBody().front());
  for (Operation &op : function.getBody().front()) {
    auto refusal = refusals.find(&op);
    if (refusal == refusals.end())
      continue;
    ++numRefused;
    remark::missed(op.getLoc(), getRemark("whole")) << remark::add(
        isa<tp::ConcatOp>(op) ? "products not merged: {0}" : "not split: {0}",
        refusal->second);
  }
  refusals.clear();
  context.reset();
  prices.reset();
}
