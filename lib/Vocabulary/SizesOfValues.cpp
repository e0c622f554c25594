//===- SizesOfValues.cpp - sizes that a graph determines --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SizesOfValues.h"

#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Dialect/SymbolNames.h"
#include "commute/Dialect/TPDialect.h"

#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;

SmallVector<Attribute> SizesOfValues::collectNewSymbols(const Argument &value) {
  SmallVector<Attribute> names;
  auto add = [&](StringAttr name) {
    // A symbol that had a value at capture is one of the inputs' sizes.
    if (known.insert(name).second && !hints.contains(name.getValue().str()))
      names.push_back(name);
  };
  if (value.tag == ArgumentTag::Tensor) {
    if (RankedTensorType type = reader.getTensorType(value.text))
      llvm::for_each(tp::getSymbolNames(type), add);
  } else if (tp::Size number = reader.getNumber(value.text);
             number && !number.getConstant()) {
    number.getSymbolic().walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        add(reader.getSymbols().getNames()[symbol.getPosition()]);
    });
  }
  return names;
}

void SizesOfValues::noteKnown(const Argument &value) {
  collectNewSymbols(value);
}

/// Appends to an array attribute of an op.
static void append(Operation *op, StringRef attribute,
                   ArrayRef<Attribute> elements) {
  SmallVector<Attribute> all;
  if (auto own = op->getAttrOfType<ArrayAttr>(attribute))
    all.assign(own.begin(), own.end());
  llvm::append_range(all, elements);
  op->setAttr(attribute, ArrayAttr::get(op->getContext(), all));
}

void SizesOfValues::note(const archive::Node &node) {
  // Nearly all nodes of nearly all graphs have static sizes.
  if (reader.getSymbols().getNames().empty())
    return;
  for (const Argument &output : node.outputs)
    output.forEachValue([&](const Argument &value) {
      SmallVector<Attribute> names = collectNewSymbols(value);
      Value result = reader.getValue(value.text);
      if (names.empty() || !result || !result.getDefiningOp())
        return;
      SmallVector<Attribute> ranges;
      for (Attribute name : names) {
        auto stated = program.rangeConstraints.find(
            cast<StringAttr>(name).getValue().str());
        archive::RangeConstraint range;
        if (stated != program.rangeConstraints.end())
          range = stated->second;
        ranges.push_back(builder.getDenseI64ArrayAttr(
            {range.min.value_or(0),
             range.max.value_or(std::numeric_limits<int64_t>::max())}));
      }
      Operation *op = result.getDefiningOp();
      append(op, tp::sizesOfValuesAttrName, names);
      append(op, tp::rangesOfValuesAttrName, ranges);
    });
}
