//===- PositionMoves.cpp - positions at other indices -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PositionFinder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

PositionForm PositionFinder::evaluateReshape(tp::ReshapeOp op) {
  auto before = getType(op.getInput()), after = getType(op.getResult());
  const PositionForm &own = get(op.getInput());
  PositionForm form = own;
  form.varies.reset();
  form.varies.resize(after.getRank());
  for (AffinePosition &candidate : form.candidates)
    candidate.coefficients.assign(after.getRank(), 0);
  // Dims of both sides with equal products.
  int64_t i = 0, j = 0;
  while (i < before.getRank() || j < after.getRank()) {
    int64_t firstI = i, firstJ = j, a = 1, b = 1;
    if (i < before.getRank())
      a = before.getDimSize(i++);
    if (j < after.getRank())
      b = after.getDimSize(j++);
    while (a != b && (a < b ? i < before.getRank() : j < after.getRank()))
      (a < b ? a : b) *= a < b ? before.getDimSize(i++) : after.getDimSize(j++);
    if (a != b)
      return derive(op);
    bool varies = false;
    for (int64_t dim = firstI; dim < i; ++dim)
      varies |= own.varies[dim];
    if (!varies)
      continue;
    for (int64_t dim = firstJ; dim < j; ++dim)
      if (after.getDimSize(dim) > 1)
        form.varies.set(dim);
    for (auto [candidate, from] :
         llvm::zip_equal(form.candidates, own.candidates)) {
      // The merged index has one coefficient: that of the minor dim. The
      // coefficients of all other dims must be consistent with it.
      std::optional<int64_t> merged;
      int64_t minor = 1;
      for (int64_t dim = i; dim-- > firstI;) {
        int64_t size = before.getDimSize(dim);
        if (size == 1)
          continue;
        if (!merged)
          merged = from.coefficients[dim];
        else if (from.coefficients[dim] != *merged * minor)
          return derive(op);
        minor *= size;
      }
      int64_t stride = merged.value_or(0);
      for (int64_t dim = j; dim-- > firstJ;) {
        candidate.coefficients[dim] = stride;
        stride *= after.getDimSize(dim);
      }
    }
  }
  return form;
}

std::optional<InputFunction> PositionFinder::getPaddedInput(tp::ConcatOp op) {
  std::optional<InputFunction> input;
  for (Value part : op.getInputs()) {
    const PositionForm &own = get(part);
    bool isNumber = !own.hasUnknown && !own.hasDerived;
    if (isNumber)
      continue;
    if (!own.input || !own.input->isShift() || own.input->offset != 0 ||
        (input && input->argument != own.input->argument))
      return std::nullopt;
    input = own.input;
  }
  return input;
}

PositionForm PositionFinder::evaluateConcat(tp::ConcatOp op) {
  unsigned dim = op.getDim();
  std::optional<PositionForm> result;
  int64_t start = 0;
  for (Value input : op.getInputs()) {
    PositionForm own = get(input);
    for (AffinePosition &candidate : own.candidates)
      candidate.constant -= candidate.coefficients[dim] * start;
    result = result ? unite(*result, own) : own;
    start += getType(input).getDimSize(dim);
  }
  if (result->candidates.size() > maxCandidates)
    return derive(op);
  if (result->candidates.size() > 1)
    result->varies.set(dim);
  result->input = getPaddedInput(op);
  return *result;
}

void PositionFinder::visitIndexing(tp::IndexingOpInterface op) {
  Value indexed = op.getIndexed(), indices = op.getIndexValues();
  unsigned dim = op.getIndexedDim();
  int64_t size = getType(indexed).getDimSize(dim);
  bool wraps = op.wrapsNegativeIndices();
  const PositionForm own = get(indices);
  if (own.input)
    listener.onBound(*own.input, indexed, dim, wraps ? -size : 0);
  if (own.hasUnknown && !(own.input && own.input->isShift()))
    listener.onMetByUnknown(indexed, dim);
  if (own.hasUnknown || own.hasDerived)
    return;
  ArrayRef<int64_t> sizes = getType(indices).getShape();
  for (const AffinePosition &candidate : own.candidates) {
    SmallVector<unsigned> terms;
    for (auto [index, k] : llvm::enumerate(candidate.coefficients))
      if (k != 0 && sizes[index] > 1)
        terms.push_back(index);
    auto range = candidate.getRange(sizes);
    if (terms.size() > 1 || !range) {
      for (unsigned index : terms)
        listener.onUnknownUse(indices, index);
      continue;
    }
    auto report = [&](int64_t start) {
      if (terms.empty())
        listener.onSingle(indexed, dim, start);
      else
        listener.onIndexed(indexed, dim, indices, terms[0], start,
                           candidate.coefficients[terms[0]]);
    };
    // Another candidate may apply where this one is out of range, so both sides
    // of zero are possible.
    if (!wraps || range->second >= 0)
      report(candidate.constant);
    if (wraps && range->first < 0)
      report(candidate.constant + size);
  }
}

PositionForm PositionFinder::evaluateTake(tp::TakeOp op) {
  // For a table of integers, compose its contents with the indices if both are
  // simple.
  unsigned dim = op.getDim();
  const PositionForm own = get(op.getIndices());
  const PositionForm table = get(op.getTable());
  PositionForm form = getUnknown(op.getResult());
  for (unsigned index : table.varies.set_bits())
    if (index != dim)
      form.varies.set(
          index < dim ? index : index + getType(op.getIndices()).getRank() - 1);
  for (unsigned index : own.varies.set_bits())
    form.varies.set(dim + index);
  bool isPositional = table.varies.any() || own.varies.any();
  if (isPositional && !table.hasUnknown)
    return derive(op);
  if (isPositional)
    keepVarying(op.getIndices(), own);
  return form;
}

PositionForm PositionFinder::moveDims(Operation *op) {
  return TypeSwitch<Operation *, PositionForm>(op)
      .Case([&](tp::ReshapeOp reshape) { return evaluateReshape(reshape); })
      .Case([&](tp::ConcatOp concat) { return evaluateConcat(concat); })
      .Case([&](tp::PermuteOp permute) {
        const PositionForm &own = get(permute.getInput());
        PositionForm form = own;
        for (auto [dim, from] : llvm::enumerate(permute.getPermutation())) {
          form.varies[dim] = own.varies[from];
          for (auto [candidate, before] :
               llvm::zip_equal(form.candidates, own.candidates))
            candidate.coefficients[dim] = before.coefficients[from];
        }
        return form;
      })
      .Case([&](tp::SliceOp slice) {
        PositionForm form = get(slice.getInput());
        unsigned dim = slice.getDim();
        int64_t size = getType(slice.getResult()).getDimSize(dim);
        int64_t start = slice.getStart() * (slice.getBlocks() ? size : 1);
        for (AffinePosition &candidate : form.candidates) {
          candidate.constant += candidate.coefficients[dim] * start;
          candidate.coefficients[dim] *= slice.getStep();
        }
        return form;
      })
      .Case([&](tp::BroadcastOp repeated) {
        return broadcast(repeated.getInput(), getType(repeated.getResult()));
      })
      .Case<tp::CopyOp, tp::WaitOp, tp::RegionMarkerOp>(
          [&](auto same) { return get(same->getOperand(0)); })
      .Case([&](tp::RankSliceOp slice) {
        const PositionForm &own = get(slice.getInput());
        unsigned dim = slice.getSliceAxis();
        int64_t size = getType(slice.getResult()).getDimSize(dim);
        PositionForm form = own;
        form.candidates.clear();
        for (const AffinePosition &candidate : own.candidates)
          for (int64_t rank = 0; rank < slice.getGroup().getSize() &&
                                 form.candidates.size() <= maxCandidates;
               ++rank) {
            AffinePosition block = candidate;
            block.constant += candidate.coefficients[dim] * size * rank;
            if (!llvm::is_contained(form.candidates, block))
              form.candidates.push_back(std::move(block));
          }
        return form.candidates.size() > maxCandidates ? derive(op) : form;
      })
      .Case([&](tp::AllGatherOp gather) {
        const PositionForm &own = get(gather.getInput());
        unsigned dim = gather.getGatherAxis();
        int64_t size = getType(gather.getInput()).getDimSize(dim);
        PositionForm form = own;
        form.candidates.clear();
        for (const AffinePosition &candidate : own.candidates)
          for (int64_t rank = 0; rank < gather.getGroup().getSize() &&
                                 form.candidates.size() <= maxCandidates;
               ++rank) {
            AffinePosition block = candidate;
            block.constant -= candidate.coefficients[dim] * size * rank;
            if (!llvm::is_contained(form.candidates, block))
              form.candidates.push_back(std::move(block));
          }
        return form.candidates.size() > maxCandidates ? derive(op) : form;
      })
      .Case([&](tp::RankSelectOp select) {
        PositionForm form = get(select.getValues().front());
        for (Value value : select.getValues().drop_front())
          form = unite(form, get(value));
        return form.candidates.size() > maxCandidates ? derive(op) : form;
      })
      .Case([&](tp::CollectiveBroadcastOp same) {
        return get(same->getOperand(0));
      })
      .Default([&](Operation *) { return derive(op); });
}
