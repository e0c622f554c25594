//===- VerificationReport.cpp - the verdict of the checker ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/VerificationReport.h"

#include "commute/Report/RemarkCollector.h"

#include "llvm/Support/FormatVariadic.h"

using namespace commute;
using namespace commute::compiler;

static llvm::StringRef getText(equivalence::Verdict verdict) {
  switch (verdict) {
  case equivalence::Verdict::Equivalent:
    return "equivalent";
  case equivalence::Verdict::OtherLayout:
    return "other layout";
  case equivalence::Verdict::Different:
    return "different";
  case equivalence::Verdict::NotProven:
    return "not proven";
  }
  llvm_unreachable("a verdict that is not listed");
}

void compiler::print(const equivalence::VerifyResult &result,
                     llvm::raw_ostream &os) {
  if (result.isEquivalent()) {
    os << "equivalent on " << result.numRanks
       << (result.numRanks == 1 ? " rank" : " ranks");
    if (result.drawn)
      os << ", as far as " << result.numRounds
         << " drawings show: " << *result.drawn;
    os << '\n';
  }
  if (result.getVerdict() == equivalence::Verdict::OtherLayout)
    os << "the values are the same on " << result.numRanks
       << (result.numRanks == 1 ? " rank" : " ranks")
       << ", in another layout\n";
  for (const equivalence::Difference &difference : result.differences)
    os << (difference.isLayout ? "other layout: " : "different: ")
       << difference.message
       << "\n  first:  " << report::describeLocation(difference.first)
       << "\n  second: " << report::describeLocation(difference.second) << '\n';
  if (result.getVerdict() == equivalence::Verdict::NotProven)
    os << "not proven: " << *result.notProven << '\n';
  for (const std::string &note : result.notes)
    os << "  " << note << '\n';
  if (!result.premises.empty())
    os << "stated of inputs:\n";
  for (const std::string &premise : result.premises)
    os << "  " << premise << '\n';
  if (result.assumptions.empty())
    return;
  os << "assumed (not stated):\n";
  for (const std::string &assumption : result.assumptions)
    os << "  " << assumption << '\n';
}

void compiler::printExtents(const equivalence::VerifyResult &result,
                            llvm::raw_ostream &os) {
  if (result.numEvaluatedRanks < result.numRanks)
    os << "ranks evaluated: " << result.numEvaluatedRanks << " of "
       << result.numRanks
       << ", since both programs only reduce over the groups of the others\n";
  os << "sizes, evaluated indices, and why these suffice:\n";
  for (const equivalence::EvaluatedExtent &extent : result.extents)
    os << llvm::formatv("{0,10} {1,8}  {2}: dim {3} of {4}\n", extent.size,
                        extent.numIndices, extent.reason, extent.dim,
                        report::describeLocation(extent.location));
}

llvm::json::Object compiler::toJson(const equivalence::VerifyResult &result) {
  llvm::json::Array differences;
  for (const equivalence::Difference &difference : result.differences)
    differences.push_back(llvm::json::Object{
        {"message", difference.message},
        {"kind", difference.isLayout  ? "layout"
                 : difference.isPlace ? "place"
                                      : "value"},
        {"first", report::describeLocation(difference.first)},
        {"second", report::describeLocation(difference.second)}});
  llvm::json::Object object{
      {"equivalent", result.isEquivalent()},
      {"verdict", getText(result.getVerdict())},
      {"ranks", result.numRanks},
      {"evaluated_ranks", result.numEvaluatedRanks},
      {"ops", static_cast<int64_t>(result.numOps)},
      {"evaluated_ops", static_cast<int64_t>(result.numEvaluatedOps)},
      {"rounds", static_cast<int64_t>(result.numRounds)},
      {"differences", std::move(differences)},
      {"notes", llvm::json::Array(result.notes)},
      {"premises", llvm::json::Array(result.premises)},
      {"assumptions", llvm::json::Array(result.assumptions)}};
  if (result.isEquivalent())
    object["grade"] = result.drawn ? "drawn" : "strict";
  if (result.drawn)
    object["drawn"] = *result.drawn;
  if (result.notProven)
    object["not_proven"] = *result.notProven;
  if (result.undecided)
    object["undecided"] = equivalence::toJson(*result.undecided);
  return object;
}

llvm::json::Array
compiler::toJson(const std::vector<equivalence::EvaluatedExtent> &list) {
  llvm::json::Array extents;
  for (const equivalence::EvaluatedExtent &extent : list)
    extents.push_back(llvm::json::Object{
        {"size", extent.size},
        {"indices", extent.numIndices},
        {"reason", extent.reason},
        {"dim", static_cast<int64_t>(extent.dim)},
        {"value", report::describeLocation(extent.location)}});
  return extents;
}
