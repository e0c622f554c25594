//===- StatedAttributes.cpp - verifiers of attributes -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Dialect/GroupSpelling.h"
#include "commute/Dialect/SizeAssumption.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace commute::tp;

/// Passes and tools cast the elements of these attributes without checking, so
/// verify them here.
static LogicalResult
verifyElements(Operation *op, NamedAttribute attribute, StringRef expected,
               llvm::function_ref<bool(Attribute)> isLegal) {
  auto list = dyn_cast<ArrayAttr>(attribute.getValue());
  if (list && llvm::all_of(list, isLegal))
    return success();
  return op->emitError("attribute '") << attribute.getName().getValue()
                                      << "' must be a list of " << expected;
}

template <typename AttributeType>
static LogicalResult verifyIs(Operation *op, NamedAttribute attribute,
                              StringRef expected) {
  if (isa<AttributeType>(attribute.getValue()))
    return success();
  return op->emitError("attribute '")
         << attribute.getName().getValue() << "' must be " << expected;
}

static bool isI64(Attribute attribute) {
  auto number = dyn_cast<IntegerAttr>(attribute);
  return number && number.getType().isSignlessInteger(64);
}

static LogicalResult verifyRank(Operation *op, NamedAttribute attribute) {
  if (isI64(attribute.getValue())) {
    int64_t rank = cast<IntegerAttr>(attribute.getValue()).getInt();
    if (rank >= 0 && rank < GroupAttr::maxRanks)
      return success();
  }
  return op->emitError("attribute 'tp.rank' must be a rank, for example "
                       "3 : i64");
}

static LogicalResult verifyAssumptions(Operation *op,
                                       NamedAttribute attribute) {
  auto isString = [](Attribute element) { return isa<StringAttr>(element); };
  if (failed(verifyElements(op, attribute, "strings", isString)))
    return failure();
  for (auto text :
       cast<ArrayAttr>(attribute.getValue()).getAsRange<StringAttr>())
    if (auto assumption = parseSizeAssumption(text); !assumption)
      return op->emitError(llvm::toString(assumption.takeError()));
  return success();
}

static LogicalResult verifySymbolHints(Operation *op,
                                       NamedAttribute attribute) {
  auto hints = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (hints && llvm::all_of(hints, [](NamedAttribute hint) {
        return isI64(hint.getValue());
      }))
    return success();
  return op->emitError("attribute 'tp.symbol_hints' must be a dictionary from "
                       "symbols to i64 values");
}

static LogicalResult verifySizeRanges(Operation *op, NamedAttribute attribute) {
  auto ranges = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (ranges && llvm::all_of(ranges, [](NamedAttribute range) {
        auto ends = dyn_cast<DenseI64ArrayAttr>(range.getValue());
        return ends && ends.size() == 2 && ends[0] <= ends[1];
      }))
    return success();
  return op->emitError("attribute 'tp.size_ranges' must be a dictionary from "
                       "symbols to their smallest and largest value, for "
                       "example {s0 = array<i64: 16, 64>}");
}

/// An op without results still has one name.
static LogicalResult verifyNames(Operation *op, NamedAttribute attribute) {
  auto isString = [](Attribute element) { return isa<StringAttr>(element); };
  if (failed(verifyElements(op, attribute, "strings", isString)))
    return failure();
  size_t count = cast<ArrayAttr>(attribute.getValue()).size();
  size_t expected = std::max<size_t>(op->getNumResults(), 1);
  if (count == expected)
    return success();
  return op->emitError("attribute 'tp.names' has ")
         << count << " names for " << op->getNumResults() << " results";
}

LogicalResult TPDialect::verifyOperationAttribute(Operation *op,
                                                  NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == groupsAttrName)
    return verifyElements(
        op, attribute,
        "groups, for example "
        "[#tp.group<\"0\", [0, 1]>]",
        [](Attribute group) { return isa<GroupAttr>(group); });
  if (name == rankAttrName)
    return verifyRank(op, attribute);
  if (name == assumptionsAttrName)
    return verifyAssumptions(op, attribute);
  if (name == symbolHintsAttrName)
    return verifySymbolHints(op, attribute);
  if (name == sizeRangesAttrName)
    return verifySizeRanges(op, attribute);
  if (name == groupSpellingsAttrName)
    return verifyGroupSpellings(op, attribute.getValue());
  if (name == namesAttrName)
    return verifyNames(op, attribute);
  if (name == targetAttrName)
    return verifyIs<StringAttr>(op, attribute, "a string");
  if (name == signatureAttrName)
    return verifyIs<DictionaryAttr>(op, attribute, "a dictionary");
  return success();
}

LogicalResult TPDialect::verifyRegionArgAttribute(Operation *op,
                                                  unsigned regionIndex,
                                                  unsigned argumentIndex,
                                                  NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (llvm::is_contained({nameAttrName, kindAttrName, parameterAttrName}, name))
    return verifyIs<StringAttr>(op, attribute, "a string");
  // A declaration has only types.
  auto signature = op->getAttrOfType<TypeAttr>("function_type");
  auto functionType =
      signature ? dyn_cast<FunctionType>(signature.getValue()) : FunctionType();
  auto type =
      functionType && argumentIndex < functionType.getNumInputs()
          ? dyn_cast<RankedTensorType>(functionType.getInput(argumentIndex))
          : RankedTensorType();
  if (name == valueAttrName) {
    if (!isa<IntegerAttr, FloatAttr>(attribute.getValue()))
      return op->emitError("attribute 'tp.value' must be a number");
    if (!type || !type.hasStaticShape() || type.getNumElements() != 1)
      return op->emitError(
          "attribute 'tp.value' requires a tensor with one element");
    return success();
  }
  if (name != placementsAttrName)
    return success();
  auto placements = dyn_cast<DictionaryAttr>(attribute.getValue());
  if (!placements)
    return op->emitError("attribute 'tp.placements' must be a dictionary from "
                         "group names to placements");
  std::string input = std::to_string(argumentIndex);
  if (auto all = op->getAttrOfType<ArrayAttr>("arg_attrs"))
    if (auto own = dyn_cast<DictionaryAttr>(all[argumentIndex]))
      if (auto text = own.getAs<StringAttr>(nameAttrName))
        input = "'" + text.str() + "'";
  for (NamedAttribute entry : placements) {
    auto placement = dyn_cast<PlacementAttr>(entry.getValue());
    if (!placement)
      return op->emitError("attribute 'tp.placements' must map to a placement "
                           "for group '")
             << entry.getName().getValue()
             << "', for example #tp.placement<shard(0)>";
    bool hasDim = type && placement.getDim() < type.getRank();
    if (placement.getKind() == PlacementKind::Shard && !hasDim)
      return op->emitError("input ")
             << input << " is placed " << placement.getText()
             << ", but has no such dim";
  }
  return success();
}
