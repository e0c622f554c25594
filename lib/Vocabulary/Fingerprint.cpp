//===- Fingerprint.cpp - detection of changes since import ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Fingerprint.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

static llvm::hash_code hashOp(Operation *op, SmallVectorImpl<Value> &leaves) {
  llvm::hash_code hash = llvm::hash_combine(
      op->getName().getAsOpaquePointer(),
      op->getDiscardableAttrDictionary().getAsOpaquePointer(),
      op->getName().hashOpProperties(op->getPropertiesStorage()));
  for (Type type : op->getResultTypes())
    hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
  for (Value operand : op->getOperands()) {
    Operation *definition = operand.getDefiningOp();
    if (definition && definition->hasAttr(innerAttrName)) {
      hash = llvm::hash_combine(hash, cast<OpResult>(operand).getResultNumber(),
                                hashOp(definition, leaves));
      continue;
    }
    leaves.push_back(operand);
    // A node of an opaque op or a collective records only the names of its
    // operands. Replacing an operand by a dense copy is thus a mere renaming.
    if (!isa<tp::CallOp>(op) && !isa<tp::CollectiveOpInterface>(op))
      hash = llvm::hash_combine(hash, operand.getType().getAsOpaquePointer());
  }
  return hash;
}

Fingerprint commute::vocabulary::getFingerprint(Operation *op) {
  Fingerprint result;
  result.hash = static_cast<size_t>(hashOp(op, result.leaves));
  return result;
}
