//===- StaticChecks.cpp - what evaluation cannot see ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "StaticChecks.h"

#include "commute/Analysis/Collectives/CollectiveOrder.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Analysis/Sizes/StrideAnalysis.h"
#include "commute/Dialect/OpaqueOperators.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

template <typename Printable>
static std::string toText(Printable value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

static OperandRange getOutputs(func::FuncOp function) {
  return function.getBody().front().getTerminator()->getOperands();
}

static void checkOutputs(func::FuncOp first, func::FuncOp second,
                         const analysis::StrideAnalysis &firstStrides,
                         const analysis::StrideAnalysis &secondStrides,
                         VerifyResult &result) {
  for (auto [index, a, b] :
       llvm::enumerate(getOutputs(first), getOutputs(second))) {
    auto add = [&, a = a, b = b,
                index = index](const Twine &what) -> Difference & {
      return result.differences.emplace_back(
          ("output " + Twine(index) + " has " + what).str(), a.getLoc(),
          b.getLoc());
    };
    auto aType = dyn_cast<RankedTensorType>(a.getType());
    auto bType = dyn_cast<RankedTensorType>(b.getType());
    if (!aType || !bType) {
      if (a.getType() != b.getType())
        add("another type");
      continue;
    }
    if (aType.getElementType() != bType.getElementType())
      add("element type " + toText(bType.getElementType()) + " instead of " +
          toText(aType.getElementType()));
    if (aType.getShape() != bType.getShape()) {
      add("type " + toText(bType) + " instead of " + toText(aType));
      continue;
    }
    // Two dense layouts are equal, even if the strides of single elements
    // differ.
    tp::Density aDensity = firstStrides.getLayout(a).density;
    tp::Density bDensity = secondStrides.getLayout(b).density;
    bool bothDense =
        aDensity == tp::Density::Dense && bDensity == tp::Density::Dense;
    if (!bothDense && aType != bType)
      add("type " + toText(bType) + " instead of " + toText(aType) +
          ": other strides")
          .isLayout = true;
  }
}

/// The inputs that must be dense, by density.
static unsigned countNotDense(func::FuncOp function,
                              const analysis::StrideAnalysis &strides,
                              Operation *&culprit) {
  unsigned count = 0;
  function.walk([&](tp::DenseOperandsOpInterface op) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!op.requiresDense(operand) ||
          strides.getLayout(operand.get()).density == tp::Density::Dense)
        continue;
      ++count;
      culprit = op;
    }
  });
  return count;
}

/// All ranks run the same program, so they agree on any order. A rank that runs
/// the first program does not agree with one that runs the second.
static void noteOrders(func::FuncOp first, func::FuncOp second,
                       VerifyResult &result) {
  auto collect = [](func::FuncOp function) {
    llvm::MapVector<tp::GroupAttr, std::vector<std::string>> collectives;
    for (auto op : function.getOps<tp::CollectiveOpInterface>())
      collectives[op.getCollectiveGroup()].push_back(
          analysis::describeCollective(op));
    return collectives;
  };
  auto firstCollectives = collect(first), secondCollectives = collect(second);
  for (auto &[group, own] : firstCollectives) {
    std::vector<std::string> &other = secondCollectives[group];
    if (own == other)
      continue;
    llvm::sort(own);
    llvm::sort(other);
    if (own == other)
      result.notes.push_back("the collectives of group '" +
                             group.getName().str() +
                             "' are in another order in the second program: "
                             "all of its ranks must run the second program");
  }
}

/// Returns why it is unknown whether a call may fail that only its program
/// makes, if it asserts something of a size that depends on values.
static std::optional<Undecided> getSizeAsserted(tp::CallOp call) {
  bool asserts =
      tp::isAssertion(call) &&
      llvm::none_of(call.getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  return asserts ? findSizeOfValues(call->getParentOfType<func::FuncOp>())
                 : std::nullopt;
}

/// Opaque ops may have side effects, so both programs must contain the same
/// ones in the same order.
static void checkCalls(func::FuncOp first, func::FuncOp second,
                       VerifyResult &result) {
  auto collect = [](func::FuncOp function, bool all) {
    return llvm::to_vector(llvm::make_filter_range(
        function.getOps<tp::CallOp>(), [&](tp::CallOp call) {
          return tp::mayHaveEffects(call) &&
                 (all || !tp::hasKnownEffects(call));
        }));
  };
  // If only known effects differ, the programs do.
  for (bool all : {false, true}) {
    auto firstCalls = collect(first, all);
    auto secondCalls = collect(second, all);
    auto fail = [&](const Twine &message, Location a, Location b,
                    tp::CallOp culprit) {
      Difference &difference =
          result.differences.emplace_back(message.str(), a, b);
      difference.cause =
          all ? getSizeAsserted(culprit) : describeUndecided(culprit);
    };
    for (auto [a, b] : llvm::zip(firstCalls, secondCalls))
      if (a.getCallee() != b.getCallee() ||
          a.getArguments() != b.getArguments())
        return fail("opaque ops are not the same ones in the same order",
                    a.getLoc(), b.getLoc(), b);
    if (firstCalls.size() == secondCalls.size())
      continue;
    size_t common = std::min(firstCalls.size(), secondCalls.size());
    return fail("the programs have " + Twine(firstCalls.size()) + " and " +
                    Twine(secondCalls.size()) + " opaque ops",
                first.getLoc(), second.getLoc(),
                firstCalls.size() > common ? firstCalls[common]
                                           : secondCalls[common]);
  }
}

void equivalence::checkStatically(func::FuncOp first, func::FuncOp second,
                                  VerifyResult &result) {
  analysis::StrideAnalysis firstStrides(first);
  analysis::StrideAnalysis secondStrides(second);
  checkOutputs(first, second, firstStrides, secondStrides, result);

  Operation *culprit = nullptr;
  unsigned before = countNotDense(first, firstStrides, culprit);
  unsigned after = countNotDense(second, secondStrides, culprit);
  if (after > before) {
    Difference &difference = result.differences.emplace_back(
        "the second program gives a collective an input that may not be dense "
        "where the first does not",
        first.getLoc(), culprit->getLoc());
    difference.isLayout = true;
  }

  noteOrders(first, second, result);

  // Every rank runs every op.
  SmallVector<int64_t> world =
      analysis::getWorld(second->getParentOfType<ModuleOp>());
  second.walk([&](tp::CollectiveOpInterface op) {
    for (int64_t rank : world)
      if (op.getCollectiveGroup().getMembersAround(rank).empty()) {
        result.differences.push_back(
            {"rank " + std::to_string(rank) +
                 " runs a collective of a group that it is not in",
             first.getLoc(), op.getLoc()});
        return;
      }
  });

  checkCalls(first, second, result);
}
