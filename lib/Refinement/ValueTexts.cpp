//===- ValueTexts.cpp - values in messages --------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ValueTexts.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Support/Quoted.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

std::string ValueTexts::describe(const Step &step) const {
  if (Operation *op = step.getOp())
    return getNodeName(op);
  return quoted(StringRef(step.node->key).substr(StringRef("input ").size()));
}

std::string ValueTexts::describe(size_t reference) const {
  Value value = relations.getValue(reference);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return quoted(referenceOps.getInputName(argument.getArgNumber()));
  std::string node, file;
  unsigned line;
  report::describeLocation(value.getLoc(), node, file, line);
  return node.empty() ? "a value" : quoted(node);
}

std::string ValueTexts::describe(const Relation &relation) const {
  switch (relation.kind) {
  case Relation::Kind::Name:
    return "the whole";
  case Relation::Kind::Shard:
    return (relation.operands[0].kind == Relation::Kind::Name
                ? "a shard"
                : describe(relation.operands[0]) + ", and a shard") +
           " along dim " + std::to_string(relation.dim) + " (" + relation.axis +
           ")";
  case Relation::Kind::Partial:
    return (relation.operands[0].kind == Relation::Kind::Name
                ? "a summand"
                : "a summand of " + describe(relation.operands[0])) +
           " (" + relation.axis + ")";
  default:
    return relation.getText();
  }
}

Finding ValueTexts::makeFinding(const Step &step) {
  Finding finding;
  finding.location = step.value.getLoc();
  return finding;
}

void ValueTexts::setOther(Finding &finding, size_t reference) const {
  finding.other = relations.getValue(reference).getLoc();
  finding.otherProgram = "reference";
}
