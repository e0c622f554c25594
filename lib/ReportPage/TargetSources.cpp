//===- TargetSources.cpp - where a target's numbers come from ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/ReportPage/TargetSources.h"

using namespace commute;
using namespace commute::report;
namespace json = llvm::json;

Evidence report::getEvidence(llvm::StringRef source) {
  if (source.starts_with_insensitive("assumed"))
    return Evidence::Assumed;
  if (source.contains_insensitive("measured") ||
      source.contains_insensitive("fitted"))
    return Evidence::Measured;
  return Evidence::Stated;
}

static llvm::StringRef getName(Evidence evidence) {
  switch (evidence) {
  case Evidence::Measured:
    return "measured";
  case Evidence::Stated:
    return "stated";
  case Evidence::Assumed:
    return "assumed";
  }
  llvm_unreachable("all kinds of evidence are listed");
}

/// Appends every object with a source; `path` names it.
static void collect(const json::Value &value, const std::string &path,
                    json::Array &sources) {
  if (const json::Array *array = value.getAsArray()) {
    for (const json::Value &element : *array)
      collect(element, path, sources);
    return;
  }
  const json::Object *object = value.getAsObject();
  if (!object)
    return;
  if (std::optional<llvm::StringRef> source = object->getString("source")) {
    std::string name = path;
    if (std::optional<int64_t> size = object->getInteger("group_size"))
      name += ", " + std::to_string(*size) + " devices";
    sources.push_back(
        json::Object{{"number", name},
                     {"source", source->str()},
                     {"evidence", getName(getEvidence(*source))}});
    return;
  }
  for (const auto &[key, element] : *object)
    collect(element, (path.empty() ? "" : path + ".") + key.str(), sources);
}

json::Object report::describeTarget(const target::Target &target) {
  json::Array sources;
  collect(target.toJson(), "", sources);
  std::map<std::string, int64_t> counts;
  for (const json::Value &source : sources)
    ++counts[source.getAsObject()->getString("evidence")->str()];
  return json::Object{{"name", target.name},
                      {"description", target.description},
                      {"measured", counts["measured"]},
                      {"stated", counts["stated"]},
                      {"assumed", counts["assumed"]},
                      {"sources", std::move(sources)}};
}
