//===- CollectiveOrder.cpp - collectives that one rank lacks --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectiveOrder.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Report/RemarkCollector.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

namespace {
struct Collective {
  Operation *op;
  /// What corresponding collectives have in common.
  std::string text, name;
};
} // namespace

static std::vector<Collective> collect(func::FuncOp function,
                                       ArrayRef<int64_t> group, int64_t rank) {
  std::vector<Collective> collectives;
  for (Operation &op : function.getBody().front()) {
    auto collective = dyn_cast<tp::CollectiveOpInterface>(op);
    if (!collective ||
        collective.getCollectiveGroup().getMembersAround(rank) != group)
      continue;
    std::string node, file;
    unsigned line = 0;
    report::describeLocation(op.getLoc(), node, file, line);
    std::string text = collective.getCollectiveText() + " " + file + ":" +
                       std::to_string(line);
    collectives.push_back({&op, text, node + " " + text});
  }
  return collectives;
}

/// Returns the first of `all` that is not in `part`, where `part` is `all`
/// without some; null if it is not.
static Operation *findLeftOut(ArrayRef<Collective> all,
                              ArrayRef<Collective> part,
                              std::string Collective::*key) {
  Operation *leftOut = nullptr;
  for (const Collective &own : all) {
    if (!part.empty() && own.*key == part.front().*key)
      part = part.drop_front();
    else if (!leftOut)
      leftOut = own.op;
  }
  return part.empty() ? leftOut : nullptr;
}

std::optional<UnmatchedCollective>
refinement::findUnmatchedCollective(func::FuncOp first, func::FuncOp second,
                                    ArrayRef<int64_t> group, int64_t firstRank,
                                    int64_t secondRank) {
  std::vector<Collective> a = collect(first, group, firstRank),
                          b = collect(second, group, secondRank);
  for (std::string Collective::*key : {&Collective::name, &Collective::text}) {
    if (Operation *op = findLeftOut(a, b, key))
      return UnmatchedCollective{op, true};
    if (Operation *op = findLeftOut(b, a, key))
      return UnmatchedCollective{op, false};
  }
  return std::nullopt;
}
