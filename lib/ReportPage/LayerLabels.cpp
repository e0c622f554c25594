//===- LayerLabels.cpp - the layer that an op belongs to --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/ReportPage/LayerLabels.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::report;

StringRef report::getLayerOfParameter(StringRef name) {
  // Attributes separate components by dots, graphs by underscores. A name with
  // dots may contain underscores within a component.
  char separator = name.contains('.') ? '.' : '_';
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find(separator, begin), name.size());
    StringRef component = name.slice(begin, end);
    // The first component is the name of a module, not of its child.
    if (begin > 0 && !component.empty() &&
        llvm::all_of(component, llvm::isDigit))
      return name.take_front(end);
    begin = end + 1;
  }
  return "";
}

LayerLabels::LayerLabels(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto getText = [&](StringRef attribute) {
      auto text = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                        attribute);
      return text ? text.getValue() : "";
    };
    Label &label = ofValues[argument];
    StringRef kind = getText(tp::TPDialect::kindAttrName);
    label.isConstant = !kind.empty() && kind != "user_input";
    StringRef name = getText(tp::TPDialect::parameterAttrName);
    if (name.empty())
      name = getText(tp::TPDialect::nameAttrName);
    if (label.isConstant)
      label.layer = getLayerOfParameter(name);
  }
  unsigned position = 0;
  for (Block &block : function.getBody())
    for (Operation &op : block) {
      Label label = getLabel(op, ++position);
      ofOps[&op] = label.layer;
      for (Value result : op.getResults())
        ofValues[result] = label;
    }
}

LayerLabels::Label LayerLabels::getLabel(Operation &op,
                                         unsigned position) const {
  Label result{"", position, true};
  const Label *last = nullptr;
  bool hasParameter = false;
  for (Value operand : op.getOperands()) {
    auto found = ofValues.find(operand);
    if (found == ofValues.end())
      continue;
    const Label &label = found->second;
    if (!label.isConstant) {
      result.isConstant = false;
      if (!last || label.position >= last->position)
        last = &label;
      continue;
    }
    // Constants that the program creates belong to no layer.
    bool isParameter = isa<BlockArgument>(operand) || !label.layer.empty();
    hasParameter |= isParameter;
    if (result.layer.empty())
      result.layer = label.layer;
  }
  // A parameter outside the layers, such as the last norm's, ends them.
  if (!hasParameter && last)
    result.layer = last->layer;
  return result;
}

StringRef LayerLabels::getLayer(Operation *op) const {
  return ofOps.lookup(op);
}

bool LayerLabels::isConstant(Value value) const {
  return ofValues.lookup(value).isConstant;
}
