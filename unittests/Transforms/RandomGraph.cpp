//===- RandomGraph.cpp - tensor-parallel programs at random ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RandomGraph.h"

#include <algorithm>
#include <vector>

using namespace commute::test;

namespace {

struct Value {
  std::string name;
  std::vector<int64_t> shape;
  std::string element = "f32";
};

/// The group of all, those of the two axes of a 2 x 2 mesh, and all in another
/// order.
struct Group {
  const char *attribute;
  int64_t size;
};
constexpr Group groups[] = {{"<\"w\", [0, 1, 2, 3]>", 4},
                            {"<\"row\", [[0, 1], [2, 3]]>", 2},
                            {"<\"column\", [[0, 2], [1, 3]]>", 2},
                            {"<\"turned\", [2, 0, 3, 1]>", 4}};

class Generator {
public:
  Generator(std::mt19937_64 &random, const RandomGraphOptions &options)
      : random(random), options(options) {}

  std::string run();

private:
  int64_t pick(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  static std::string getType(const Value &value) {
    std::string text = "tensor<";
    for (int64_t size : value.shape)
      text += std::to_string(size) + "x";
    return text + value.element + ">";
  }
  /// Late values more often than early ones: chains grow.
  const Value &pickValue(const std::vector<Value> &from) {
    int64_t a = pick(from.size()), b = pick(from.size());
    return from[std::max(a, b)];
  }
  /// Another value of the same type; the value itself where there is none.
  const Value &pickLike(const Value &value) {
    std::vector<const Value *> alike;
    for (const Value &other : full)
      if (other.shape == value.shape && other.element == value.element)
        alike.push_back(&other);
    return *alike[pick(alike.size())];
  }
  std::string newName() { return "%v" + std::to_string(nextName++); }
  std::string addInput(const std::vector<int64_t> &shape,
                       const std::string &element, bool isReplicated);
  Value emit(const std::string &op, const std::vector<const Value *> &operands,
             const std::string &attributes, std::vector<int64_t> shape,
             const std::string &element, bool isSingle);
  void addOp();
  void addReduce();
  void addVarying();
  void addReshape();
  void addNorm();
  void addElementwise();

  std::mt19937_64 &random;
  const RandomGraphOptions &options;
  std::string inputs, body;
  unsigned nextName = 0, numInputs = 0;
  /// Equal on all ranks as long as their inputs are.
  std::vector<Value> full;
  /// Different on each rank.
  std::vector<Value> varying;
  int64_t hidden = 6;
};

} // namespace

std::string Generator::addInput(const std::vector<int64_t> &shape,
                                const std::string &element, bool isReplicated) {
  std::string name = "%i" + std::to_string(numInputs++);
  if (!inputs.empty())
    inputs += ", ";
  inputs += name + ": " + getType({name, shape, element});
  if (isReplicated) {
    inputs += " {tp.placements = {";
    const char *separator = "";
    for (const char *group : {"w", "row", "column", "turned"}) {
      inputs += std::string(separator) + group + " = #tp.placement<replicated>";
      separator = ", ";
    }
    inputs += "}}";
  }
  return name;
}

Value Generator::emit(const std::string &op,
                      const std::vector<const Value *> &operands,
                      const std::string &attributes, std::vector<int64_t> shape,
                      const std::string &element, bool isSingle) {
  Value result{newName(), std::move(shape), element};
  body += "  " + result.name + " = " + op + " " + attributes + " : ";
  std::string types;
  for (const Value *operand : operands)
    types += (types.empty() ? "" : ", ") + getType(*operand);
  body += isSingle ? types : "(" + types + ")";
  body += " -> " + getType(result) + "\n";
  return result;
}

void Generator::addReduce() {
  const Value value = pickValue(varying);
  const Group &group = groups[options.isOneRegion ? 0 : pick(4)];
  full.push_back(emit("tp.all_reduce", {&value},
                      (pick(8) ? "sum " : "max ") + value.name + " group " +
                          group.attribute,
                      value.shape, value.element, /*isSingle=*/true));
}

void Generator::addVarying() {
  const Value value = pickValue(full);
  if (value.element != "f32")
    return;
  // Rows by a weight of each rank's own, or one of all.
  bool isReplicated = pick(4) == 0;
  int64_t inner = value.shape.back();
  Value weight{
      addInput({inner, hidden}, "f32", isReplicated), {inner, hidden}, "f32"};
  std::vector<int64_t> shape = value.shape;
  shape.back() = hidden;
  (isReplicated ? full : varying)
      .push_back(emit("tp.matmul", {&value, &weight},
                      value.name + ", " + weight.name, shape, "f32",
                      /*isSingle=*/false));
}

void Generator::addReshape() {
  const Value value = pickValue(full);
  std::vector<int64_t> shape = value.shape;
  switch (pick(4)) {
  case 0: {
    if (shape.size() != 3)
      return;
    // Batch and rows merged.
    full.push_back(emit("tp.reshape", {&value}, value.name,
                        {shape[0] * shape[1], shape[2]}, value.element, true));
    return;
  }
  case 1: {
    if (shape.size() != 2 || shape[0] % 2 != 0)
      return;
    full.push_back(emit("tp.reshape", {&value}, value.name,
                        {2, shape[0] / 2, shape[1]}, value.element, true));
    return;
  }
  case 2: {
    if (shape.size() != 3)
      return;
    Value moved = emit("tp.permute", {&value}, value.name + " [1, 0, 2]",
                       {shape[1], shape[0], shape[2]}, value.element, true);
    // The view itself has strides; its type says so.
    std::string strides = "#tp.layout<strides = [" + std::to_string(shape[2]) +
                          ", " + std::to_string(shape[1] * shape[2]) + ", 1]>";
    std::string dense = getType(moved);
    std::string strided =
        dense.substr(0, dense.size() - 1) + ", " + strides + ">";
    bool isSame = shape[0] == 1 || shape[1] == 1;
    if (isSame) {
      full.push_back(moved);
      return;
    }
    body.replace(body.rfind(dense), dense.size(), strided);
    Value copy{newName(), moved.shape, moved.element};
    body += "  " + copy.name + " = tp.copy " + moved.name + " : " + strided +
            " -> " + dense + "\n";
    full.push_back(copy);
    return;
  }
  default:
    full.push_back(emit("tp.region_marker", {&value},
                        (pick(2) ? "begin " : "end ") + value.name + " id " +
                            std::to_string(pick(2)),
                        shape, value.element, true));
  }
}

void Generator::addNorm() {
  const Value value = pickValue(full);
  Value weight{addInput({value.shape.back()}, value.element, true),
               {value.shape.back()},
               value.element};
  const Value &other = pickLike(value);
  std::vector<int64_t> shape = value.shape;
  switch (pick(3)) {
  case 0:
    full.push_back(
        emit("tp.rms_norm", {&value, &weight},
             value.name + " weight " + weight.name + " epsilon 1.0e-05 dims 1",
             shape, value.element, false));
    return;
  case 1:
    full.push_back(emit("tp.rowwise", {&value},
                        "softmax " + value.name + " dim " +
                            std::to_string(pick(shape.size())),
                        shape, value.element, true));
    return;
  default: {
    std::string type = getType(value), name = newName();
    body += "  " + name + ":2 = tp.add_rms_norm " + value.name + ", " +
            other.name + " weight " + weight.name + " epsilon 1.0e-05 : (" +
            type + ", " + type + ", " + getType(weight) + ") -> (" + type +
            ", " + type + ")\n";
    full.push_back({name + "#0", shape, value.element});
    full.push_back({name + "#1", shape, value.element});
  }
  }
}

void Generator::addElementwise() {
  const Value value = pickValue(full);
  const Value other = pickLike(value);
  switch (pick(5)) {
  case 0:
    full.push_back(
        emit("tp.map", {&value, &other},
             (pick(2) ? "add(" : "mul(") + value.name + ", " + other.name + ")",
             value.shape, value.element, false));
    return;
  case 1:
    full.push_back(emit("tp.map", {&value}, "silu(" + value.name + ")",
                        value.shape, value.element, false));
    return;
  case 2:
    full.push_back(emit("tp.cast", {&value}, value.name, value.shape,
                        value.element == "f32" ? "bf16" : "f32", true));
    return;
  case 3: {
    // A reduction of rows or of others, and what is computed of it.
    constexpr const char *kinds[] = {"sum", "sum", "max", "avg"};
    int64_t dim = pick(value.shape.size());
    std::vector<int64_t> shape = value.shape;
    shape[dim] = 1;
    Value reduced = emit("tp.reduce", {&value},
                         kinds[pick(4)] + (" " + value.name) + " dims [" +
                             std::to_string(dim) + "] keep_dims",
                         shape, value.element, true);
    full.push_back(emit("tp.map", {&value, &reduced},
                        "mul(" + value.name + ", " + reduced.name + ")",
                        value.shape, value.element, false));
    return;
  }
  default: {
    // A bias of all ranks, or one of each rank's own.
    bool isReplicated = pick(4) != 0;
    Value bias{addInput({value.shape.back()}, value.element, isReplicated),
               {value.shape.back()},
               value.element};
    (isReplicated ? full : varying)
        .push_back(emit("tp.map", {&value, &bias},
                        "add(" + value.name + ", " + bias.name + ")",
                        value.shape, value.element, false));
  }
  }
}

void Generator::addOp() {
  switch (pick(10)) {
  case 0:
  case 1:
    return addReduce();
  case 2:
  case 3:
    return addVarying();
  case 4:
    return options.isOneRegion ? addElementwise() : addReshape();
  case 5:
  case 6:
    return addNorm();
  default:
    return addElementwise();
  }
}

std::string Generator::run() {
  // Rows that all groups, some groups, or none can share.
  constexpr int64_t rows[] = {8, 4, 2, 6, 3};
  std::vector<int64_t> shape;
  if (options.isOneRegion || pick(2))
    shape = {rows[options.isOneRegion ? 0 : pick(5)], hidden};
  else
    shape = {rows[pick(5)], rows[pick(5)], hidden};
  varying.push_back({addInput(shape, "f32", false), shape, "f32"});
  full.push_back({addInput(shape, "f32", true), shape, "f32"});
  addReduce();
  for (int64_t count = 3 + pick(options.maxOps - 3); count > 0; --count)
    addOp();
  // What nobody reads is returned half of the time, and something always is.
  std::string values, types;
  auto addOutput = [&](const Value &value) {
    values += (values.empty() ? "" : ", ") + value.name;
    types += (types.empty() ? "" : ", ") + getType(value);
  };
  addOutput(full.back());
  for (const Value &value : full)
    if (pick(6) == 0)
      addOutput(value);
  addOutput(varying.back());
  return "module {\nfunc.func @main(" + inputs + ") -> (" + types + ") {\n" +
         body + "  return " + values + " : " + types + "\n}\n}\n";
}

std::string commute::test::makeRandomGraph(std::mt19937_64 &random,
                                           const RandomGraphOptions &options) {
  return Generator(random, options).run();
}
