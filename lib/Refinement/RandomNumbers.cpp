//===- RandomNumbers.cpp - what ranks draw --------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RankValues.h"
#include "Refinement.h"

#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

/// Returns false for attention without dropout, which draws nothing.
static bool mayDropOut(tp::CallOp call) {
  llvm::Expected<llvm::json::Value> parsed =
      llvm::json::parse(call.getArguments());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return true;
  }
  const llvm::json::Array *list = parsed->getAsArray();
  if (!list)
    return true;
  for (const llvm::json::Value &argument : *list) {
    const llvm::json::Object *object = argument.getAsObject();
    if (!object || object->getString("name") != StringRef("dropout_p"))
      continue;
    const llvm::json::Object *value = object->getObject("arg");
    std::optional<double> number;
    if (value)
      number = value->getNumber("as_float");
    return !number || *number != 0;
  }
  // The default is no dropout.
  return false;
}

/// Returns true if an op draws from the state of a generator.
static bool drawsNumbers(Operation *op) {
  auto call = dyn_cast<tp::CallOp>(op);
  if (!call || !tp::isRandomOperator(call.getCallee()))
    return false;
  return !call.getCallee().contains("scaled_dot_product") || mayDropOut(call);
}

static void forEachDraw(func::FuncOp function,
                        llvm::function_ref<void(Operation *)> visit) {
  for (Operation &op : function.getBody().front())
    if (drawsNumbers(&op))
      visit(&op);
}

void Refinement::noteRandomNumbers() {
  bool draws = false;
  for (JoinedRank &rank : ranks)
    forEachDraw(rank.function, [&](Operation *) { draws = true; });
  if (draws)
    result.premises.push_back(
        "random operators draw the numbers of one device on every rank: the "
        "generators have equal seeds, and have drawn equally often");
}

bool Refinement::isWrong(const Output &output) const {
  if (!output.relation)
    return true;
  FieldValue whole = getContent(output.reference);
  std::vector<FieldValue> contents = getContents(output);
  if (output.relation->isPartial()) {
    std::optional<Relation> found = relations->findTo(whole, contents);
    return !output.isRequired || !found || !found->isPartial();
  }
  for (auto [rank, content] : llvm::zip_equal(world, contents))
    if (content &&
        !relations->areEqual(relations->evaluate(*output.relation, whole, rank),
                             content))
      return true;
  return false;
}

std::optional<std::string> Refinement::findUnprovenDraws() {
  if (!evaluation)
    return std::nullopt;
  RankValues values(ranks, *relations,
                    [&](Value value) { return getContent(value); });
  // What is computed from numbers that are drawn for a part of a tensor.
  llvm::DenseSet<Value> drawn;
  std::string reason;
  for (auto [index, rank] : llvm::enumerate(ranks)) {
    forEachDraw(rank.function, [&, index = index, &rank = rank](Operation *op) {
      if (op->getNumResults() == 0)
        return;
      Value own = rank.values.lookup(op->getResult(0));
      FieldValue content = getContent(own);
      if (!content || !relations->findEqual(content).empty())
        return;
      std::string what;
      bool isOfShapes = true;
      for (Value operand : op->getOperands()) {
        if (!isa<RankedTensorType>(operand.getType()))
          continue;
        isOfShapes = false;
        const RankValues::Node *node = values.find(index, operand);
        if (!node)
          continue;
        const std::optional<FoundRelation> &relation =
            values.getRelation(*node);
        // Another operand is a fault of its own.
        if (!relation || relation->relation.isWhole() ||
            relation->relation.isPartial())
          continue;
        what = relation->relation.getOutputText() + " of " +
               report::describeLocation(
                   relations->getValue(relation->value).getLoc());
      }
      if (what.empty() && !isOfShapes)
        return;
      for (Value result : op->getResults())
        drawn.insert(rank.values.lookup(result));
      if (reason.empty())
        reason = "random numbers: " + report::describeLocation(op->getLoc()) +
                 " draws on rank " + std::to_string(rank.rank) + " for " +
                 (what.empty() ? "a tensor of the rank's own" : what) +
                 ", and whether these are the numbers of one device depends "
                 "on the generators";
    });
  }
  if (drawn.empty())
    return std::nullopt;
  for (Operation &op : joinedOps.getFunction().getBody().front())
    if (llvm::any_of(op.getOperands(),
                     [&](Value operand) { return drawn.contains(operand); }))
      drawn.insert(op.result_begin(), op.result_end());
  bool isAnyWrong = false;
  for (const Output &output : outputs) {
    if (!isWrong(output))
      continue;
    isAnyWrong = true;
    if (llvm::none_of(output.ofRanks,
                      [&](Value own) { return own && drawn.contains(own); }))
      return std::nullopt;
  }
  return isAnyWrong ? std::optional(reason) : std::nullopt;
}
