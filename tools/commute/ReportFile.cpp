//===- ReportFile.cpp - the page of --report --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ReportFile.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Compiler/VerificationReport.h"
#include "commute/Refinement/RefinementReport.h"
#include "commute/ReportPage/ProgramLanes.h"
#include "commute/ReportPage/ReportPage.h"
#include "commute/ReportPage/RewriteDrawings.h"
#include "commute/ReportPage/TargetSources.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileUtilities.h"

using namespace commute;
using namespace commute::tool;
using llvm::StringRef;
namespace json = llvm::json;

ReportFile::ReportFile(StringRef command, target::Target target)
    : target(std::move(target)) {
  data["version"] = 1;
  data["command"] = command;
  data["target"] = report::describeTarget(this->target);
}

void ReportFile::addProgram(StringRef role, StringRef name,
                            mlir::ModuleOp module,
                            const compiler::LoadedProgram &file) {
  mlir::OwningOpRef<mlir::ModuleOp> owned;
  // All ranks run the same ops.
  if (!file.ranks.empty()) {
    owned = compiler::getModuleOfRank(file, module, 0);
    module = *owned;
  }
  auto addWithout = [&](StringRef reason) {
    programs.push_back(json::Object{{"role", role},
                                    {"name", json::fixUTF8(name)},
                                    {"no_estimate", json::fixUTF8(reason)}});
  };
  mlir::func::FuncOp function = analysis::getMain(module);
  if (!function)
    return addWithout("the program is not a single function of one block");
  target::SizeTable sizes = target::getStatedSizes(module);
  target::PriceModel model(target, sizes);
  llvm::Expected<target::Estimate> estimate = target::estimate(function, model);
  if (!estimate)
    return addWithout(llvm::toString(estimate.takeError()));
  addProgram(role, name, function,
             compiler::summarize(std::move(*estimate), target, sizes));
  priced.back().owned = std::move(owned);
}

void ReportFile::addProgram(StringRef role, StringRef name,
                            mlir::func::FuncOp function,
                            compiler::EstimateSummary summary) {
  Program &program = priced.emplace_back();
  program.function = function;
  program.layers = std::make_unique<report::LayerLabels>(function);
  program.summary = std::move(summary);
  const target::Estimate &estimate = program.summary.estimate;
  // The page shows the time of each line of Python.
  for (const target::OpEstimate &op : estimate.ops)
    sources.add(op.op->getLoc());
  json::Object object = compiler::toJson(program.summary);
  object["role"] = role;
  object["name"] = json::fixUTF8(name);
  object["device_bytes"] = program.summary.deviceBytes;
  object["lanes"] = report::toJson(estimate, *program.layers, strings);
  programs.push_back(std::move(object));
}

/// Returns each kind of extent once: a deep program has thousands of dims of a
/// few sizes.
static json::Array
foldExtents(const std::vector<equivalence::EvaluatedExtent> &extents) {
  llvm::MapVector<std::tuple<int64_t, int64_t, StringRef>,
                  std::pair<const equivalence::EvaluatedExtent *, int64_t>>
      folded;
  for (const equivalence::EvaluatedExtent &extent : extents) {
    auto &[first, count] =
        folded[{extent.size, extent.numIndices, extent.reason}];
    if (!first)
      first = &extent;
    ++count;
  }
  json::Array result;
  for (const auto &[key, entry] : folded) {
    json::Array object = compiler::toJson({*entry.first});
    object.front().getAsObject()->insert({"count", entry.second});
    result.push_back(std::move(object.front()));
  }
  return result;
}

void ReportFile::addProof(const refinement::RefinementResult &result) {
  data["proof"] = refinement::toJson(result);
  for (const refinement::Finding &finding : result.findings)
    for (const std::optional<mlir::Location> &location :
         {finding.location, finding.other})
      if (location)
        sources.add(*location);
}

void ReportFile::addProof(const equivalence::VerifyResult &result) {
  json::Object proof = compiler::toJson(result);
  proof["extents"] = foldExtents(result.extents);
  data["proof"] = std::move(proof);
  for (const equivalence::Difference &difference : result.differences)
    for (mlir::Location location : {difference.first, difference.second})
      sources.add(location);
}

void ReportFile::addRemarks(const report::RemarkCollector &remarks) {
  data["remarks"] = remarks.toJson();
  for (const report::RemarkEntry &remark : remarks.getEntries())
    sources.add(remark.file, remark.line);
  if (priced.size() < 2)
    return;
  auto getDrawn = [](const Program &program) {
    return report::DrawnProgram{program.function, program.summary.estimate,
                                *program.layers};
  };
  data["rewrites"] = report::drawRewrites(
      getDrawn(priced[0]), getDrawn(priced[1]), remarks.getEntries());
}

void ReportFile::addExplanation(const compiler::Explanation &explanation) {
  data["explanation"] = compiler::toJson(explanation);
}

llvm::Error ReportFile::write(StringRef path, StringRef title) {
  data["title"] = json::fixUTF8(title);
  data["programs"] = std::move(programs);
  data["strings"] = strings.take();
  data["sources"] = sources.readExcerpts();
  std::string page = report::renderPage(title, std::move(data));
  return llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << page;
    return llvm::Error::success();
  });
}
