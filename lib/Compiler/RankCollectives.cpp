//===- RankCollectives.cpp - do ranks communicate together? -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "MergedRanks.h"

#include "commute/Analysis/Collectives/CollectiveOrder.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

char RanksDisagreeError::ID = 0;

void RanksDisagreeError::log(llvm::raw_ostream &os) const { os << text; }

static std::string describe(const LoadedProgram &program, Operation *op) {
  return "rank " + std::to_string(program.rank) + " runs " +
         analysis::describeCollective(op) + ", " +
         report::describeLocation(op->getLoc());
}

/// Compares the collectives of two members of a group.
static llvm::Error compare(ArrayRef<int64_t> members,
                           const LoadedProgram &firstProgram,
                           const LoadedProgram &secondProgram) {
  auto get = [&](const LoadedProgram &program) {
    return analysis::getCollectives(analysis::getMain(program.getModule()),
                                    members, program.rank);
  };
  std::vector<tp::CollectiveOpInterface> first = get(firstProgram),
                                         second = get(secondProgram);
  std::string group = "the group of ranks " +
                      llvm::join(llvm::map_range(members,
                                                 [](int64_t rank) {
                                                   return std::to_string(rank);
                                                 }),
                                 ", ");
  auto fail = [&](const Twine &what) {
    return llvm::make_error<RanksDisagreeError>(
        (secondProgram.origin + ": " + what +
         "; all ranks of a group must issue the same collectives in the same "
         "order")
            .str());
  };
  for (auto [index, a, b] :
       llvm::enumerate(ArrayRef(first).take_front(second.size()),
                       ArrayRef(second).take_front(first.size()))) {
    std::string mismatch = analysis::findMismatch(a, b);
    if (!mismatch.empty())
      return fail("collective " + Twine(index) + " of " + group +
                  " does not match: " + describe(firstProgram, a) + ", and " +
                  describe(secondProgram, b) + "; these " + mismatch);
  }
  if (first.size() == second.size())
    return llvm::Error::success();
  bool firstHasMore = first.size() > second.size();
  const LoadedProgram &longer = firstHasMore ? firstProgram : secondProgram;
  const LoadedProgram &shorter = firstHasMore ? secondProgram : firstProgram;
  Operation *extra = firstHasMore ? first[second.size()] : second[first.size()];
  return fail(describe(longer, extra) + ", and rank " + Twine(shorter.rank) +
              " returns without taking part in this collective of " + group);
}

llvm::Error compiler::checkCollectives(ArrayRef<LoadedProgram> programs) {
  std::map<int64_t, const LoadedProgram *> programOf;
  for (const LoadedProgram &program : programs)
    programOf[program.rank] = &program;
  for (const LoadedProgram &program : programs) {
    // Each member is compared with the first one of each of its groups.
    std::set<std::vector<int64_t>> groups;
    func::FuncOp main = analysis::getMain(program.getModule());
    for (auto op : main.getOps<tp::CollectiveOpInterface>())
      groups.insert(op.getCollectiveGroup().getMembersAround(program.rank));
    for (const std::vector<int64_t> &members : groups) {
      for (int64_t member : members) {
        auto other = programOf.find(member);
        if (other == programOf.end() || member == program.rank)
          continue;
        // A rank without any collective of the group is compared from here.
        auto [first, second] =
            std::minmax({&program, other->second},
                        [](const LoadedProgram *a, const LoadedProgram *b) {
                          return a->rank < b->rank;
                        });
        if (llvm::Error error = compare(members, *first, *second))
          return error;
        break;
      }
    }
  }
  return llvm::Error::success();
}
