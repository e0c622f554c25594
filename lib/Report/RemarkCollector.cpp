//===- RemarkCollector.cpp - remarks of passes ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Report/RemarkCollector.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Remarks/Remark.h"

#include <map>
#include <set>

using namespace mlir;
using namespace commute::report;

StringRef commute::report::describe(Verdict verdict) {
  switch (verdict) {
  case Verdict::Applied:
    return "applied";
  case Verdict::Refused:
    return "refused";
  case Verdict::Noted:
    return "noted";
  }
  llvm_unreachable("unknown verdict");
}

RemarkEntry commute::report::describeFailure(StringRef pass,
                                             std::string message) {
  RemarkEntry entry;
  entry.verdict = Verdict::Refused;
  entry.pass = pass.str();
  entry.name = "internal-error";
  entry.message = std::move(message);
  return entry;
}

std::string RemarkEntry::getSource() const {
  return file.empty() ? "" : file + ":" + std::to_string(line);
}

void commute::report::describeLocation(Location location, std::string &node,
                                       std::string &file, unsigned &line) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    node = name.getName().str();
    describeLocation(name.getChildLoc(), node, file, line);
  } else if (auto place = dyn_cast<FileLineColLoc>(location)) {
    file = place.getFilename().str();
    line = place.getLine();
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    if (!fused.getLocations().empty())
      describeLocation(fused.getLocations().front(), node, file, line);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    describeLocation(call.getCallee(), node, file, line);
  }
}

std::string commute::report::describeLocation(Location location) {
  std::string node, file;
  unsigned line = 0;
  describeLocation(location, node, file, line);
  if (node.empty())
    node = "an unnamed value";
  return file.empty() ? node
                      : node + " (" + file + ":" + std::to_string(line) + ")";
}

namespace {
class CollectingStreamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit CollectingStreamer(std::shared_ptr<std::vector<RemarkEntry>> entries)
      : entries(std::move(entries)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    RemarkEntry entry;
    switch (remark.getRemarkType()) {
    case llvm::remarks::Type::Passed:
      entry.verdict = Verdict::Applied;
      break;
    case llvm::remarks::Type::Analysis:
      entry.verdict = Verdict::Noted;
      break;
    default:
      entry.verdict = Verdict::Refused;
      break;
    }
    entry.pass = remark.getCategoryName().str();
    entry.name = remark.getRemarkName().str();
    describeLocation(remark.getLocation(), entry.node, entry.file, entry.line);
    for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
      if (argument.key == "Suggestion") {
        entry.suggestion = argument.val;
        continue;
      }
      if (!entry.message.empty())
        entry.message += "; ";
      if (argument.key != "Remark" && argument.key != "Reason")
        entry.message += argument.key + " = ";
      entry.message += argument.val;
    }
    entries->push_back(std::move(entry));
  }

private:
  std::shared_ptr<std::vector<RemarkEntry>> entries;
};
} // namespace

LogicalResult RemarkCollector::attach(MLIRContext &context) {
  remark::RemarkCategories categories;
  categories.passed = categories.missed = categories.analysis =
      categories.failed = ".*";
  return remark::enableOptimizationRemarks(
      context, std::make_unique<CollectingStreamer>(entries),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
}

void RemarkCollector::removeRepeated() {
  std::set<std::tuple<std::string, std::string, std::string, unsigned,
                      std::string, std::string>>
      seen;
  llvm::erase_if(*entries, [&](const RemarkEntry &entry) {
    return !seen.emplace(entry.name, entry.node, entry.file, entry.line,
                         entry.message, entry.suggestion)
                .second;
  });
}

void RemarkCollector::print(llvm::raw_ostream &os) const {
  StringRef pass;
  for (const RemarkEntry &entry : *entries) {
    if (entry.pass != pass) {
      pass = entry.pass;
      os << pass << ":\n";
    }
    os << "  " << describe(entry.verdict) << "  " << entry.node;
    if (std::string source = entry.getSource(); !source.empty())
      os << " (" << source << ")";
    // The remark about a failed pass has no node.
    bool hasPlace = !entry.node.empty() || !entry.file.empty();
    os << (hasPlace ? ": " : "") << entry.message;
    if (!entry.suggestion.empty())
      os << "; " << entry.suggestion;
    os << '\n';
  }
}

llvm::json::Array RemarkCollector::toJson() const {
  llvm::json::Array result;
  for (const RemarkEntry &entry : *entries) {
    llvm::json::Object object{{"verdict", describe(entry.verdict)},
                              {"pass", entry.pass},
                              {"name", entry.name},
                              {"node", entry.node},
                              {"message", entry.message}};
    if (!entry.file.empty()) {
      object["file"] = entry.file;
      object["line"] = entry.line;
    }
    if (!entry.suggestion.empty())
      object["suggestion"] = entry.suggestion;
    result.push_back(std::move(object));
  }
  return result;
}
