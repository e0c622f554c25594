//===- GraphNames.cpp - names of values in PyTorch graphs -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/Translation.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace commute;

StringRef vocabulary::getGraphName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function
                    ? function.getArgAttrOfType<StringAttr>(
                          argument.getArgNumber(), tp::TPDialect::nameAttrName)
                    : StringAttr();
    return name ? name.getValue() : StringRef();
  }
  auto result = cast<OpResult>(value);
  auto names =
      result.getOwner()->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
  if (!names || result.getResultNumber() >= names.size())
    return {};
  auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]);
  return name ? name.getValue() : StringRef();
}
