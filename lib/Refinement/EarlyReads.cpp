//===- EarlyReads.cpp - values that ranks use too early -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EarlyReads.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Equivalence/ArrivalChecks.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

namespace {
class EarlyReadFinder {
public:
  /// `owner` is "the reference", or "rank 1" where ranks differ.
  void visit(ModuleOp module, const std::string &owner);

  std::vector<Finding> findings;

private:
  /// `text` is the same for all ranks that run the op.
  void add(const std::string &text, std::string message, Location location) {
    if (known.insert(text).second)
      findings.push_back({std::move(message), equivalence::earlyReadFix.str(),
                          location, std::nullopt, ""});
  }

  llvm::StringSet<> known;
};
} // namespace

void EarlyReadFinder::visit(ModuleOp module, const std::string &owner) {
  func::FuncOp main = analysis::getMain(module);
  if (!main)
    return;
  analysis::Arrivals arrivals(main);
  for (const analysis::EarlyRead &read : arrivals.getEarlyReads())
    add(equivalence::describe(read), equivalence::describe(read, owner),
        read.reader->getLoc());
  auto outputs = main.getBody().front().getTerminator()->getOperands();
  for (auto [index, output] : llvm::enumerate(outputs)) {
    Value pending = arrivals.getPendingOutput(index);
    if (!pending)
      continue;
    std::string text = "returned before it has arrived: output " +
                       std::to_string(index) + ": " +
                       report::describeLocation(pending.getLoc());
    add(text, owner.empty() ? text : text + " of " + owner, output.getLoc());
  }
}

void refinement::addEarlyReads(ModuleOp reference, ArrayRef<ModuleOp> ranks,
                               RefinementResult &result) {
  EarlyReadFinder finder;
  finder.visit(reference, "the reference");
  for (auto [index, module] : llvm::enumerate(ranks))
    finder.visit(module,
                 ranks.size() == 1 ? "" : "rank " + std::to_string(index));
  if (finder.findings.empty())
    return;
  using Verdict = RefinementResult::Verdict;
  if (result.verdict != Verdict::Deadlock)
    result.verdict = Verdict::Differs;
  result.undecided.reset();
  for (OutputRelation &output : result.outputs)
    output.holds = false;
  result.findings.insert(result.findings.begin(),
                         std::make_move_iterator(finder.findings.begin()),
                         std::make_move_iterator(finder.findings.end()));
}
