//===- StrideAnalysis.cpp - the memory layout of values ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Sizes/StrideAnalysis.h"

#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

StrideAnalysis::StrideAnalysis(FunctionOpInterface function)
    : symbols(function.getContext()) {
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      entries[argument] = {symbols.getShape(type), Source::Stated};
  for (Block &block : function.getFunctionBody())
    for (Operation &op : block)
      add(&op);
}

/// Whether two lists of strides say the same of a tensor of these sizes: the
/// stride of a dim of size 1, or of a tensor without elements, means nothing.
static bool areEquivalent(ArrayRef<tp::Size> sizes, ArrayRef<tp::Size> lhs,
                          ArrayRef<tp::Size> rhs) {
  if (llvm::any_of(
          sizes, [](const tp::Size &size) { return tp::isConstant(size, 0); }))
    return true;
  for (auto [size, a, b] : llvm::zip_equal(sizes, lhs, rhs))
    if (a != b && !tp::isConstant(size, 1))
      return false;
  return true;
}

void StrideAnalysis::add(Operation *op) {
  auto strideOp = dyn_cast<tp::StrideOpInterface>(op);
  SmallVector<tp::StridedShape, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getShape(operand));
  for (OpResult result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    tp::StridedShape stated = symbols.getShape(type);
    tp::Strides inferred;
    if (strideOp)
      inferred = strideOp.inferStrides(result.getResultNumber(), operands,
                                       stated.sizes);
    Entry entry{stated, Source::Recorded};
    if (inferred) {
      // A type without strides does not contradict the inferred ones.
      bool agrees = !stated.strides ||
                    areEquivalent(stated.sizes, *inferred, *stated.strides);
      entry.source = agrees ? Source::Inferred : Source::Contradicted;
      entry.shape.strides = agrees ? inferred : std::nullopt;
    }
    entries[result] = std::move(entry);
  }
}

const tp::StridedShape &StrideAnalysis::getShape(Value value) const {
  static const tp::StridedShape none;
  auto entry = entries.find(value);
  return entry == entries.end() ? none : entry->second.shape;
}

LayoutFact StrideAnalysis::getLayout(Value value) const {
  auto found = entries.find(value);
  if (found == entries.end())
    return {tp::Density::Unknown, "its layout is unknown"};
  const Entry &entry = found->second;
  LayoutFact fact{tp::getDensity(entry.shape), ""};
  auto printStrides = [&] {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << '[';
    llvm::interleaveComma(*entry.shape.strides, os,
                          [&](const tp::Size &stride) {
                            tp::printSize(os, stride, symbols.getNames());
                          });
    os << ']';
    return text;
  };
  switch (fact.density) {
  case tp::Density::Dense:
    fact.reason = entry.source == Source::Stated
                      ? "the graph declares it as a dense input"
                  : entry.source == Source::Recorded
                      ? "PyTorch recorded it as dense"
                      : "its strides follow from the ops that compute it";
    break;
  case tp::Density::Strided:
    fact.reason = "its strides are " + printStrides();
    break;
  case tp::Density::Unknown:
    if (entry.source == Source::Contradicted)
      fact.reason =
          "the recorded strides contradict those inferred from the op";
    else if (!entry.shape.strides)
      fact.reason = "its strides are not known";
    else
      fact.reason =
          "whether strides " + printStrides() + " are dense depends on symbols";
    break;
  }
  return fact;
}
