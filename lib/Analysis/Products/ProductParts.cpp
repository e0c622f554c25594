//===- ProductParts.cpp - dims that are made of parts -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/DimOrigin.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::DimensionRule;

/// The most users that are visited; bounds the cost per op.
static constexpr unsigned maxReaders = 256;

std::optional<unsigned>
analysis::getOnlyFactor(const DimensionRule::TensorFactors &tensor,
                        unsigned dim) {
  if (dim >= tensor.size() || tensor[dim].size() != 1)
    return std::nullopt;
  return tensor[dim].front();
}

std::optional<unsigned>
analysis::findDimOfFactor(const DimensionRule::TensorFactors &tensor,
                          unsigned factor) {
  for (unsigned dim = 0; dim < tensor.size(); ++dim)
    if (getOnlyFactor(tensor, dim) == factor)
      return dim;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// The rule of an op that may be a step.
static std::optional<DimensionRule> getStepRule(Operation *op) {
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled || op->getNumOperands() != 1 || op->getNumResults() != 1 ||
      !isMemoryEffectFree(op) ||
      isa<tp::CollectiveOpInterface, tp::CompletionOpInterface,
          tp::RepetitionOpInterface, tp::CallOp>(op))
    return std::nullopt;
  return ruled.getDimensionRule();
}

static std::optional<unsigned>
passThrough(const DimensionRule &rule, const DimensionRule::TensorFactors &from,
            unsigned dim, const DimensionRule::TensorFactors &to) {
  std::optional<unsigned> factor = getOnlyFactor(from, dim);
  if (!factor || rule.factors[*factor].kind != tp::Factor::Kind::Parallel)
    return std::nullopt;
  return findDimOfFactor(to, *factor);
}

std::optional<DimStep> analysis::findStepFrom(Operation *op,
                                              unsigned operandDim) {
  std::optional<DimensionRule> rule = getStepRule(op);
  if (!rule)
    return std::nullopt;
  std::optional<unsigned> dim =
      passThrough(*rule, rule->operands[0], operandDim, rule->results[0]);
  return dim ? std::optional(DimStep{op, operandDim, *dim}) : std::nullopt;
}

std::optional<DimStep> analysis::findStepTo(Operation *op, unsigned resultDim) {
  std::optional<DimensionRule> rule = getStepRule(op);
  if (!rule)
    return std::nullopt;
  std::optional<unsigned> dim =
      passThrough(*rule, rule->results[0], resultDim, rule->operands[0]);
  return dim ? std::optional(DimStep{op, *dim, resultDim}) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

tp::AllGatherOp analysis::findGatherAlong(Value value, unsigned dim) {
  Operation *op = value.getDefiningOp();
  if (auto completion = dyn_cast_if_present<tp::CompletionOpInterface>(op))
    op = completion.getBegun().getDefiningOp();
  auto gather = dyn_cast_if_present<tp::AllGatherOp>(op);
  bool isReadable =
      gather && (gather.getAsync() != (op == value.getDefiningOp()));
  return isReadable && gather.getGatherAxis() == dim ? gather
                                                     : tp::AllGatherOp();
}

std::optional<DimParts> analysis::findDimParts(Value value, unsigned dim) {
  std::optional<DimOrigin> origin =
      findDimOrigin(value, dim, [](Value joined, unsigned along) {
        auto concat = joined.getDefiningOp<tp::ConcatOp>();
        return (concat && concat.getDim() == along) ||
               findGatherAlong(joined, along);
      });
  if (!origin)
    return std::nullopt;
  DimParts found;
  if (auto concat = origin->value.getDefiningOp<tp::ConcatOp>())
    found.parts.assign(concat.getInputs().begin(), concat.getInputs().end());
  else
    found.parts.push_back(origin->value);
  found.dim = origin->dim;
  found.source = origin->value.getDefiningOp();
  found.steps = std::move(origin->steps);
  return found;
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

namespace {
class ReaderSearch {
public:
  void visit(Value value, unsigned dim, unsigned depth);
  DimReaders readers;
  bool isTooMuch = false;

private:
  void visitUser(Operation *user, Value value, unsigned dim, unsigned depth);
  llvm::SmallPtrSet<Operation *, 8> seen;
  /// The reader of the value itself that is being followed.
  Operation *first = nullptr;
};
} // namespace

void ReaderSearch::visitUser(Operation *user, Value value, unsigned dim,
                             unsigned depth) {
  if (!seen.insert(user).second)
    return;
  isTooMuch |= seen.size() > maxReaders;
  if (isTooMuch)
    return;
  if (auto product = dyn_cast<tp::MatmulOp>(user)) {
    DimensionRule rule = product.getDimensionRule();
    for (OpOperand &operand : product->getOpOperands()) {
      if (operand.get() != value)
        continue;
      if (std::optional<unsigned> factor =
              getOnlyFactor(rule.operands[operand.getOperandNumber()], dim)) {
        readers.products.push_back({product, *factor});
        return;
      }
    }
    readers.others.push_back(first);
    return;
  }
  auto slice = dyn_cast<tp::SliceOp>(user);
  if (slice && slice.getDim() == dim) {
    readers.slices.push_back(slice);
    return;
  }
  std::optional<DimStep> step = findStepFrom(user, dim);
  if (step && depth < maxDimSteps)
    return visit(user->getResult(0), step->resultDim, depth + 1);
  readers.others.push_back(first);
}

void ReaderSearch::visit(Value value, unsigned dim, unsigned depth) {
  for (Operation *user : value.getUsers()) {
    if (depth == 0)
      first = user;
    visitUser(user, value, dim, depth);
  }
}

DimReaders analysis::findDimReaders(Value value, unsigned dim) {
  ReaderSearch search;
  search.visit(value, dim, 0);
  // Return nothing rather than an arbitrary subset.
  if (search.isTooMuch)
    return {};
  return std::move(search.readers);
}

//===----------------------------------------------------------------------===//
// Context
//===----------------------------------------------------------------------===//

WriteOrder::WriteOrder(func::FuncOp function) {
  unsigned count = 0;
  for (auto [position, op] :
       llvm::enumerate(function.getBody().front().getOperations())) {
    numWriters[&op] = count;
    positions[&op] = {position, ~0u};
    auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
    count += dense && dense.writesIntoOperands();
  }
}

void WriteOrder::addInFront(Operation *op, Operation *other) {
  numWriters[op] = numWriters.lookup(other);
  positions[op] = {positions.lookup(other).first, numAdded++};
  added.insert(op);
}

ProductContext::ProductContext(func::FuncOp function)
    : function(function), symbols(function.getContext()), writeOrder(function),
      rankSpecific(function->getParentOfType<ModuleOp>()->hasAttr(
          tp::TPDialect::rankSpecificAttrName)) {}

bool ProductContext::isReplicated(Value value, tp::GroupAttr group) {
  if (!isAnalyzed) {
    isAnalyzed = true;
    llvm::Expected<PlacementAnalysis> result = PlacementAnalysis::run(function);
    if (result)
      placements = std::move(*result);
    else
      llvm::consumeError(result.takeError());
  }
  // A new op may have the address of an erased one.
  Operation *definition = value.getDefiningOp();
  if (definition && writeOrder.isNew(definition))
    return false;
  return placements && placements->getPlacement(value, group).getKind() ==
                           tp::PlacementKind::Replicated;
}
