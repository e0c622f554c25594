//===- ProgramLanes.cpp - a program's ops on its two lanes ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/ReportPage/ProgramLanes.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Report/RemarkCollector.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::report;
namespace json = llvm::json;

std::string report::getShapeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor) {
    os << type;
    return text;
  }
  for (int64_t size : tensor.getShape()) {
    if (ShapedType::isDynamic(size))
      os << '?';
    else
      os << size;
    os << 'x';
  }
  if (!text.empty())
    text.back() = ' ';
  os << tensor.getElementType();
  return text;
}

static int64_t toNanoseconds(double seconds) {
  return std::llround(seconds * 1e9);
}

json::Object report::toJson(const target::Estimate &estimate,
                            const LayerLabels &layers, StringTable &strings) {
  llvm::ArrayRef<target::LaneEvent> events = estimate.events;
  size_t numLeftOut = 0;
  if (events.size() > maxDrawnEvents) {
    numLeftOut = events.size() - maxDrawnEvents;
    events = events.take_front(maxDrawnEvents);
  }
  llvm::DenseMap<Operation *, const target::OpEstimate *> estimates;
  for (const target::OpEstimate &op : estimate.ops)
    estimates[op.op] = &op;

  json::Array kind, node, shape, file, line, layer, bound;
  llvm::DenseMap<Operation *, int64_t> indices;
  auto addOp = [&](Operation *op) {
    auto [entry, isNew] = indices.try_emplace(op, indices.size());
    if (!isNew)
      return entry->second;
    std::string name, path;
    unsigned number = 0;
    describeLocation(op->getLoc(), name, path, number);
    kind.push_back(strings.add(getKindName(op)));
    node.push_back(strings.add(name));
    shape.push_back(strings.add(
        op->getNumResults() ? getShapeText(op->getResult(0).getType()) : ""));
    file.push_back(strings.add(path));
    line.push_back(number);
    layer.push_back(strings.add(layers.getLayer(op)));
    const target::OpEstimate *price = estimates.lookup(op);
    bound.push_back(
        strings.add(price ? getName(price->price.bound) : StringRef()));
    return entry->second;
  };
  json::Array opOfEvent, lane, start, time, copy;
  for (const target::LaneEvent &event : events) {
    opOfEvent.push_back(addOp(event.op));
    lane.push_back(static_cast<int64_t>(event.lane));
    start.push_back(toNanoseconds(event.startSeconds));
    time.push_back(toNanoseconds(event.seconds));
    copy.push_back(event.isCopy ? 1 : 0);
  }
  return json::Object{{"ops", json::Object{{"kind", std::move(kind)},
                                           {"node", std::move(node)},
                                           {"shape", std::move(shape)},
                                           {"file", std::move(file)},
                                           {"line", std::move(line)},
                                           {"layer", std::move(layer)},
                                           {"bound", std::move(bound)}}},
                      {"events", json::Object{{"op", std::move(opOfEvent)},
                                              {"lane", std::move(lane)},
                                              {"start", std::move(start)},
                                              {"time", std::move(time)},
                                              {"copy", std::move(copy)}}},
                      {"left_out", static_cast<int64_t>(numLeftOut)}};
}
