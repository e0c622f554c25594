//===- CollectiveOrder.cpp - collectives of ranks that belong together ----===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Collectives/CollectiveOrder.h"

using namespace mlir;
using namespace commute;

std::string analysis::describeCollective(Operation *op) {
  std::string text =
      cast<tp::CollectiveOpInterface>(op).getCollectiveText() + " of ";
  llvm::raw_string_ostream(text) << op->getOperand(0).getType();
  return text;
}

std::string analysis::findMismatch(Operation *first, Operation *second,
                                   bool *isOfSizes) {
  auto a = cast<tp::CollectiveOpInterface>(first);
  auto b = cast<tp::CollectiveOpInterface>(second);
  if (first->getName() != second->getName() ||
      a.getCollectiveText() != b.getCollectiveText())
    return "are different collectives";
  if (tp::getElementType(first->getOperand(0)) !=
      tp::getElementType(second->getOperand(0)))
    return "have different element types";
  if (a.hasEqualOperands() &&
      tp::getTensor(first->getOperand(0)).getShape() !=
          tp::getTensor(second->getOperand(0)).getShape()) {
    if (isOfSizes)
      *isOfSizes = true;
    return "have operands of different sizes";
  }
  return "";
}

std::vector<tp::CollectiveOpInterface>
analysis::getCollectives(func::FuncOp function, ArrayRef<int64_t> members,
                         int64_t rank) {
  std::vector<tp::CollectiveOpInterface> collectives;
  for (auto op : function.getOps<tp::CollectiveOpInterface>())
    if (op.getCollectiveGroup().getMembersAround(rank) == members)
      collectives.push_back(op);
  return collectives;
}
