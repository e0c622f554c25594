//===- PlacementAnalysis.cpp - how values differ between ranks --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Placements/PlacementAnalysis.h"

#include "Placements/PlacementTransfer.h"
#include "commute/Analysis/OtherRanks.h"

#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/SparseAnalysis.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::PlacementAttr;
using tp::PlacementKind;

namespace {

/// Placements of one value by group; empty while nothing has reached it.
class PlacementState {
public:
  PlacementState() = default;
  explicit PlacementState(SmallVector<PlacementAttr, 2> placements)
      : placements(std::move(placements)) {}

  bool isKnown() const { return !placements.empty(); }
  ArrayRef<PlacementAttr> get() const { return placements; }
  bool operator==(const PlacementState &other) const {
    return placements == other.placements;
  }

  /// Placements that disagree join to varying.
  static PlacementState join(const PlacementState &a, const PlacementState &b) {
    if (!a.isKnown())
      return b;
    if (!b.isKnown())
      return a;
    PlacementState result = a;
    for (auto [own, other] : llvm::zip_equal(result.placements, b.placements))
      if (own != other)
        own = PlacementAttr::getVarying(own.getContext());
    return result;
  }

  void print(llvm::raw_ostream &os) const {
    llvm::interleaveComma(placements, os, [&](PlacementAttr placement) {
      os << placement.getText();
    });
  }

private:
  SmallVector<PlacementAttr, 2> placements;
};

using PlacementLattice = dataflow::Lattice<PlacementState>;

class PlacementDataFlow
    : public dataflow::SparseForwardDataFlowAnalysis<PlacementLattice> {
public:
  PlacementDataFlow(DataFlowSolver &solver, const InputPlacements &inputs,
                    ArrayRef<tp::GroupAttr> groups, GroupRelations &relations,
                    bool knowsOtherRanks)
      : SparseForwardDataFlowAnalysis(solver), inputs(inputs), groups(groups),
        relations(relations), knowsOtherRanks(knowsOtherRanks) {}

  LogicalResult visitOperation(Operation *op,
                               ArrayRef<const PlacementLattice *> operands,
                               ArrayRef<PlacementLattice *> results) override {
    for (const PlacementLattice *operand : operands)
      if (!operand->getValue().isKnown())
        return success();
    SmallVector<SmallVector<PlacementAttr, 2>> placements(results.size());
    for (auto [index, group] : llvm::enumerate(groups)) {
      if (!knowsOtherRanks && !isKnownOnOtherRanks(op, group)) {
        for (SmallVector<PlacementAttr, 2> &list : placements)
          list.push_back(PlacementAttr::getVarying(op->getContext()));
        continue;
      }
      SmallVector<PlacementAttr> before;
      for (const PlacementLattice *operand : operands)
        before.push_back(operand->getValue().get()[index]);
      for (auto [list, placement] : llvm::zip_equal(
               placements, transferPlacements(op, group, before, relations)))
        list.push_back(placement);
    }
    for (auto [lattice, list] : llvm::zip_equal(results, placements))
      propagateIfChanged(lattice, lattice->join(PlacementState(list)));
    return success();
  }

  void setToEntryState(PlacementLattice *lattice) override {
    SmallVector<PlacementAttr, 2> placements;
    auto argument = dyn_cast<BlockArgument>(lattice->getAnchor());
    bool isInput =
        argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
    for (tp::GroupAttr group : groups)
      placements.push_back(isInput
                               ? inputs.get(argument.getArgNumber(), group)
                               : PlacementAttr::getVarying(group.getContext()));
    propagateIfChanged(lattice, lattice->join(PlacementState(placements)));
  }

private:
  /// Without the programs of the other ranks: whether an op computes values of
  /// a known placement on them. Their collectives are the same as ours, what
  /// they compute in between may be anything.
  static bool isKnownOnOtherRanks(Operation *op, tp::GroupAttr group) {
    auto grouped = dyn_cast<tp::GroupOpInterface>(op);
    return isa<tp::CompletionOpInterface>(op) ||
           (grouped && isa<tp::CollectiveOpInterface>(op) &&
            grouped.getRankGroup().hasSameMembers(group));
  }

  const InputPlacements &inputs;
  ArrayRef<tp::GroupAttr> groups;
  GroupRelations &relations;
  bool knowsOtherRanks;
};

} // namespace

llvm::Expected<PlacementAnalysis>
PlacementAnalysis::run(func::FuncOp function,
                       InputPlacements::Default defaults) {
  llvm::Expected<InputPlacements> inputs =
      InputPlacements::resolveInAnyWorld(function, defaults);
  if (!inputs)
    return inputs.takeError();
  PlacementAnalysis result;
  result.relations = std::make_shared<GroupRelations>();
  result.inputs = std::move(*inputs);
  result.hasAllRanks = !areOtherRanksUnknown(function);
  // One group for each membership: names do not matter here.
  for (tp::GroupAttr group :
       analysis::getGroups(function->getParentOfType<ModuleOp>()))
    if (llvm::none_of(result.groups, [&](tp::GroupAttr known) {
          return known.hasSameMembers(group);
        }))
      result.groups.push_back(group);
  if (result.groups.empty())
    return result;
  result.solver = std::make_shared<DataFlowSolver>();
  // Constants decide only which way branches go, and no op of these graphs
  // branches. To propagate them takes a third of the time.
  result.solver->load<dataflow::DeadCodeAnalysis>();
  result.solver->load<PlacementDataFlow>(result.inputs,
                                         ArrayRef<tp::GroupAttr>(result.groups),
                                         *result.relations, result.hasAllRanks);
  if (failed(result.solver->initializeAndRun(function)))
    return llvm::createStringError("placement analysis failed");
  return result;
}

PlacementAttr PlacementAnalysis::getPlacement(Value value,
                                              tp::GroupAttr group) const {
  for (auto [index, known] : llvm::enumerate(groups)) {
    if (!known.hasSameMembers(group))
      continue;
    auto *lattice = solver->lookupState<PlacementLattice>(value);
    if (lattice && lattice->getValue().isKnown())
      return lattice->getValue().get()[index];
  }
  return PlacementAttr::getVarying(value.getContext());
}

std::vector<PlacementProblem>
PlacementAnalysis::findProblems(func::FuncOp function) const {
  std::vector<PlacementProblem> problems;
  for (tp::GroupAttr group : groups) {
    function.walk([&](Operation *op) {
      SmallVector<PlacementAttr> operands;
      for (Value operand : op->getOperands())
        operands.push_back(getPlacement(operand, group));
      if (isa<func::ReturnOp>(op)) {
        for (auto [index, placement] : llvm::enumerate(operands))
          if (placement.getKind() == PlacementKind::Partial)
            problems.push_back({op, "output " + std::to_string(index) +
                                        " is partial on group '" +
                                        group.getKey() +
                                        "'; it must be reduced first"});
        return;
      }
      if (std::optional<std::string> misuse =
              findMisuse(op, group, operands, *relations))
        problems.push_back({op, *misuse});
    });
  }
  return problems;
}
