//===- ExplainedSites.cpp - decisions folded into rows ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/Explanation.h"

#include "commute/Report/AlikeSites.h"
#include "commute/Report/RemarkCollector.h"

#include <map>

using namespace commute;
using namespace commute::compiler;
using analysis::RefusalCode;
using report::removeIndices;

std::optional<double> ExplainedSites::getGain() const {
  if (!secondsBefore || !secondsAfter || *secondsAfter <= 0)
    return std::nullopt;
  return *secondsBefore / *secondsAfter - 1;
}

ExplainedOp compiler::describe(const MentionedOp &op) {
  ExplainedOp result;
  result.op = op.op;
  std::string file;
  unsigned line = 0;
  report::describeLocation(op.location, result.node, file, line);
  if (!file.empty())
    result.source = file + ":" + std::to_string(line);
  return result;
}

/// Returns the opaque operator that blocks a rewrite and could be described in
/// a vocabulary file, if there is one.
static std::optional<std::string> getOpaqueOperator(const Decision &decision) {
  if (decision.outcome != Decision::Outcome::Refused ||
      decision.code != RefusalCode::Opaque || !decision.blocker ||
      !decision.blocker->isOpaque)
    return std::nullopt;
  return decision.blocker->op;
}

static std::optional<Remedy> getRemedy(const Decision &decision) {
  if (decision.outcome != Decision::Outcome::Refused)
    return std::nullopt;
  if (decision.option)
    return Remedy{decision.option->name, decision.option->value};
  if (std::optional<std::string> callee = getOpaqueOperator(decision))
    return Remedy{"", *callee};
  return std::nullopt;
}

static std::string describeRemedy(const Decision &decision) {
  if (decision.outcome != Decision::Outcome::Refused ||
      !decision.remedy.empty())
    return decision.remedy;
  if (std::optional<std::string> callee = getOpaqueOperator(decision))
    return "a vocabulary file that describes " + *callee + " would allow it";
  if (decision.code == RefusalCode::Rounding)
    return "without --exact-rounding it would be made";
  if (decision.code != RefusalCode::Unprofitable)
    return "";
  if (decision.requiredGain > 0 && decision.secondsBefore &&
      decision.secondsAfter && *decision.secondsAfter < *decision.secondsBefore)
    return decision.pass + "{margin=0} would accept the small gain";
  return "";
}

/// Returns the name of the node, or the line if it has no name.
static std::string getName(const ExplainedOp &op) {
  return op.node.empty() ? op.source : op.node;
}

/// Returns the line of Python, which is the same in each layer. Ops without
/// names are those of a textual module, in which each has a line of its own.
static std::string getLine(const ExplainedOp &op) {
  return op.node.empty() ? "" : op.source;
}

std::vector<ExplainedSites> compiler::foldSites(const DecisionRecord &record) {
  std::vector<ExplainedSites> rows;
  std::map<std::vector<std::string>, size_t> rowOf;
  for (const DecisionRecord::Site &site : record.getSites()) {
    ExplainedOp place = describe(site);
    for (const Decision &decision : site.decisions) {
      // A fact that is worth telling has a text.
      bool isNothing = decision.outcome == Decision::Outcome::NotApplicable &&
                       decision.text.empty();
      if (isNothing || !decision.isReported)
        continue;
      ExplainedSites row;
      row.pass = decision.pass;
      row.law = decision.law;
      row.outcome = decision.outcome;
      if (decision.outcome == Decision::Outcome::Refused)
        row.code = stringify(decision.code).str();
      row.site = place;
      row.types = site.types;
      row.text = decision.text;
      if (decision.blocker)
        row.blocker = describe(*decision.blocker);
      row.secondsBefore = decision.secondsBefore;
      row.secondsAfter = decision.secondsAfter;
      row.requiredGain = decision.requiredGain;
      row.payingRows = decision.payingRows;
      row.remedyText = describeRemedy(decision);
      row.remedy = getRemedy(decision);
      row.nodes.push_back(getName(place));

      std::vector<std::string> key = {
          row.pass, row.law, std::to_string(static_cast<int>(row.outcome)),
          row.code, row.site.op, getLine(row.site), row.types,
          removeIndices(row.text), removeIndices(row.remedyText),
          row.blocker ? row.blocker->op + " " + getLine(*row.blocker) : "",
          // Without a line, the name tells which sites correspond.
          getLine(row.site).empty() ? removeIndices(row.site.node) : ""};
      auto [known, isNew] = rowOf.try_emplace(std::move(key), rows.size());
      if (isNew) {
        rows.push_back(std::move(row));
        continue;
      }
      ++rows[known->second].count;
      rows[known->second].nodes.push_back(getName(place));
    }
  }
  return rows;
}
