//===- ValueDifferences.cpp - where values differ ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ValueDifferences.h"

#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Equivalence/ResolvedPrograms.h"

#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

void equivalence::record(Operation *op, ArrayRef<RankValues> results,
                         NamedValues &named) {
  auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
  if (!names)
    return;
  for (auto [name, values] : llvm::zip(names, results))
    if (auto text = dyn_cast<StringAttr>(name))
      named.insert({text, {values, op->getLoc()}});
}

/// Returns the index in the program at which two tensors differ, or nullopt for
/// equal tensors. If their samples do not match, the context has a problem.
static std::optional<std::string> findDifference(const FieldValue &a,
                                                 const FieldValue &b,
                                                 EvaluationContext &context) {
  if (a == b)
    return std::nullopt;
  if (a->getSizes() != b->getSizes())
    return "they have other sizes";
  FieldAlgebra algebra(/*rank=*/0, context);
  std::optional<std::pair<FieldValue, FieldValue>> both = algebra.align(a, b);
  if (!both)
    return std::nullopt;
  const FieldTensor &x = *both->first, &y = *both->second;
  for (size_t element = 0; element < x.elements.size(); ++element) {
    if (context.scalars.areAlike(x.elements[element], y.elements[element]))
      continue;
    SmallVector<int64_t> index(x.getRank());
    size_t position = element;
    for (size_t dim = x.getRank(); dim-- > 0;) {
      SampledDim own = x.getDims()[dim];
      auto count = static_cast<size_t>(own.getCount());
      index[dim] =
          own.isUniform
              ? 0
              : own.sample->getIndex(static_cast<int64_t>(position % count));
      position /= count;
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "at index [";
    llvm::interleaveComma(index, os);
    os << ']';
    return text;
  }
  return std::nullopt;
}

std::optional<std::string>
equivalence::describeDifference(const RankValues &a, const RankValues &b,
                                ArrayRef<int64_t> world,
                                EvaluationContext &context) {
  std::set<std::pair<const FieldTensor *, const FieldTensor *>> compared;
  for (auto [rank, x, y] : llvm::zip_equal(world, a, b)) {
    if (!compared.insert({x.get(), y.get()}).second)
      continue;
    if (std::optional<std::string> where = findDifference(x, y, context))
      return "on rank " + std::to_string(rank) + " " + *where;
  }
  return std::nullopt;
}

std::optional<Difference> equivalence::findFirstPartition(
    const NamedValues &first, const NamedValues &second,
    ArrayRef<int64_t> world, EvaluationContext &context) {
  for (const auto &[name, value] : first) {
    auto other = second.find(name);
    if (other == second.end() || value.values.front()->getSizes() !=
                                     other->second.values.front()->getSizes())
      continue;
    if (std::optional<std::string> where = describeDifference(
            value.values, other->second.values, world, context))
      return Difference{"the programs part at value '" + name.str() + "', " +
                            *where,
                        value.location,
                        other->second.location,
                        std::nullopt,
                        std::nullopt,
                        /*isPlace=*/true};
  }
  return std::nullopt;
}

void equivalence::recordReads(Operation *op, ArrayRef<RankValues> operands,
                              std::vector<OpaqueRead> &reads) {
  auto call = dyn_cast<tp::CallOp>(op);
  if (!call || !tp::mayHaveEffects(call))
    return;
  OpaqueRead &read = reads.emplace_back(OpaqueRead{call, {}});
  // Element types are compared by the static checks.
  if (tp::readsTypesAlone(call))
    return;
  for (auto [value, operand] : llvm::zip_equal(call.getOperands(), operands)) {
    std::optional<uint64_t> allocation = findAllocation(value);
    auto &hashes = read.contents.emplace_back();
    for (const FieldValue &own : operand)
      hashes.push_back(allocation ? *allocation
                       : own      ? getContentHash(own)
                                  : 0);
  }
}

/// Returns the first operand that differs.
static std::optional<Difference> compareReads(const OpaqueRead &a,
                                              const OpaqueRead &b,
                                              ArrayRef<int64_t> world) {
  tp::CallOp aCall = a.call, bCall = b.call;
  for (auto [index, x, y] : llvm::enumerate(a.contents, b.contents))
    for (auto [rank, p, q] : llvm::zip_equal(world, x, y))
      if (p != q)
        return Difference{("opaque op '" + aCall.getCallee() +
                           "' reads another operand " + Twine(index) +
                           " on rank " + Twine(rank))
                              .str(),
                          aCall.getLoc(), bCall.getLoc(), std::nullopt,
                          tp::hasKnownEffects(bCall)
                              ? std::nullopt
                              : std::optional(describeUndecided(bCall))};
  return std::nullopt;
}

std::vector<std::pair<size_t, Difference>>
equivalence::findOtherReads(ArrayRef<OpaqueRead> first,
                            ArrayRef<OpaqueRead> second,
                            ArrayRef<int64_t> world) {
  std::vector<std::pair<size_t, Difference>> differences;
  size_t count = std::min(first.size(), second.size());
  for (auto [position, a, b] :
       llvm::enumerate(first.take_front(count), second.take_front(count))) {
    // If there is another op in this place, the static checks report it.
    tp::CallOp aCall = a.call, bCall = b.call;
    if (aCall.getCallee() != bCall.getCallee() ||
        a.contents.size() != b.contents.size())
      break;
    if (std::optional<Difference> difference = compareReads(a, b, world))
      differences.push_back({position, std::move(*difference)});
  }
  return differences;
}
