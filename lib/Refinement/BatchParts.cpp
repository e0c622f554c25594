//===- BatchParts.cpp - what ranks compute of parts of a batch ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "BatchParts.h"

#include <map>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldAlgebra;
using equivalence::share;

/// Batches have fewer parts.
static constexpr int64_t mostParts = 64;

FieldValue BatchParts::getPart(const FieldValue &whole, int64_t dim,
                               int64_t count, int64_t part) {
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  int64_t size = whole->getSizes()[dim] / count;
  FieldValue own = share(algebra.slice(whole, dim, part * size, 1, size));
  return relations.getEvaluation().clearProblem() ? nullptr : own;
}

/// Returns the dim along which a tensor may be one of several parts of another.
static std::optional<int64_t> findDim(const FieldValue &whole,
                                      const FieldValue &part) {
  if (whole->getRank() != part->getRank() ||
      whole->getElementType() != part->getElementType())
    return std::nullopt;
  std::optional<int64_t> found;
  for (int64_t dim = 0; dim < whole->getRank(); ++dim) {
    int64_t all = whole->getSizes()[dim], own = part->getSizes()[dim];
    if (all == own)
      continue;
    if (found || own == 0 || all % own != 0 || all / own > mostParts)
      return std::nullopt;
    found = dim;
  }
  return found;
}

std::map<int64_t, BatchParts::Inputs> BatchParts::findInputs() {
  // By input, dim and number of parts, the parts by their hashes.
  using Key = std::tuple<size_t, int64_t, int64_t>;
  std::map<Key, llvm::DenseMap<uint64_t, int64_t>> partsOf;
  std::map<std::pair<Key, size_t>, std::set<int64_t>> held;
  SmallVector<size_t> inputs;
  for (size_t index = 0; index < relations.getCount(); ++index)
    if (isa<BlockArgument>(relations.getValue(index)))
      inputs.push_back(index);
  llvm::DenseSet<const RankValues::Node *> moved;
  auto visit = [&](const RankValues::Node &node, size_t rank) {
    const FieldValue &content = node.contents[rank];
    for (size_t input : inputs) {
      FieldValue whole = relations.getContent(input);
      std::optional<int64_t> dim = findDim(whole, content);
      if (!dim)
        continue;
      int64_t count = whole->getSizes()[*dim] / content->getSizes()[*dim];
      Key key = {input, *dim, count};
      auto [parts, isNew] = partsOf.try_emplace(key);
      for (int64_t part = 0; isNew && part < count; ++part)
        if (FieldValue own = getPart(whole, *dim, count, part))
          parts->second.try_emplace(equivalence::getContentHash(own), part);
      auto found = parts->second.find(equivalence::getContentHash(content));
      if (found == parts->second.end())
        continue;
      held[{key, rank}].insert(found->second);
      return;
    }
  };
  for (const RankValues::Node &node : values.getNodes()) {
    bool isMoved =
        !node.getOp() || (isa<tp::ReindexOpInterface>(node.getOp()) &&
                          llvm::all_of(node.operands, [&](const auto *operand) {
                            return moved.contains(operand);
                          }));
    if (!isMoved)
      continue;
    moved.insert(&node);
    for (size_t rank = 0; rank < node.contents.size(); ++rank)
      if (node.getOp() && node.contents[rank] &&
          llvm::any_of(node.operands, [&](const RankValues::Node *operand) {
            const FieldValue &whole = operand->contents[rank];
            return whole && findDim(whole, node.contents[rank]);
          }))
        visit(node, rank);
  }
  // One part alone is the rank's shard, and not a micro-batch.
  std::map<int64_t, Inputs> found;
  for (const auto &[own, parts] : held) {
    auto [input, dim, count] = own.first;
    auto argument = cast<BlockArgument>(relations.getValue(input));
    if (parts.size() > 1)
      found[count].try_emplace(argument.getArgNumber(), dim);
  }
  return found;
}

void BatchParts::evaluate() {
  isEvaluated = true;
  if (relations.getCount() == 0)
    return;
  std::map<int64_t, Inputs> found = findInputs();
  // The reference is evaluated for each part: deep programs of many parts take
  // too long.
  constexpr size_t mostValues = 20000;
  size_t total = 0;
  for (const auto &[count, inputs] : found) {
    total += relations.getCount() * count;
    if (total > mostValues)
      break;
    counts.push_back(count);
    for (int64_t part = 0; part < count; ++part)
      evaluate(count, part, inputs);
  }
  elements.addConstants(recognized.getKnown());
  elements.sort();
}

void BatchParts::evaluate(int64_t count, int64_t part, const Inputs &inputs) {
  llvm::DenseMap<mlir::Value, FieldValue> changed;
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  size_t number = 0;
  auto add = [&](const FieldValue &content) {
    elements.add(content, sources.size(), /*isConstant=*/false);
    sources.push_back({number++, count, part});
  };
  for (size_t index = 0; index < relations.getCount(); ++index) {
    mlir::Value value = relations.getValue(index);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto dim = inputs.find(argument.getArgNumber());
      if (dim == inputs.end())
        continue;
      FieldValue own =
          getPart(relations.getContent(index), dim->second, count, part);
      SmallVector<tp::AlgebraValue> copies(count, own);
      FieldValue batch =
          own ? share(algebra.concat(copies, dim->second)) : nullptr;
      if (relations.getEvaluation().clearProblem())
        batch = nullptr;
      changed[value] = batch;
      add(batch);
      continue;
    }
    auto result = cast<OpResult>(value);
    Operation *op = result.getOwner();
    if (result.getResultNumber() != 0 ||
        llvm::none_of(op->getOperands(), [&](mlir::Value operand) {
          return changed.contains(operand);
        }))
      continue;
    SmallVector<FieldValue> operands;
    for (mlir::Value operand : op->getOperands()) {
      auto own = changed.find(operand);
      operands.push_back(own == changed.end()
                             ? relations.getEvaluation().get(operand)
                             : own->second);
    }
    std::vector<FieldValue> steps;
    std::vector<FieldValue> results =
        relations.getEvaluation().evaluate(op, operands, &steps);
    results.resize(op->getNumResults());
    for (auto [own, content] : llvm::zip_equal(op->getResults(), results)) {
      changed[own] = content;
      add(content);
    }
    for (const FieldValue &step : steps)
      add(step);
  }
}

std::optional<BatchParts::Value>
BatchParts::findAlone(const FieldValue &content) {
  if (!hasRandomElements(content))
    return std::nullopt;
  auto findScaled = [&](int64_t numerator,
                        int64_t denominator) -> std::optional<Value> {
    // What it is a multiple of.
    FieldValue own = relations.scale(content, denominator, numerator);
    std::optional<KnownElements::Block> block =
        elements.findBlock(own, std::nullopt);
    if (!block)
      return std::nullopt;
    const Source &source = sources[elements.get(block->tensor).second];
    if (source.count % std::max(numerator, denominator) != 0)
      return std::nullopt;
    return Value{source.number, block->offsets, source.count,
                 numerator,     denominator,    {source.part}};
  };
  if (auto found = findScaled(1, 1))
    return found;
  std::set<int64_t> factors;
  for (int64_t count : counts)
    for (int64_t factor = 2; factor <= count; ++factor)
      if (count % factor == 0)
        factors.insert(factor);
  for (int64_t factor : factors) {
    if (auto found = findScaled(1, factor))
      return found;
    if (auto found = findScaled(factor, 1))
      return found;
  }
  return std::nullopt;
}

std::optional<BatchParts::Value> BatchParts::findSum(const Step &step) {
  auto map = dyn_cast_if_present<tp::MapOp>(step.getOp());
  if (!map || map.getFunction() != tp::MapFunction::Add ||
      step.operands.size() != 2)
    return std::nullopt;
  auto first = known.find(step.operands[0]),
       second = known.find(step.operands[1]);
  if (first == known.end() || second == known.end() || !first->second ||
      !second->second)
    return std::nullopt;
  const Value &a = *first->second, &b = *second->second;
  if (a.number != b.number || a.offsets != b.offsets || a.count != b.count ||
      a.numerator != b.numerator || a.denominator != b.denominator ||
      llvm::any_of(a.parts, [&](int64_t part) {
        return llvm::is_contained(b.parts, part);
      }))
    return std::nullopt;
  Value sum = a;
  llvm::append_range(sum.parts, b.parts);
  return sum;
}

const std::optional<BatchParts::Value> &BatchParts::find(const Step &step) {
  if (!isEvaluated)
    evaluate();
  // The summands of sums first, of which there are no more than parts.
  SmallVector<const Step *> chain, work = {&step};
  while (!work.empty() && !sources.empty()) {
    const Step *own = work.pop_back_val();
    if (known.contains(own))
      continue;
    chain.push_back(own);
    auto map = dyn_cast_if_present<tp::MapOp>(own->getOp());
    if (map && map.getFunction() == tp::MapFunction::Add &&
        chain.size() < mostParts)
      work.append(own->operands.begin(), own->operands.end());
  }
  llvm::sort(chain, [](const Step *a, const Step *b) {
    return a->position < b->position;
  });
  for (const Step *own : chain) {
    std::optional<Value> found = findAlone(own->getContent());
    if (!found)
      found = findSum(*own);
    known[own] = std::move(found);
  }
  return known[&step];
}
