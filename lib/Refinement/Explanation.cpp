//===- Explanation.cpp - where ranks differ from the reference ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"

#include "RepeatedSummands.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

Explanation::Explanation(Refinement &refinement)
    : refinement(refinement), relations(*refinement.relations),
      values(refinement.ranks, relations,
             [&](Value value) { return refinement.getContent(value); }),
      dataflow(refinement.ranks, values),
      texts(relations, refinement.referenceOps), recognized(relations, values),
      search(relations, recognized, values),
      deviations(relations, values, recognized, search, texts),
      repairs(relations, search, dataflow, texts, getTargets()) {}

bool Explanation::holds(const Refinement::Output &output) const {
  if (!output.relation)
    return false;
  // A missing statement is a finding of its own.
  if (!output.isRequired)
    return !output.relation->isPartial() && !output.mustBeStated;
  std::vector<FieldValue> contents = refinement.getContents(output);
  std::optional<Relation> found =
      relations.findTo(refinement.getContent(output.reference), contents);
  if (!found)
    return false;
  // Relations may be spelled in different ways.
  FieldValue whole = refinement.getContent(output.reference);
  if (found->isPartial() != output.relation->isPartial())
    return false;
  for (auto [rank, content] : llvm::zip_equal(relations.getWorld(), contents)) {
    if (!content)
      continue;
    auto type = relations.evaluate(*output.relation, whole, rank);
    if (type && type->getSizes() != content->getSizes())
      return false;
  }
  return true;
}

bool Explanation::explainRelation(const Refinement::Output &output,
                                  const Step &step) {
  const RankValues::Node &node = *step.node;
  size_t rank = step.rank;
  // What all ranks hold together says more than what this one holds.
  std::optional<FoundRelation> relation = values.getRelation(node);
  FieldValue whole = refinement.getContent(output.reference);
  std::string where = " on each rank";
  bool isSame = relation && relations.areEqual(
                                whole, relations.getContent(relation->value));
  bool isAsMeant = isSame && output.relation &&
                   (output.isRequired || !output.relation->isPartial()) &&
                   relation->relation.getText() == output.relation->getText();
  if (!relation || isAsMeant) {
    std::vector<FieldValue> own(node.contents.size());
    own[rank] = node.contents[rank];
    relation = relations.find(own);
    where = " on rank " + std::to_string(relations.getWorld()[rank]);
    if (!relation)
      return false;
    isSame = relations.areEqual(whole, relations.getContent(relation->value));
  }
  Finding finding = ValueTexts::makeFinding(step);
  texts.setOther(finding, relation->value);
  finding.message = "output " + output.name + ": " + texts.describe(step) +
                    where + " is " + texts.describe(relation->relation) +
                    " of the reference's " + texts.describe(relation->value);
  if (!isSame) {
    finding.message += ", not of this output";
  } else if (relation->relation.isPartial()) {
    finding.message += ": no rank has reduced it";
    finding.fix = "all_reduce it over " + relation->relation.axis +
                  ", or state \"outputs\": {\"" +
                  output.name.substr(0, output.name.find(' ')) +
                  "\": \"partial(" + relation->relation.axis +
                  ")\"} if summands are meant";
  } else if (output.relation) {
    finding.message += ", but it must be " + output.relation->getOutputText();
  }
  refinement.result.findings.push_back(std::move(finding));
  return true;
}

bool Explanation::explainMean(const Refinement::Output &output,
                              const Step &step) {
  const RecognizedValues::Recognition &found =
      recognized.get(*step.node, step.rank);
  if (found.kind != RecognizedValues::Kind::Mean)
    return false;
  std::string axes = llvm::join(found.axes, ", ");
  Finding finding = ValueTexts::makeFinding(step);
  finding.message = "output " + output.name + ": " + texts.describe(step) +
                    " on each rank is that of its own part of the batch (" +
                    axes + "): no rank has averaged it";
  finding.fix = "all_reduce it over " + axes + " with the reduction avg";
  finding.other = output.reference.getLoc();
  finding.otherProgram = "reference";
  refinement.result.findings.push_back(std::move(finding));
  return true;
}

Explanation::Deviation
Explanation::findDeviation(const Refinement::Output &output) {
  Deviation deviation = {&output, {}};
  // Ranks that hold what they must are not to be explained.
  FieldValue whole = refinement.getContent(output.reference);
  SmallVector<Step *> all;
  for (auto [rank, value] : llvm::enumerate(output.ofRanks)) {
    if (!value)
      continue;
    Step *step = findReturned(output, rank);
    if (!step)
      continue;
    all.push_back(step);
    Relation meant =
        output.relation ? *output.relation : Relation::makeName("output");
    if (!relations.areEqual(
            relations.evaluate(meant, whole, relations.getWorld()[rank]),
            refinement.getContent(value)))
      deviation.steps.push_back(step);
  }
  if (deviation.steps.empty())
    deviation.steps = std::move(all);
  return deviation;
}

std::vector<Substitution::Target> Explanation::getTargets() {
  std::vector<Substitution::Target> targets;
  for (const Refinement::Output &output : refinement.outputs) {
    FieldValue whole = refinement.getContent(output.reference);
    Relation meant =
        output.relation ? *output.relation : Relation::makeName("output");
    for (auto [rank, value] : llvm::enumerate(output.ofRanks))
      if (Step *step = value ? findReturned(output, rank) : nullptr)
        targets.push_back(
            {step, meant.isPartial()
                       ? nullptr
                       : relations.evaluate(meant, whole,
                                            relations.getWorld()[rank])});
  }
  return targets;
}

Step *Explanation::findReturned(const Refinement::Output &output, size_t rank) {
  // The value of the rank's program that it returns.
  const JoinedRank &own = refinement.ranks[rank];
  auto function = const_cast<func::FuncOp &>(own.function);
  Step *step = nullptr;
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    if (own.values.lookup(value) == output.ofRanks[rank])
      step = dataflow.find(rank, value);
  return step;
}

bool Explanation::explainSuspect(const Step &suspect,
                                 ArrayRef<SmallVector<Step *>> outputs) {
  if (std::optional<Finding> found = search.getPadding().explain(
          search.getSuspects(), texts, relations.getWorld())) {
    refinement.result.findings.push_back(std::move(*found));
    isExplainedByPadding = true;
    return true;
  }
  if (std::optional<RepeatedSummand> found =
          findRepeatedSummand(search.getSuspects(), relations)) {
    if (explained.insert(found->source).second)
      refinement.result.findings.push_back(explain(*found, texts));
    return true;
  }
  if (std::optional<FaultSearch::Unreduced> found = search.findUnreduced()) {
    if (explained.insert(found->step).second)
      refinement.result.findings.push_back(deviations.explain(*found));
    return true;
  }
  if (const Step *other = search.findOtherReduction(suspect))
    return explainFault({other});
  // Of outputs that have the right elements but for a factor, only the factor
  // is wrong.
  bool areMultiples = llvm::all_of(outputs, [&](const auto &steps) {
    return !steps.empty() && llvm::all_of(steps, [&](const Step *step) {
      return recognized.isMultiple(*step->node, step->rank);
    });
  });
  if (!areMultiples)
    return explainFault({&suspect});
  if (const Step *multiple = search.findFirstMultiple())
    return explainFault({multiple});
  // Such as sums over micro-batches, of which no step alone has the factor.
  return explainFault({outputs.front().front()});
}

bool Explanation::explainFault(FaultSearch::Fault fault) {
  std::vector<size_t> expected = search.findExpected(*fault.step);
  if (!fault.expected && !expected.empty() && !onlyMoves(fault.step->getOp()) &&
      !isa_and_present<tp::GroupOpInterface>(fault.step->getOp()))
    fault = search.trace(fault.step, expected.front());
  if (explained.insert(fault.step).second)
    refinement.result.findings.push_back(deviations.explain(fault));
  return true;
}

/// True if a finding is at a step, or at what it reads or is read by.
static bool isNear(const Finding &finding, const Step &step) {
  auto isAt = [&](const Step *own) {
    return own->value.getLoc() == finding.location;
  };
  if (isAt(&step))
    return true;
  // A collective and its completion are one op.
  auto isCompletion = [](const Step *own) {
    return isa_and_present<tp::CompletionOpInterface>(own->getOp());
  };
  SmallVector<const Step *> near(step.operands.begin(), step.operands.end());
  llvm::append_range(near, step.users);
  for (size_t next = 0, count = near.size(); next < count; ++next) {
    if (!isCompletion(near[next]))
      continue;
    llvm::append_range(near, near[next]->operands);
    llvm::append_range(near, near[next]->users);
  }
  return llvm::any_of(near, isAt);
}

void Explanation::preferRepair(size_t first) {
  std::optional<Repairs::Repair> found =
      isExplainedByPadding ? std::nullopt : repairs.find();
  if (!found)
    return;
  std::vector<Finding> &findings = refinement.result.findings;
  for (Finding &finding : llvm::drop_begin(findings, first)) {
    if (!isNear(finding, *found->step))
      continue;
    bool isSame = finding.location == found->finding.location;
    // A finding without a fix says less than the change does.
    if (finding.fix.empty() && !isSame)
      continue;
    if (isSame) {
      finding.message += "; all outputs would be right if " + found->condition;
      if (finding.fix.empty())
        finding.fix = found->finding.fix;
    }
    return;
  }
  findings.resize(first, found->finding);
  findings.push_back(std::move(found->finding));
}

bool Explanation::explainDeviation(const Deviation &deviation) {
  const Step *suspect = search.findSuspect({deviation.steps});
  size_t first = refinement.result.findings.size();
  bool isExplained = explainDeviation(deviation, suspect);
  // A missing reduction may be anywhere after what it reduces.
  if (llvm::none_of(deviation.steps, [&](const Step *step) {
        return recognized.isPartial(*step->node);
      }))
    preferRepair(first);
  return isExplained || refinement.result.findings.size() > first;
}

bool Explanation::explainDeviation(const Deviation &deviation,
                                   const Step *suspect) {
  for (Step *step : deviation.steps)
    if ((recognized.get(*step->node, step->rank).isCertain() &&
         explainRelation(*deviation.output, *step)) ||
        explainMean(*deviation.output, *step))
      return true;
  if (suspect)
    return explainSuspect(*suspect, {deviation.steps});
  size_t expected = relations.getIndex(
      refinement.evaluatedOf.lookup(deviation.output->reference));
  for (Step *step : deviation.steps) {
    // The elements may be those of the output, in another order.
    Finding finding = ValueTexts::makeFinding(*step);
    if (!deviations.tryOtherBlocks(*step, expected, finding))
      continue;
    refinement.result.findings.push_back(std::move(finding));
    return true;
  }
  if (!deviation.steps.empty())
    return explainFault(search.trace(deviation.steps.front(), expected));
  return false;
}

void Explanation::explainAlone(const Refinement::Output &output) {
  Finding finding;
  auto value = llvm::find_if(output.ofRanks, [](Value own) { return !!own; });
  bool isAnywhere = value != output.ofRanks.end();
  finding.message = "output " + output.name +
                    (isAnywhere ? " is no value of the reference on the ranks"
                                : " is on no rank");
  if (isAnywhere)
    finding.location = value->getLoc();
  finding.other = output.reference.getLoc();
  finding.otherProgram = "reference";
  refinement.result.findings.push_back(std::move(finding));
}

bool Explanation::run() {
  // What the proof has to say of outputs is less than what follows.
  std::vector<Finding> before = std::move(refinement.result.findings);
  refinement.result.findings.clear();
  std::vector<Deviation> wrong;
  // Of outputs that rest on an opaque op, nobody knows whether they are wrong.
  for (const Refinement::Output &output : refinement.outputs)
    if (!holds(output) && !refinement.getCause(output))
      wrong.push_back(findDeviation(output));
  // One fault may be on the way to several outputs.
  std::vector<SmallVector<Step *>> outputs;
  for (const Deviation &deviation : wrong)
    outputs.push_back(deviation.steps);
  if (const Step *suspect =
          outputs.size() > 1 ? search.findSuspect(outputs) : nullptr) {
    explainSuspect(*suspect, outputs);
    preferRepair(0);
    return true;
  }
  constexpr size_t mostFindings = 4;
  for (const Deviation &deviation : wrong) {
    if (refinement.result.findings.size() == mostFindings)
      break;
    if (!explainDeviation(deviation))
      explainAlone(*deviation.output);
  }
  if (refinement.result.findings.empty())
    refinement.result.findings = std::move(before);
  return !wrong.empty();
}
