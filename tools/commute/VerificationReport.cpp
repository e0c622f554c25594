//===- VerificationReport.cpp - the verdict of the checker ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "VerificationReport.h"

#include "commute/Report/RemarkCollector.h"

using namespace commute;
using namespace commute::tool;

/// "node (model.py:12)".
static std::string describe(mlir::Location location) {
  std::string node, file;
  unsigned line = 0;
  report::describeLocation(location, node, file, line);
  if (node.empty())
    node = "an unnamed value";
  return file.empty() ? node
                      : node + " (" + file + ":" + std::to_string(line) + ")";
}

void tool::print(const equivalence::VerifyResult &result,
                 llvm::raw_ostream &os) {
  if (result.isEquivalent())
    os << "equivalent on " << result.numRanks
       << (result.numRanks == 1 ? " rank" : " ranks") << '\n';
  for (const equivalence::Difference &difference : result.differences)
    os << "different: " << difference.message
       << "\n  first:  " << describe(difference.first)
       << "\n  second: " << describe(difference.second) << '\n';
  if (result.assumptions.empty())
    return;
  os << "assumed, as nothing states it:\n";
  for (const std::string &assumption : result.assumptions)
    os << "  " << assumption << '\n';
}

llvm::json::Object tool::toJson(const equivalence::VerifyResult &result) {
  llvm::json::Array differences;
  for (const equivalence::Difference &difference : result.differences)
    differences.push_back(
        llvm::json::Object{{"message", difference.message},
                           {"first", describe(difference.first)},
                           {"second", describe(difference.second)}});
  return llvm::json::Object{
      {"equivalent", result.isEquivalent()},
      {"ranks", result.numRanks},
      {"ops", static_cast<int64_t>(result.numOps)},
      {"evaluated_ops", static_cast<int64_t>(result.numEvaluatedOps)},
      {"differences", std::move(differences)},
      {"assumptions", llvm::json::Array(result.assumptions)}};
}
