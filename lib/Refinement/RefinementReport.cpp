//===- RefinementReport.cpp - the verdict as text and JSON ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Refinement/RefinementReport.h"

#include "commute/Report/RemarkCollector.h"

#include "llvm/Support/FormatVariadic.h"

using namespace commute;
using namespace commute::refinement;
using llvm::StringRef;
using Verdict = RefinementResult::Verdict;

StringRef refinement::describe(Verdict verdict) {
  switch (verdict) {
  case Verdict::Refines:
    return "refines";
  case Verdict::Differs:
    return "does not refine";
  case Verdict::Deadlock:
    return "deadlock";
  case Verdict::NotProven:
    return "not proven";
  }
  llvm_unreachable("a verdict that is not listed");
}

void refinement::print(const RefinementResult &result, llvm::raw_ostream &os) {
  os << describe(result.verdict) << " on " << result.numRanks
     << (result.numRanks == 1 ? " rank" : " ranks");
  if (result.verdict == Verdict::NotProven)
    os << ": " << result.notProven;
  if (result.drawn)
    os << ", as far as " << result.numRounds
       << " drawings show: " << *result.drawn;
  os << '\n';
  for (const Finding &finding : result.findings) {
    os << "difference: " << finding.message << '\n';
    if (finding.location)
      os << "  at " << report::describeLocation(*finding.location) << '\n';
    if (finding.other)
      os << "  " << finding.otherProgram << ": "
         << report::describeLocation(*finding.other) << '\n';
    if (!finding.fix.empty())
      os << "  fix: " << finding.fix << '\n';
  }
  for (const OutputRelation &output : result.outputs)
    os << "output " << output.name << ": "
       << (output.relation.empty() ? "not found on the ranks" : output.relation)
       << (output.isRequired ? " (required)" : "") << '\n';
  if (!result.premises.empty())
    os << "premises:\n";
  for (const std::string &premise : result.premises)
    os << "  " << premise << '\n';
  for (const std::string &note : result.notes)
    os << "note: " << note << '\n';
}

void refinement::printValues(const RefinementResult &result,
                             llvm::raw_ostream &os) {
  std::string last;
  for (const ValueRelation &value : result.values) {
    std::string node, file;
    unsigned line = 0;
    report::describeLocation(value.location, node, file, line);
    std::string source = file.empty() ? "" : file + ":" + std::to_string(line);
    if (source != last)
      os << (source.empty() ? "(no source line)" : source) << '\n';
    last = source;
    os << "  " << node << value.ranks << ": ";
    if (value.reference) {
      std::string referenceNode;
      report::describeLocation(*value.reference, referenceNode, file, line);
      os << value.relation << " of " << referenceNode;
    } else {
      os << value.relation;
    }
    os << '\n';
  }
}

llvm::json::Object refinement::toJson(const RefinementResult &result) {
  auto describeAt = [](const std::optional<mlir::Location> &location) {
    return location ? llvm::json::Value(report::describeLocation(*location))
                    : llvm::json::Value(nullptr);
  };
  llvm::json::Array findings, outputs, values;
  for (const Finding &finding : result.findings) {
    llvm::json::Object object{{"message", finding.message},
                              {"fix", finding.fix},
                              {"at", describeAt(finding.location)},
                              {"other", describeAt(finding.other)},
                              {"other_program", finding.otherProgram}};
    if (finding.location) {
      std::string node, file;
      unsigned line = 0;
      report::describeLocation(*finding.location, node, file, line);
      object["node"] = node;
      object["file"] = file;
      object["line"] = line;
    }
    findings.push_back(std::move(object));
  }
  for (const OutputRelation &output : result.outputs)
    outputs.push_back(llvm::json::Object{
        {"output", output.name},
        {"relation", output.relation.empty()
                         ? llvm::json::Value(nullptr)
                         : llvm::json::Value(output.relation)},
        {"required", output.isRequired},
        {"holds", output.holds}});
  for (const ValueRelation &value : result.values)
    values.push_back(
        llvm::json::Object{{"value", report::describeLocation(value.location)},
                           {"ranks", value.ranks},
                           {"relation", value.relation},
                           {"reference", describeAt(value.reference)}});
  llvm::json::Object object{
      {"verdict", describe(result.verdict)},
      {"refines", result.verdict == Verdict::Refines},
      {"ranks", result.numRanks},
      {"ops", static_cast<int64_t>(result.numOps)},
      {"evaluated_ops", static_cast<int64_t>(result.numEvaluatedOps)},
      {"rounds", static_cast<int64_t>(result.numRounds)},
      {"differences", std::move(findings)},
      {"outputs", std::move(outputs)},
      {"premises", llvm::json::Array(result.premises)},
      {"notes", llvm::json::Array(result.notes)},
      {"seconds", llvm::json::Object{{"joining", result.secondsJoining},
                                     {"proving", result.secondsProving},
                                     {"sizes", result.secondsForSizes}}}};
  if (!result.values.empty())
    object["values"] = std::move(values);
  if (result.verdict == Verdict::NotProven)
    object["not_proven"] = result.notProven;
  if (result.verdict == Verdict::Refines)
    object["grade"] = result.drawn ? "drawn" : "strict";
  if (result.drawn)
    object["drawn"] = *result.drawn;
  if (result.undecided)
    object["undecided"] = equivalence::toJson(*result.undecided);
  return object;
}
