//===- OpDraft.cpp - ops that are not yet in a program ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OpDraft.h"

using namespace mlir;
using namespace commute;
using tp::getTensor;

void OpDraft::clear() {
  // Destroy users before the ops they use.
  for (Operation *op : llvm::reverse(ops))
    op->destroy();
  ops.clear();
}

OpDraft::~OpDraft() { clear(); }

OpDraft &OpDraft::operator=(OpDraft &&other) {
  clear();
  builder = other.builder;
  symbols = std::move(other.symbols);
  ops = std::move(other.ops);
  return *this;
}

tp::Sizes OpDraft::getSizes(Value value) {
  return symbols.getSizes(getTensor(value));
}

Value OpDraft::addLike(Operation *op, Value operand, const tp::Sizes &sizes) {
  Operation *copy = op->clone();
  // The attributes identify the node of the original op; the copy has none.
  copy->setDiscardableAttrs(DictionaryAttr::get(builder.getContext()));
  copy->setOperands(operand);
  ops.push_back(copy);
  tp::ResultShape stated{getTensor(op->getResult(0)).getElementType(), sizes};
  SmallVector<Type> types;
  LogicalResult inferred =
      cast<tp::ResultTypeOpInterface>(copy).inferResultTypes(symbols, stated,
                                                             types);
  assert(succeeded(inferred) && "the op applies to values of other sizes");
  (void)inferred;
  copy->getResult(0).setType(types.front());
  return copy->getResult(0);
}

Value OpDraft::reshape(Value value, const tp::Sizes &sizes, Location location) {
  if (getSizes(value) == sizes)
    return value;
  // If the value is a reshape of a dense value of these sizes, use that value.
  auto reshaped = value.getDefiningOp<tp::ReshapeOp>();
  if (reshaped && reshaped->getBlock() &&
      tp::isStaticDense(reshaped.getInput().getType()) &&
      getSizes(reshaped.getInput()) == sizes)
    return reshaped.getInput();
  return add<tp::ReshapeOp>(location, value, symbols, sizes);
}

Value OpDraft::transpose(Value matrix, Location location) {
  int64_t rank = getTensor(matrix).getRank();
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return add<tp::PermuteOp>(location, matrix, permutation);
}

Value OpDraft::convert(Value value, RankedTensorType type, Location location) {
  value = reshape(value, symbols.getSizes(type), location);
  if (value.getType() == type)
    return value;
  return add<tp::CopyOp>(location, value, /*preserve_strides=*/false);
}

std::optional<double>
OpDraft::getSeconds(const target::PriceModel &price) const {
  double total = 0;
  for (Operation *op : ops) {
    std::optional<double> seconds = price.getSeconds(op);
    if (!seconds)
      return std::nullopt;
    total += *seconds;
  }
  return total;
}

void OpDraft::insertBefore(Operation *position) {
  for (Operation *op : ops)
    position->getBlock()->getOperations().insert(position->getIterator(), op);
  ops.clear();
}

void OpDraft::insertAfter(Value value) {
  insertBefore(value.getDefiningOp()->getNextNode());
}
