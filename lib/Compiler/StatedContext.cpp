//===- StatedContext.cpp - what options say of a module ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "StatedContext.h"

#include "FirstDiagnostic.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Vocabulary/StatedPlacements.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

/// Sets the members of groups that the user states, in the module's list of
/// groups and in all ops. Returns an error if the sizes of groups do not match.
static llvm::Error applyGroups(ModuleOp module,
                               const vocabulary::DistributedContext &stated) {
  if (stated.groups.empty())
    return llvm::Error::success();
  Builder builder(module.getContext());
  std::map<std::string, tp::GroupAttr> groups;
  for (const auto &[name, ranks] : stated.groups) {
    SmallVector<int64_t> flat;
    for (const std::vector<int64_t> &members : ranks)
      llvm::append_range(flat, members);
    groups[name] =
        tp::GroupAttr::get(module.getContext(), name,
                           static_cast<int64_t>(ranks.front().size()), flat);
  }
  llvm::SetVector<Attribute> list;
  auto replace = [&](tp::GroupAttr group) {
    auto found = groups.find(group.getName().str());
    return found == groups.end() ? group : found->second;
  };
  for (tp::GroupAttr group : analysis::getGroups(module))
    list.insert(replace(group));
  for (const auto &[name, group] : groups)
    list.insert(group);
  module->setAttr(tp::TPDialect::groupsAttrName,
                  builder.getArrayAttr(list.getArrayRef()));
  module.walk([&](Operation *op) {
    if (auto group = op->getAttrOfType<tp::GroupAttr>("group"))
      op->setAttr("group", replace(group));
  });
  FirstDiagnostic diagnostic(module.getContext());
  if (failed(verify(module)))
    return llvm::createStringError("with the groups that --group states: " +
                                   diagnostic.getMessage());
  return llvm::Error::success();
}

llvm::Error
compiler::applyContext(ModuleOp module,
                       const vocabulary::DistributedContext &stated) {
  SmallVector<tp::GroupAttr> groups = analysis::getGroups(module);
  vocabulary::StatedNames names{groups, {}, {}};
  bool hasUnstated = llvm::any_of(groups, [&](tp::GroupAttr group) {
    return !group.hasKnownMembers() &&
           stated.groups.count(group.getName().str()) == 0;
  });
  if (llvm::Error error =
          vocabulary::checkStatedGroups(stated, names, hasUnstated))
    return error;
  if (llvm::Error error =
          vocabulary::checkStatedAssumptions(module, stated, names))
    return error;
  if (llvm::Error error = applyGroups(module, stated))
    return error;
  Builder builder(module.getContext());
  if (stated.rank)
    module->setAttr(tp::TPDialect::rankAttrName,
                    builder.getI64IntegerAttr(*stated.rank));
  if (!stated.assumptions.empty()) {
    llvm::SetVector<Attribute> all;
    if (auto known = module->getAttrOfType<ArrayAttr>(
            tp::TPDialect::assumptionsAttrName))
      all.insert(known.begin(), known.end());
    for (const std::string &assumption : stated.assumptions)
      all.insert(builder.getStringAttr(assumption));
    module->setAttr(tp::TPDialect::assumptionsAttrName,
                    builder.getArrayAttr(all.getArrayRef()));
  }
  if (stated.rules.empty() && !stated.rank)
    return llvm::Error::success();
  func::FuncOp function = analysis::getMain(module);
  if (!function)
    return llvm::createStringError(
        "--input-placement and --rank need a module with one function");
  groups = analysis::getGroups(module);
  names.groups = groups;
  return vocabulary::statePlacements(function, stated, names, stated.rank);
}
