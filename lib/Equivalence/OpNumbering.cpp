//===- OpNumbering.cpp - equal ops have equal numbers -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OpNumbering.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

/// Returns true for attributes that say how a program spells an op, and not
/// what the op computes.
static bool isSpelling(StringRef attribute) {
  constexpr StringLiteral partOfOperator = "tp.inner";
  return attribute == tp::TPDialect::namesAttrName ||
         attribute == tp::TPDialect::targetAttrName ||
         attribute == tp::writtenNameAttrName || attribute == partOfOperator;
}

/// Calls `visit` with the attributes that are not properties of the op, except
/// for its spelling.
template <typename Visitor>
static void forEachDiscardable(Operation *op, Visitor visit) {
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!isSpelling(attribute.getName()))
      visit(attribute);
}

size_t OpNumbering::FunctionHash::operator()(Operation *op) const {
  llvm::hash_code hash =
      llvm::hash_combine(op->getName(), op->hashProperties(),
                         llvm::hash_combine_range(op->getResultTypes()));
  forEachDiscardable(op, [&](NamedAttribute attribute) {
    hash = llvm::hash_combine(hash, attribute.getName(), attribute.getValue());
  });
  return hash;
}

bool OpNumbering::FunctionEqual::operator()(Operation *a, Operation *b) const {
  if (a->getName() != b->getName() ||
      a->getResultTypes() != b->getResultTypes() ||
      !a->getName().compareOpProperties(a->getPropertiesStorage(),
                                        b->getPropertiesStorage()))
    return false;
  auto collect = [](Operation *op) {
    SmallVector<NamedAttribute, 2> attributes;
    forEachDiscardable(
        op, [&](NamedAttribute attribute) { attributes.push_back(attribute); });
    return attributes;
  };
  return collect(a) == collect(b);
}

size_t
OpNumbering::ApplicationHash::operator()(const Application &application) const {
  return llvm::hash_combine_range(application);
}

unsigned OpNumbering::getFunction(Operation *op) {
  return functions.try_emplace(op, functions.size()).first->second;
}

unsigned *OpNumbering::lookup(unsigned function, ArrayRef<unsigned> operands) {
  scratch.assign(1, function);
  llvm::append_range(scratch, operands);
  auto known = applications.find(scratch);
  return known == applications.end() ? nullptr : &known->second;
}

void OpNumbering::note(unsigned function, ArrayRef<unsigned> operands,
                       unsigned firstResult) {
  scratch.assign(1, function);
  llvm::append_range(scratch, operands);
  applications[scratch] = firstResult;
}

//===----------------------------------------------------------------------===//
// ValueNumbering
//===----------------------------------------------------------------------===//

ValueNumbers ValueNumbering::number(func::FuncOp function) {
  ValueNumbers known;
  for (BlockArgument argument : function.getArguments())
    known[argument] = argument.getArgNumber();
  next = std::max(next, function.getNumArguments());
  unsigned numEffects = 0;
  for (Operation &op : function.getBody().front()) {
    SmallVector<unsigned, 4> operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    // Two calls of an operator with effects are two values.
    if (!isMemoryEffectFree(&op))
      operands.push_back(numEffects++);
    unsigned kind = ops.getFunction(&op);
    unsigned first = next;
    if (unsigned *same = ops.lookup(kind, operands)) {
      first = *same;
    } else {
      ops.note(kind, operands, first);
      next += op.getNumResults();
    }
    for (auto [index, result] : llvm::enumerate(op.getResults()))
      known[result] = first + index;
  }
  return known;
}
