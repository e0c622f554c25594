//===- NodeName.cpp - the name of an op in messages -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/NodeName.h"

#include "commute/Dialect/TPDialect.h"

using namespace mlir;

std::string commute::getNodeName(Operation *op) {
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    return "'" + name.getName().str() + "'";
  return op->getName().getStringRef().str();
}

std::string commute::getKindName(Operation *op) {
  if (auto call = dyn_cast<tp::CallOp>(op))
    return call.getCallee().str();
  return op->getName().stripDialect().str();
}

StringAttr commute::getFirstName(Operation *op) {
  auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
  return names && !names.empty() ? dyn_cast<StringAttr>(names[0])
                                 : StringAttr();
}
