//===- Neighbourhoods.cpp - the ops around a rewrite ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Neighbourhoods.h"

#include "commute/Dialect/TPDialect.h"

#include <deque>

using namespace mlir;
using namespace commute;
using namespace commute::report;

/// A drawing with more ops than this is not read any more.
static constexpr size_t maxOps = 48;
static constexpr size_t maxBorders = 8;
/// Ops around a border that is itself rewritten.
static constexpr size_t maxOpsAroundBorder = 12;

StringRef report::getNode(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? name.getName().getValue() : StringRef();
}

DividedProgram::DividedProgram(const DrawnProgram &program) : program(program) {
  llvm::DenseSet<Operation *> products;
  for (const target::OpEstimate &op : program.estimate.ops) {
    seconds[op.op] = op.price.getSeconds();
    if (op.matmulFlops > 0)
      products.insert(op.op);
  }
  unsigned position = 0;
  func::FuncOp function = program.function;
  for (Operation &op : function.getBody().front().without_terminator()) {
    positions[&op] = ++position;
    if (StringRef node = getNode(&op); !node.empty())
      byNode[node].push_back(&op);
    if (isConstant(&op))
      continue;
    if (products.contains(&op) || !isa<tp::DimensionRuleOpInterface>(op))
      borders.insert(&op);
    unsigned &level = levels[&op];
    for (Value operand : op.getOperands())
      if (Operation *producer = operand.getDefiningOp())
        level = std::max(level, levels.lookup(producer) +
                                    (isBorder(producer) ? 1 : 0));
    places.insert(&op);
    if (isBorder(&op))
      continue;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && !isBorder(producer) && !isConstant(producer) &&
          levels.lookup(producer) == level)
        places.unionSets(producer, &op);
    }
  }
}

bool DividedProgram::isConstant(Operation *op) const {
  return op->getNumResults() == 0 ||
         program.layers.isConstant(op->getResult(0));
}

llvm::ArrayRef<Operation *> DividedProgram::getOps(StringRef node) const {
  auto found = byNode.find(node);
  if (found == byNode.end())
    return {};
  return found->second;
}

Operation *DividedProgram::getPlace(Operation *op) const {
  return isConstant(op) ? nullptr : places.getLeaderValue(op);
}

std::vector<Operation *>
DividedProgram::getNeighbourhood(llvm::ArrayRef<Operation *> anchors) const {
  Operation *place = getPlace(anchors.front());
  bool isAroundBorder = isBorder(anchors.front());
  size_t limit = isAroundBorder ? maxOpsAroundBorder : maxOps;
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Operation *> found;
  std::deque<Operation *> queue(anchors.begin(), anchors.end());
  ops.insert(anchors.begin(), anchors.end());
  auto visit = [&](Operation *op) {
    if (!op || isConstant(op) || !levels.contains(op))
      return;
    bool continues = !isBorder(op) && ops.size() < limit &&
                     (isAroundBorder || getPlace(op) == place);
    if (continues && ops.insert(op))
      queue.push_back(op);
    else if (isBorder(op) && found.size() < maxBorders)
      found.insert(op);
  };
  while (!queue.empty()) {
    Operation *op = queue.front();
    queue.pop_front();
    for (Value operand : op->getOperands())
      visit(operand.getDefiningOp());
    // MLIR does not define the order of users.
    llvm::SmallVector<Operation *> users(op->getUsers());
    llvm::sort(users, [&](Operation *lhs, Operation *rhs) {
      return positions.lookup(lhs) < positions.lookup(rhs);
    });
    for (Operation *user : users)
      visit(user);
  }
  ops.insert(found.begin(), found.end());
  std::vector<Operation *> result(ops.begin(), ops.end());
  llvm::sort(result, [&](Operation *lhs, Operation *rhs) {
    return positions.lookup(lhs) < positions.lookup(rhs);
  });
  return result;
}
