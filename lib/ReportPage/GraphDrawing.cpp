//===- GraphDrawing.cpp - a few ops as a small graph ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GraphDrawing.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/ReportPage/ProgramLanes.h"

#include <functional>

using namespace mlir;
using namespace commute;
using namespace commute::report;
namespace json = llvm::json;

Change Counterparts::getChange(Operation *op) const {
  Change change = Change::Op;
  for (Operation *candidate : other.getOps(getNode(op))) {
    if (candidate->getName() != op->getName())
      continue;
    if (candidate->getResultTypes() == op->getResultTypes())
      return Change::None;
    change = Change::Shape;
  }
  return change;
}

/// Returns "add" for an op imported from torch.ops.aten.add.Tensor.
static std::string getOperatorName(Operation *op) {
  auto target = op->getAttrOfType<StringAttr>(tp::TPDialect::targetAttrName);
  if (!target)
    return getKindName(op);
  llvm::SmallVector<StringRef> parts;
  target.getValue().split(parts, '.');
  // Operators are named torch.ops.NAMESPACE.OPERATOR.OVERLOAD.
  return parts.size() == 5 ? parts[3].str() : parts.back().str();
}

static DrawnBox::Kind getKind(Operation *op, const DividedProgram &program) {
  using Kind = DrawnBox::Kind;
  if (isa<tp::CollectiveOpInterface>(op))
    return Kind::Collective;
  if (!isa<tp::DimensionRuleOpInterface>(op))
    return isa<tp::CompletionOpInterface>(op) ? Kind::Other : Kind::Opaque;
  if (program.isBorder(op))
    return Kind::Product;
  return isa<tp::GroupOpInterface>(op) ? Kind::Group : Kind::Other;
}

namespace {
/// Divides ops into boxes. An op other than a collective or a product shares
/// the box of an operand if both are after the same number of these, so that
/// the boxes form no cycle.
class Boxes {
public:
  Boxes(llvm::ArrayRef<Operation *> ops, const DividedProgram &program,
        const Counterparts &counterparts)
      : program(program), counterparts(counterparts) {
    for (Operation *op : ops)
      assignPlace(op);
    for (Operation *op : ops)
      addToBox(op);
  }

  /// Returns the boxes without those that take no time.
  std::vector<DrawnBox> take();

private:
  bool isPlain(Operation *op) const {
    return getKind(op, program) == DrawnBox::Kind::Other;
  }
  void assignPlace(Operation *op);
  void addToBox(Operation *op);
  unsigned getBox(Operation *op);
  void addOperator(unsigned box, StringRef name);
  /// Returns the box of a value from outside the drawing.
  unsigned getInput(Value value);

  const DividedProgram &program;
  const Counterparts &counterparts;
  llvm::DenseMap<Operation *, unsigned> levels;
  llvm::EquivalenceClasses<Operation *> places;
  /// Of the leaders of `places`.
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<DrawnBox> boxes;
  /// By box, its operators and how often each occurs.
  std::vector<std::vector<std::pair<std::string, unsigned>>> operators;
  llvm::DenseMap<Value, unsigned> inputs;
};
} // namespace

void Boxes::assignPlace(Operation *op) {
  places.insert(op);
  unsigned level = 0;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (auto found = levels.find(producer); found != levels.end())
        level = std::max(level, found->second + (isPlain(producer) ? 0 : 1));
  levels[op] = level;
  if (!isPlain(op))
    return;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (auto found = levels.find(producer);
          found != levels.end() && found->second == level && isPlain(producer))
        places.unionSets(producer, op);
}

unsigned Boxes::getBox(Operation *op) {
  auto [entry, isNew] =
      numbers.try_emplace(places.getLeaderValue(op), boxes.size());
  if (isNew) {
    boxes.emplace_back().kind = getKind(op, program);
    operators.emplace_back();
  }
  return entry->second;
}

void Boxes::addOperator(unsigned box, StringRef name) {
  for (auto &[known, count] : operators[box])
    if (known == name) {
      ++count;
      return;
    }
  operators[box].emplace_back(name.str(), 1);
}

/// Returns the name of an argument or of the node that computes a value.
static std::string getValueName(Value value) {
  if (auto name = dyn_cast<NameLoc>(value.getLoc()))
    return name.getName().str();
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return "";
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto name = function
                  ? function.getArgAttrOfType<StringAttr>(
                        argument.getArgNumber(), tp::TPDialect::nameAttrName)
                  : StringAttr();
  return name ? name.str() : "";
}

unsigned Boxes::getInput(Value value) {
  auto [entry, isNew] = inputs.try_emplace(value, boxes.size());
  if (isNew) {
    DrawnBox &box = boxes.emplace_back();
    operators.emplace_back();
    box.kind = DrawnBox::Kind::Input;
    box.shape = getShapeText(value.getType());
    // Name the collective, not the wait for it.
    if (auto wait = value.getDefiningOp<tp::CompletionOpInterface>())
      value = wait.getBegun();
    if (std::string name = getValueName(value); !name.empty())
      box.nodes.push_back(std::move(name));
  }
  return entry->second;
}

void Boxes::addToBox(Operation *op) {
  unsigned number = getBox(op);
  double seconds = program.getSeconds(op);
  bool isPlainOp = isPlain(op);
  bool isChanged = counterparts.getChange(op) != Change::None;
  if (isPlainOp && seconds > 0)
    addOperator(number, getOperatorName(op));
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    unsigned from = number;
    if (producer && levels.contains(producer))
      from = getBox(producer);
    // What unchanged products at the border of the drawing use is not part of
    // it.
    else if ((!program.isBorder(op) || isChanged) &&
             !program.program.layers.isConstant(operand))
      from = getInput(operand);
    if (from != number && !llvm::is_contained(boxes[number].operands, from))
      boxes[number].operands.push_back(from);
  }
  DrawnBox &box = boxes[number];
  box.seconds += seconds;
  if (op->getNumResults() > 0)
    box.shape = getShapeText(op->getResult(0).getType());
  if (!isPlainOp)
    box.label = getKindName(op);
  // Views follow the ops around them.
  if (!isPlainOp || seconds > 0)
    box.change = std::max(box.change, counterparts.getChange(op));
  StringRef node = getNode(op);
  if (!node.empty() && !llvm::is_contained(box.nodes, node))
    box.nodes.push_back(node.str());
}

std::vector<DrawnBox> Boxes::take() {
  for (auto [box, names] : llvm::zip_equal(boxes, operators)) {
    constexpr size_t maxNames = 4;
    for (auto [index, entry] : llvm::enumerate(names)) {
      if (index == maxNames) {
        box.label += ", ...";
        break;
      }
      auto &[name, count] = entry;
      box.label += (index ? ", " : "") + name;
      if (count > 1)
        box.label += " x" + std::to_string(count);
    }
  }
  auto isOmitted = [&](const DrawnBox &box) {
    return box.kind == DrawnBox::Kind::Other && box.seconds == 0;
  };
  // Connects the users of an omitted box with its operands. Operands of a box
  // may have higher numbers, but the boxes form no cycle.
  std::vector<int> state(boxes.size(), 0);
  std::function<void(unsigned)> connect = [&](unsigned number) {
    if (std::exchange(state[number], 1))
      return;
    llvm::SmallSetVector<unsigned, 4> operands;
    for (unsigned operand : boxes[number].operands) {
      connect(operand);
      if (isOmitted(boxes[operand]))
        operands.insert(boxes[operand].operands.begin(),
                        boxes[operand].operands.end());
      else
        operands.insert(operand);
    }
    boxes[number].operands.assign(operands.begin(), operands.end());
  };
  for (unsigned number = 0; number < boxes.size(); ++number)
    connect(number);
  std::vector<bool> isUsed(boxes.size());
  for (const DrawnBox &box : boxes)
    if (!isOmitted(box))
      for (unsigned operand : box.operands)
        isUsed[operand] = true;
  std::vector<unsigned> newNumbers(boxes.size());
  std::vector<DrawnBox> result;
  for (auto [number, box] : llvm::enumerate(boxes)) {
    newNumbers[number] = result.size();
    bool isUnusedInput = box.kind == DrawnBox::Kind::Input && !isUsed[number];
    if (!isOmitted(box) && !isUnusedInput)
      result.push_back(std::move(box));
  }
  for (DrawnBox &box : result)
    for (unsigned &operand : box.operands)
      operand = newNumbers[operand];
  return result;
}

std::vector<DrawnBox> report::drawGraph(llvm::ArrayRef<Operation *> ops,
                                        const DividedProgram &program,
                                        const Counterparts &counterparts) {
  return Boxes(ops, program, counterparts).take();
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

static StringRef getName(DrawnBox::Kind kind) {
  switch (kind) {
  case DrawnBox::Kind::Collective:
    return "collective";
  case DrawnBox::Kind::Product:
    return "product";
  case DrawnBox::Kind::Opaque:
    return "opaque";
  case DrawnBox::Kind::Group:
    return "group";
  case DrawnBox::Kind::Other:
    return "other";
  case DrawnBox::Kind::Input:
    return "input";
  }
  llvm_unreachable("all kinds are listed");
}

static StringRef getName(Change change) {
  switch (change) {
  case Change::None:
    return "none";
  case Change::Shape:
    return "shape";
  case Change::Op:
    return "op";
  }
  llvm_unreachable("all changes are listed");
}

std::string report::getSignature(llvm::ArrayRef<DrawnBox> boxes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const DrawnBox &box : boxes) {
    os << getName(box.kind) << ' ' << box.label << ' ' << box.shape << ' '
       << getName(box.change);
    for (unsigned operand : box.operands)
      os << ' ' << operand;
    os << '\n';
  }
  return text;
}

json::Array report::toJson(llvm::ArrayRef<DrawnBox> boxes) {
  json::Array result;
  for (const DrawnBox &box : boxes) {
    json::Array operands, nodes;
    for (unsigned operand : box.operands)
      operands.push_back(static_cast<int64_t>(operand));
    for (const std::string &node : box.nodes)
      nodes.push_back(json::fixUTF8(node));
    result.push_back(json::Object{{"kind", getName(box.kind)},
                                  {"label", json::fixUTF8(box.label)},
                                  {"shape", box.shape},
                                  {"change", getName(box.change)},
                                  {"seconds", box.seconds},
                                  {"nodes", std::move(nodes)},
                                  {"operands", std::move(operands)}});
  }
  return result;
}
