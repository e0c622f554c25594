//===- RewriteDrawings.cpp - rewrites drawn before and after ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/ReportPage/RewriteDrawings.h"

#include "GraphDrawing.h"

using namespace mlir;
using namespace commute;
using namespace commute::report;
namespace json = llvm::json;

namespace {
/// Rewritten ops of the first program with the ops around them.
struct Place {
  std::vector<Operation *> anchors;
  std::vector<const RemarkEntry *> remarks;
};

/// Places that look alike.
struct RewriteKind {
  std::vector<DrawnBox> before, after;
  double secondsBefore = 0, secondsAfter = 0;
  std::vector<const RemarkEntry *> remarks;
  std::vector<std::string> nodes;
  llvm::SetVector<StringRef> layers;
  size_t count = 0;
};
} // namespace

/// Returns the places of the applied remarks, in program order of the remarks.
static llvm::MapVector<Operation *, Place>
findPlaces(const DividedProgram &before, llvm::ArrayRef<RemarkEntry> remarks) {
  llvm::MapVector<Operation *, Place> places;
  for (const RemarkEntry &remark : remarks) {
    if (remark.verdict != Verdict::Applied)
      continue;
    for (Operation *op : before.getOps(remark.node)) {
      Operation *key = before.getPlace(op);
      if (!key)
        continue;
      Place &place = places[key];
      if (!llvm::is_contained(place.anchors, op))
        place.anchors.push_back(op);
      if (!llvm::is_contained(place.remarks, &remark))
        place.remarks.push_back(&remark);
    }
  }
  return places;
}

/// Returns the ops of the second program that stand for the nodes of `ops`, in
/// program order.
static std::vector<Operation *>
findCounterparts(llvm::ArrayRef<Operation *> ops, const DividedProgram &after) {
  llvm::DenseSet<Operation *> found;
  for (Operation *op : ops)
    for (Operation *counterpart : after.getOps(getNode(op)))
      if (!after.isConstant(counterpart))
        found.insert(counterpart);
  std::vector<Operation *> result(found.begin(), found.end());
  llvm::sort(result,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return result;
}

static double sumSeconds(llvm::ArrayRef<DrawnBox> boxes) {
  double sum = 0;
  for (const DrawnBox &box : boxes)
    sum += box.seconds;
  return sum;
}

static bool hasChange(llvm::ArrayRef<DrawnBox> boxes) {
  return llvm::any_of(
      boxes, [](const DrawnBox &box) { return box.change != Change::None; });
}

static json::Object describeKind(const RewriteKind &kind) {
  json::Array remarks, nodes, layers;
  for (const RemarkEntry *remark : kind.remarks) {
    json::Object object{{"pass", remark->pass},
                        {"name", remark->name},
                        {"node", json::fixUTF8(remark->node)},
                        {"message", json::fixUTF8(remark->message)}};
    if (!remark->file.empty()) {
      object["file"] = json::fixUTF8(remark->file);
      object["line"] = remark->line;
    }
    remarks.push_back(std::move(object));
  }
  for (const std::string &node : kind.nodes)
    nodes.push_back(json::fixUTF8(node));
  for (StringRef layer : kind.layers)
    layers.push_back(json::fixUTF8(layer));
  return json::Object{{"count", static_cast<int64_t>(kind.count)},
                      {"layers", std::move(layers)},
                      {"nodes", std::move(nodes)},
                      {"remarks", std::move(remarks)},
                      {"seconds_before", kind.secondsBefore},
                      {"seconds_after", kind.secondsAfter},
                      {"before", report::toJson(kind.before)},
                      {"after", report::toJson(kind.after)}};
}

json::Array report::drawRewrites(const DrawnProgram &before,
                                 const DrawnProgram &after,
                                 llvm::ArrayRef<RemarkEntry> remarks) {
  DividedProgram first(before), second(after);
  Counterparts inFirst(first), inSecond(second);
  std::vector<RewriteKind> kinds;
  llvm::StringMap<size_t> indices;
  for (auto &[key, place] : findPlaces(first, remarks)) {
    std::vector<Operation *> ops = first.getNeighbourhood(place.anchors);
    RewriteKind found;
    found.before = drawGraph(ops, first, inSecond);
    found.after = drawGraph(findCounterparts(ops, second), second, inFirst);
    // A later pass restored what an earlier one changed.
    if (!hasChange(found.before) && !hasChange(found.after))
      continue;
    std::string signature =
        getSignature(found.before) + "->\n" + getSignature(found.after);
    for (const RemarkEntry *remark : place.remarks)
      signature += remark->pass + " " + remark->name + "\n";
    auto [entry, isNew] = indices.try_emplace(signature, kinds.size());
    if (isNew)
      kinds.push_back(std::move(found));
    RewriteKind &kind = kinds[entry->second];
    if (++kind.count == 1)
      kind.remarks = place.remarks;
    kind.secondsBefore += sumSeconds(kind.before);
    kind.secondsAfter += sumSeconds(kind.after);
    constexpr size_t maxNodes = 100;
    for (Operation *anchor : place.anchors) {
      if (kind.nodes.size() < maxNodes)
        kind.nodes.push_back(getNode(anchor).str());
      if (StringRef layer = before.layers.getLayer(anchor); !layer.empty())
        kind.layers.insert(layer);
    }
  }
  // Those that change most of the step first.
  std::vector<const RewriteKind *> sorted;
  for (const RewriteKind &kind : kinds)
    sorted.push_back(&kind);
  // Pointers into the vector are in the order of the program.
  llvm::sort(sorted, [](const RewriteKind *lhs, const RewriteKind *rhs) {
    double gain = lhs->secondsBefore - lhs->secondsAfter;
    double other = rhs->secondsBefore - rhs->secondsAfter;
    return std::tie(other, lhs) < std::tie(gain, rhs);
  });
  json::Array result;
  for (const RewriteKind *kind : sorted)
    result.push_back(describeKind(*kind));
  return result;
}
