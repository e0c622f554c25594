//===- GroupSpelling.cpp - how a graph spells a group's ops ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/GroupSpelling.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commute::tp;

static constexpr llvm::StringLiteral vocabularyKey = "vocabulary";
static constexpr llvm::StringLiteral processGroupKey = "process_group";
static constexpr llvm::StringLiteral gathersAnyDimKey = "gathers_any_dim";
static constexpr llvm::StringLiteral scattersAnyDimKey = "scatters_any_dim";
static constexpr llvm::StringLiteral noReduceScatterKey = "no_reduce_scatter";
static constexpr llvm::StringLiteral onlySumsKey = "only_sums";

Attribute GroupSpelling::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  NamedAttrList entries;
  entries.set(vocabularyKey, builder.getStringAttr(vocabulary));
  if (!processGroup.empty())
    entries.set(processGroupKey, builder.getStringAttr(processGroup));
  auto addFlag = [&](StringRef key, bool isSet) {
    if (isSet)
      entries.set(key, builder.getUnitAttr());
  };
  addFlag(gathersAnyDimKey, gathersAnyDim);
  addFlag(scattersAnyDimKey, scattersAnyDim);
  addFlag(noReduceScatterKey, !hasReduceScatter);
  addFlag(onlySumsKey, onlySums);
  return entries.getDictionary(context);
}

GroupSpelling commute::tp::getGroupSpelling(GroupAttr group, Operation *op) {
  GroupSpelling result;
  result.processGroup = group.getName();
  // TensorCast's groups are lists of ranks without names.
  if (group.getName().empty()) {
    result.gathersAnyDim = result.scattersAnyDim = result.onlySums = true;
    return result;
  }
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto spellings =
      module ? module->getAttrOfType<DictionaryAttr>(groupSpellingsAttrName)
             : DictionaryAttr();
  auto entry = spellings ? spellings.getAs<DictionaryAttr>(group.getName())
                         : DictionaryAttr();
  if (!entry)
    return result;
  auto getText = [&](StringRef key) {
    auto text = entry.getAs<StringAttr>(key);
    return text ? text.getValue() : StringRef();
  };
  result.vocabulary = getText(vocabularyKey);
  result.processGroup = getText(processGroupKey);
  result.gathersAnyDim = entry.contains(gathersAnyDimKey);
  result.scattersAnyDim = entry.contains(scattersAnyDimKey);
  result.hasReduceScatter = !entry.contains(noReduceScatterKey);
  result.onlySums = entry.contains(onlySumsKey);
  return result;
}

LogicalResult commute::tp::verifyGroupSpellings(Operation *op,
                                                Attribute value) {
  auto spellings = dyn_cast<DictionaryAttr>(value);
  if (spellings && llvm::all_of(spellings, [](NamedAttribute entry) {
        return isa<DictionaryAttr>(entry.getValue());
      }))
    return success();
  return op->emitError("attribute 'tp.group_spellings' must be a dictionary "
                       "from group names to dictionaries");
}
