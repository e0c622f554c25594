//===- InPlace.cpp - values that a graph writes into ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"

#include "FunctionArguments.h"
#include "OperatorCall.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::Node;
using llvm::StringLiteral;
using llvm::StringRef;

/// Returns "add_" for "torch.ops.aten.add_.Tensor" and "torch.Tensor.add_".
static StringRef getOperatorName(StringRef target) {
  StringRef name =
      target.starts_with("torch.ops.") ? target.rsplit('.').first : target;
  return name.contains('.') ? name.rsplit('.').second : StringRef();
}

/// True for "add_" and "__ior__"; "__or__" and similar names are functional.
static bool isInPlaceName(StringRef name) {
  if (name.consume_front("__i") && name.consume_back("__"))
    return llvm::is_contained({"and", "or", "xor", "lshift", "rshift"}, name);
  return name.ends_with("_") && !name.ends_with("__");
}

/// Matches x += y and similar operators, x[i] = y and del x[i].
static bool isInPlaceOperator(StringRef target) {
  static constexpr StringLiteral names[] = {
      "iadd",     "iand", "iconcat", "ifloordiv", "ilshift", "imatmul",
      "imod",     "imul", "ior",     "ipow",      "irshift", "isub",
      "itruediv", "ixor", "setitem", "delitem"};
  return target.consume_front("_operator.") &&
         llvm::is_contained(names, target);
}

/// Matches relu(x, inplace=True).
static bool isStatedInPlace(const Node &node, const OperatorEntry *entry) {
  std::optional<size_t> stated = findInput(node, entry, "inplace");
  if (!stated)
    return false;
  const Argument &value = node.inputs[*stated].value;
  return value.tag != archive::ArgumentTag::Bool || value.integer != 0;
}

/// Returns true if an ATen operator updates the statistics passed to it. Older
/// schemas (`batch_norm`) do not declare this.
static bool updatesStatistics(StringRef name) {
  bool normalizes = name.contains("batch_norm") ||
                    name.contains("instance_norm") ||
                    name.contains("moving_avg_obs");
  return normalizes && !name.contains("functional") &&
         !name.contains("no_training") && !name.contains("no_update") &&
         !name.contains("no_stats") && !name.contains("backward");
}

/// Returns true if an ATen overload writes into its keyword arguments: its name
/// contains "out", or is the name of such an argument ("grad_input").
static bool isOutOverload(StringRef overload, const Node &node) {
  if (overload == "default")
    return false;
  if (overload.contains_insensitive("out"))
    return true;
  llvm::SmallVector<StringRef> words;
  overload.split(words, '_');
  return llvm::any_of(node.inputs, [&](const archive::NamedArgument &input) {
    return input.kind == archive::ArgumentKind::Keyword &&
           (input.name == overload || llvm::is_contained(words, input.name));
  });
}

/// Adds the inputs that an ATen operator writes into, in addition to the first
/// input of an in-place form. Archives contain no schemas, so this relies on
/// ATen's naming conventions.
static void addWrittenByConvention(const Node &node,
                                   llvm::SmallVectorImpl<size_t> &positions) {
  StringRef name = getOperatorName(node.target);
  bool hasOut = isOutOverload(node.target.rsplit('.').second, node);
  bool hasStatistics = updatesStatistics(name);
  // Optimizer and gradient scaler steps write into most of their operands.
  bool isStep = (name.starts_with("_fused_") || name.starts_with("_amp_")) &&
                (hasOut || isInPlaceName(name));
  auto isWritten = [&](const archive::NamedArgument &input) {
    if (isStep || (hasOut && (input.kind == archive::ArgumentKind::Keyword ||
                              input.name.starts_with("out"))))
      return true;
    if (hasStatistics && (input.name.starts_with("running_") ||
                          input.name == "scale" || input.name == "zero_point"))
      return true;
    return llvm::StringSwitch<bool>(name)
        .Cases({"rrelu_with_noise", "rrelu_with_noise_"}, input.name == "noise")
        .Cases({"record_stream", "retain_grad", "set_data"},
               input.name == "self")
        .Cases({"_cummax_helper", "_cummin_helper"},
               input.name == "values" || input.name == "indices")
        .Case("_flash_attention_forward_no_dropout_inplace",
              input.name == "out")
        .Default(false);
  };
  for (auto [position, input] : llvm::enumerate(node.inputs))
    if (isWritten(input))
      positions.push_back(position);
}

llvm::SmallVector<size_t, 2>
vocabulary::getMutatedInputs(const Node &node, const OperatorEntry *entry,
                             const OperatorAlias *alias, bool holdsFunctions) {
  llvm::SmallVector<size_t, 2> positions;
  // Functionalized calls write into copies.
  if (getCallForm(node) != CallForm::Direct)
    return positions;
  // Its schema declares a write, but it changes no element: it takes a tensor
  // out of autograd's graph, such as a constant that torch.export has lifted.
  if (node.target == "torch.ops.aten.detach_.default")
    return positions;
  if (node.writes) {
    for (auto [position, input] : llvm::enumerate(node.inputs))
      if (llvm::is_contained(*node.writes, input.name))
        positions.push_back(position);
    return positions;
  }
  auto add = [&](StringRef argument) {
    std::optional<size_t> position =
        alias ? findInput(node, /*entry=*/nullptr, alias->getOwnName(argument))
              : findInput(node, entry, argument);
    if (position)
      positions.push_back(*position);
    return position.has_value();
  };
  if (entry)
    for (StringRef argument : entry->mutatedArguments)
      add(argument);
  if (alias)
    for (StringRef argument : alias->mutated)
      if (std::optional<size_t> position =
              findInput(node, /*entry=*/nullptr, argument))
        positions.push_back(*position);
  auto isInPlace = [](StringRef target) {
    return isInPlaceName(getOperatorName(target)) || isInPlaceOperator(target);
  };
  // A user's operator may order its arguments differently from the known one,
  // so find the mutated argument by the names that in-place forms use for it.
  bool isAliasAdded = alias && isInPlace(alias->sameAs) &&
                      (add("self") || add("input") || add("inputs"));
  if (!isAliasAdded && !node.inputs.empty() &&
      (isInPlace(alias ? StringRef(alias->sameAs) : node.target) ||
       isInPlace(node.target) || isStatedInPlace(node, entry)))
    positions.push_back(0);
  // In ATen, an argument named `out` is not always written: attention backward
  // operators read one.
  if (node.target.starts_with("torch.ops.aten."))
    addWrittenByConvention(node, positions);
  else
    add("out");
  if (!positions.empty() || entry)
    return positions;
  // An unknown operator without results is called for its side effects (ATen's
  // own such operators are assertions). For a Python function, not even the
  // name can be relied on.
  bool mayWrite = holdsFunctions && isFunctionCall(node);
  if (node.target.starts_with("torch.ops."))
    mayWrite =
        node.outputs.empty() && !node.target.starts_with("torch.ops.aten.");
  if (node.effects != archive::Effects::Unstated)
    mayWrite = node.effects == archive::Effects::Any;
  if (mayWrite)
    llvm::append_range(positions, llvm::seq<size_t>(0, node.inputs.size()));
  return positions;
}

/// Returns true if a result can alias only the first operand. PyTorch's
/// in-place forms return the tensor that they write into, and retain no other
/// operand, except for `set_`.
static bool sharesFirstOnly(const Node &node) {
  StringRef name = getOperatorName(node.target);
  bool isOwn = node.target.starts_with("torch.ops.aten.") ||
               node.target.starts_with("torch.Tensor.");
  return isInPlaceOperator(node.target) ||
         (isOwn && isInPlaceName(name) && name != "set_");
}

/// Returns true if a value has memory that can be written into; numbers do not.
static bool hasMemory(const Argument &value) {
  return value.tag == archive::ArgumentTag::Tensor ||
         value.tag == archive::ArgumentTag::CustomObject;
}

namespace {
/// Definition and last use of each value, as indices of nodes. Graph inputs are
/// defined at -1, graph outputs are used at the largest integer.
struct Lifetimes {
  explicit Lifetimes(const archive::Graph &graph);

  llvm::DenseMap<StringRef, int64_t> definition;
  llvm::DenseMap<StringRef, int64_t> lastUse;
};
} // namespace

Lifetimes::Lifetimes(const archive::Graph &graph) {
  auto define = [&](const Argument &argument, int64_t position) {
    argument.forEachValue([&](const Argument &value) {
      definition.try_emplace(value.text, position);
    });
  };
  auto use = [&](const Argument &argument, int64_t position) {
    argument.forEachValue(
        [&](const Argument &value) { lastUse[value.text] = position; });
  };
  for (const Argument &input : graph.inputs)
    define(input, -1);
  for (auto [position, node] : llvm::enumerate(graph.nodes)) {
    for (const archive::NamedArgument &input : node.inputs)
      use(input.value, position);
    for (const Argument &output : node.outputs)
      define(output, position);
  }
  for (const Argument &output : graph.outputs)
    use(output, std::numeric_limits<int64_t>::max());
}

/// Returns true if each of the nodes at `positions` (in program order) can be
/// read as a function, although it writes into the memory that `members` share:
/// no member defined before the write is used after it.
static bool areFunctions(const archive::Graph &graph,
                         llvm::ArrayRef<size_t> positions,
                         const llvm::DenseSet<StringRef> &members,
                         const Lifetimes &lifetimes) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> lives;
  for (StringRef name : members)
    lives.emplace_back(lifetimes.definition.lookup(name),
                       lifetimes.lastUse.lookup(name));
  llvm::sort(lives);
  // Callers can observe the memory of an input.
  if (lives.front().first < 0)
    return false;
  auto *life = lives.begin();
  int64_t lastUse = 0;
  for (size_t position : positions) {
    auto now = static_cast<int64_t>(position);
    for (; life != lives.end() && life->first < now; ++life)
      lastUse = std::max(lastUse, life->second);
    // If two operands share the memory, the node would write it twice.
    unsigned numOperands = 0;
    for (const archive::NamedArgument &input : graph.nodes[position].inputs)
      input.value.forEachValue([&](const Argument &value) {
        numOperands += members.contains(value.text);
      });
    if (lastUse > now || numOperands != 1)
      return false;
  }
  return true;
}

llvm::DenseSet<StringRef>
vocabulary::findMutatedValues(const archive::Graph &graph,
                              const Vocabulary &vocabulary) {
  auto getEntry = [&](const Node &node) {
    const OperatorAlias *alias = vocabulary.findAlias(getCalledOperator(node));
    return vocabulary.find(alias ? StringRef(alias->sameAs) : node.target);
  };
  auto getWritten = [&](const Node &node) {
    return getMutatedInputs(node, getEntry(node),
                            vocabulary.findAlias(getCalledOperator(node)),
                            graph.holdsFunctions);
  };
  std::vector<std::pair<StringRef, size_t>> written;
  for (auto [position, node] : llvm::enumerate(graph.nodes))
    for (size_t input : getWritten(node))
      node.inputs[input].value.forEachValue(
          [&, position = position](const Argument &value) {
            if (hasMemory(value))
              written.emplace_back(value.text, position);
          });
  // Return early: nearly every graph is functional.
  llvm::DenseSet<StringRef> result;
  if (written.empty())
    return result;

  // Group values that may share memory: a view with its base, and the result of
  // an in-place form with its operand. For an unknown operator, every result
  // may be a view of every operand.
  llvm::EquivalenceClasses<StringRef> sharing;
  for (const Node &node : graph.nodes) {
    const OperatorEntry *entry = getEntry(node);
    bool isWriting = !getWritten(node).empty();
    if (entry && entry->read && !entry->mayAlias && !isWriting)
      continue;
    std::optional<StringRef> first;
    auto unite = [&](const Argument &value) {
      if (!hasMemory(value))
        return;
      if (first)
        sharing.unionSets(*first, value.text);
      else
        first = value.text;
    };
    // A known view is a view of its first tensor; of other tensors it uses only
    // the sizes.
    bool isView = sharesFirstOnly(node) || (entry && entry->read && !isWriting);
    for (const archive::NamedArgument &input : node.inputs)
      if (!isView || !first)
        input.value.forEachValue(unite);
    for (const Argument &output : node.outputs)
      output.forEachValue(unite);
  }
  Lifetimes lifetimes(graph);
  // The nodes that write into each memory, in program order.
  llvm::MapVector<StringRef, llvm::SmallVector<size_t, 1>> writers;
  for (auto [name, position] : written)
    writers[sharing.getOrInsertLeaderValue(name)].push_back(position);
  for (const auto &[leader, positions] : writers) {
    llvm::DenseSet<StringRef> members(sharing.findLeader(leader),
                                      sharing.member_end());
    bool areRead = llvm::all_of(positions, [&](size_t position) {
      const Node &node = graph.nodes[position];
      const OperatorEntry *entry = getEntry(node);
      // The ops for Python functions have no in-place semantics.
      return entry && entry->read && !isFunctionCall(node);
    });
    if (!areRead || !areFunctions(graph, positions, members, lifetimes))
      result.insert(members.begin(), members.end());
  }
  return result;
}

/// Returns true if a result of an op may be a view of an operand.
static bool mayReturnView(mlir::Operation *op) {
  // `clone` always allocates, and copies that passes insert are written as
  // `clone`. `contiguous` may return its operand.
  if (llvm::isa<tp::CopyOp>(op)) {
    auto target =
        op->getAttrOfType<mlir::StringAttr>(tp::TPDialect::targetAttrName);
    return target && target.getValue() != "torch.ops.aten.clone.default";
  }
  auto strided = llvm::dyn_cast<tp::StrideOpInterface>(op);
  return !strided || strided.mayShareMemory();
}

bool vocabulary::mayWriteInto(mlir::OpOperand &operand) {
  mlir::Operation *op = operand.getOwner();
  // Visit all values that may share the memory.
  llvm::SmallVector<mlir::Value> worklist{operand.get()};
  llvm::DenseSet<mlir::Value> seen;
  while (!worklist.empty()) {
    mlir::Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    mlir::Operation *definition = value.getDefiningOp();
    // Callers can observe the memory of an input.
    if (!definition)
      return false;
    if (mayReturnView(definition))
      llvm::append_range(worklist, definition->getOperands());
    for (mlir::OpOperand &use : value.getUses()) {
      mlir::Operation *user = use.getOwner();
      if (&use == &operand)
        continue;
      if (user == op || !user->isBeforeInBlock(op))
        return false;
      if (mayReturnView(user))
        llvm::append_range(worklist, user->getResults());
    }
  }
  return true;
}
