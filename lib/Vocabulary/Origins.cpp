//===- Origins.cpp - which ops are nodes as they were read ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "Fingerprint.h"
#include "InPlace.h"

#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

/// The name of an op's first result; null where it has none.
static StringAttr getFirstName(Operation *op) {
  auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
  return names && !names.empty() ? dyn_cast<StringAttr>(names[0])
                                 : StringAttr();
}

Origins::Origins(func::FuncOp function, const ImportedProgram &imported,
                 const archive::Graph &graph)
    : imported(imported) {
  for (auto [index, node] : llvm::enumerate(graph.nodes))
    for (const RootRecord &root : imported.records[index].roots)
      (node.outputs.empty() ? effectRecords : records)
          .try_emplace(root.name, index, &root);
  for (Operation &op : function.getBody().front())
    if (StringAttr name = getFirstName(&op))
      opByName.try_emplace(name.getValue(), &op);
}

/// Whether an op is as it was when it was read.
static bool isUnchanged(Operation *op, const Fingerprint &now,
                        const RootRecord &root) {
  if (now.hash != root.fingerprint)
    return false;
  // An in-place form is written only where nobody sees that it writes.
  auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
  return isa<tp::CallOp>(op) || !dense ||
         llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return !dense.writesInto(operand) || mayWriteInto(operand);
         });
}

std::optional<Origin>
Origins::find(Operation *op,
              llvm::function_ref<bool(Value)> isAvailable) const {
  StringAttr name = getFirstName(op);
  if (!name)
    return std::nullopt;
  const RecordMap &known = op->getNumResults() > 0 ? records : effectRecords;
  auto found = known.find(name.getValue());
  if (found == known.end())
    return std::nullopt;
  auto [node, root] = found->second;
  Fingerprint now = getFingerprint(op);
  if (!isUnchanged(op, now, *root))
    return std::nullopt;
  ArrayRef<RootRecord> roots = imported.records[node].roots;
  if (roots.size() == 1 || !isa<tp::CollectiveOpInterface>(op))
    return Origin{node, {op}, root->leafNames, now.leaves};
  // Ranks communicate for all ops of a coalesced node or for none.
  Origin origin{node, {}, {}, {}};
  for (const RootRecord &part : roots) {
    Operation *other = opByName.lookup(part.name);
    // A copy of the op has its name as well.
    if (!other || (part.name == root->name && other != op))
      return std::nullopt;
    Fingerprint otherNow = getFingerprint(other);
    if (!isUnchanged(other, otherNow, part) ||
        !llvm::all_of(otherNow.leaves, isAvailable))
      return std::nullopt;
    origin.ops.push_back(other);
    llvm::append_range(origin.leafNames, part.leafNames);
    llvm::append_range(origin.leaves, otherNow.leaves);
  }
  return origin;
}
