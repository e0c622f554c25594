//===- Origins.cpp - nodes whose ops are unchanged --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "Fingerprint.h"
#include "InPlace.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

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

/// Returns true if an op is unchanged since import.
static bool isUnchanged(Operation *op, const Fingerprint &now,
                        const RootRecord &root) {
  if (now.hash != root.fingerprint)
    return false;
  // An in-place form is kept only if its write cannot be observed.
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
  // Ranks communicate once for all ops of a coalesced node, so keep all or
  // none.
  Origin origin{node, {}, {}, {}};
  for (const RootRecord &part : roots) {
    Operation *other = opByName.lookup(part.name);
    // A copy of the op carries the same name.
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

std::optional<ChangedNode>
Origins::findChanged(Operation *op,
                     llvm::function_ref<bool(Value)> isAvailable) const {
  StringAttr name = getFirstName(op);
  auto found = name ? records.find(name.getValue()) : records.end();
  if (found == records.end())
    return std::nullopt;
  ChangedNode changed;
  changed.node = found->second.first;
  for (const RootRecord &root : imported.records[changed.node].roots) {
    Operation *other = opByName.lookup(root.name);
    // A copy of the op carries the same name.
    if (!other || (root.name == name.getValue() && other != op) ||
        !isMemoryEffectFree(other) ||
        isa<tp::CallOp, tp::CollectiveOpInterface>(other))
      return std::nullopt;
    Fingerprint now = getFingerprint(other);
    if (now.leaves.size() != root.leafNames.size())
      return std::nullopt;
    for (auto [before, leaf] : llvm::zip_equal(root.leafNames, now.leaves)) {
      auto [known, isNew] = changed.operands.try_emplace(before, leaf);
      if ((!isNew && known->second != leaf) ||
          (other != op && !isAvailable(leaf)))
        return std::nullopt;
    }
    for (OpResult result : other->getResults())
      if (StringRef own = getGraphName(result); !own.empty())
        changed.results[own] = result;
  }
  return changed;
}
