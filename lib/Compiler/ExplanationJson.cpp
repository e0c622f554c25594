//===- ExplanationJson.cpp - explanations for machines ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/Explanation.h"

using namespace commute;
using namespace commute::compiler;
namespace json = llvm::json;

json::Object compiler::toJson(const ExplainedOp &op) {
  json::Object object{{"node", op.node}, {"op", op.op}};
  if (!op.source.empty())
    object["source"] = op.source;
  return object;
}

static json::Object toJson(const ExplainedSites &row) {
  json::Object object = toJson(row.site);
  object["pass"] = row.pass;
  object["law"] = row.law;
  object["decision"] = stringify(row.outcome);
  object["types"] = row.types;
  object["reason"] = row.text;
  object["count"] = static_cast<int64_t>(row.count);
  object["nodes"] = json::Array(row.nodes);
  if (!row.code.empty())
    object["code"] = row.code;
  if (row.blocker)
    object["blocker"] = toJson(*row.blocker);
  if (row.secondsBefore)
    object["seconds_before"] = *row.secondsBefore;
  if (row.secondsAfter)
    object["seconds_after"] = *row.secondsAfter;
  if (std::optional<double> gain = row.getGain()) {
    object["gain"] = *gain;
    object["required_gain"] = row.requiredGain;
  }
  if (row.payingRows)
    object["pays_from_rows"] = *row.payingRows;
  if (!row.remedyText.empty())
    object["remedy"] = row.remedyText;
  if (row.remedyIndex)
    object["remedy_index"] = static_cast<int64_t>(*row.remedyIndex);
  if (row.potentialSeconds) {
    object["potential_seconds"] = *row.potentialSeconds;
    object["potential_is_bound"] = row.isBound;
  }
  return object;
}

static json::Object toJson(const TriedRemedy &remedy) {
  json::Object object{{"text", remedy.text},
                      {"sites", static_cast<int64_t>(remedy.numSites)}};
  if (!remedy.option.empty())
    object["option"] = remedy.option;
  if (!remedy.vocabulary.empty())
    object["vocabulary"] = remedy.vocabulary;
  if (remedy.gainSeconds)
    object["gain_seconds"] = *remedy.gainSeconds;
  return object;
}

static json::Value toJson(const std::optional<ExplainedStep> &step) {
  if (!step)
    return nullptr;
  return json::Object{{"seconds", step->seconds},
                      {"exposed_communication_seconds", step->exposedSeconds}};
}

json::Object compiler::toJson(const Explanation &explanation) {
  json::Array rows, remedies, failures;
  for (const ExplainedSites &row : explanation.rows)
    rows.push_back(::toJson(row));
  for (const TriedRemedy &remedy : explanation.remedies)
    remedies.push_back(::toJson(remedy));
  for (const PassFailure &failure : explanation.failures)
    failures.push_back(
        json::Object{{"pass", failure.pass}, {"message", failure.describe()}});
  json::Object object{{"target", explanation.target},
                      {"before", ::toJson(explanation.before)},
                      {"after", ::toJson(explanation.after)},
                      {"sites", std::move(rows)},
                      {"remedies", std::move(remedies)},
                      {"failed_passes", std::move(failures)},
                      {"assumptions", json::Array(explanation.assumptions)}};
  if (!explanation.unpriced.empty())
    object["unpriced"] = explanation.unpriced;
  return object;
}
