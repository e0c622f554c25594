//===- LiveReader.cpp - reads the nodes of a live fx.Graph ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LiveMembers.h"
#include "LiveOutputs.h"
#include "LivePicks.h"
#include "LiveTargets.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace commute;
using namespace commute::python;
using archive::Argument;
using archive::ArgumentKind;
using archive::ArgumentTag;
using archive::Effects;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;

namespace {

enum class NodeKind : uint8_t { Input, Output, Call };

} // namespace

namespace commute::python {

/// Reads nodes in the order of their graph.
class LiveReader {
public:
  LiveReader(const NodeFacts &facts, bool isFunctionalGraph,
             bool hasSourceLines, LiveProgram &live)
      : facts(facts), hasSourceLines(hasSourceLines), live(live),
        program(*live.program), graph(program.graph), strings(program.strings),
        members(live.members->nodes), valueReader(facts, program),
        targets(facts, isFunctionalGraph, strings),
        arguments(facts, strings, nameOfNode) {}

  LogicalResult read(PyObject *nodes);

private:
  /// Returns a node's attribute; null after an error.
  Object get(PyObject *node, PyObject *name) {
    return getAttribute(node, name);
  }
  std::optional<NodeKind> getKind(PyObject *node);
  /// Returns what a node gave when it was traced, a borrowed reference; None if
  /// that is not known.
  PyObject *getValue(PyObject *node);

  /// Names a node's value, and states what is known of it.
  LogicalResult define(PyObject *node, PyObject *value, Argument &result);
  void setName(PyObject *node, const Object &name, const Argument &argument);

  LogicalResult addInput(PyObject *node);
  LogicalResult addInputs();
  LogicalResult addSharedMemory();
  LogicalResult addCall(PyObject *node);
  LogicalResult addOutputs();

  LogicalResult readInputs(PyObject *node, PyObject *target,
                           const TargetInfo &info, archive::Node &result);
  LogicalResult addNamedInput(StringRef name, ArgumentKind kind,
                              PyObject *value, bool isIndex,
                              archive::Node &result);
  LogicalResult readResults(PyObject *node, archive::Node &result,
                            LiveProgram::Group &group);
  LogicalResult readPicked(PyObject *node, PyObject *values,
                           archive::Node &result, LiveProgram::Group &group);
  /// Reads the line of the user's program that a node comes from.
  LogicalResult readSourceLine(PyObject *node, archive::Node &result);
  /// Whether lists among the arguments of a node hold what is neither tensor
  /// nor number.
  bool nestsObjects(const archive::Node &node);

  const NodeFacts &facts;
  bool hasSourceLines;
  LiveProgram &live;
  archive::Program &program;
  archive::Graph &graph;
  llvm::StringSaver &strings;
  const AttributeNames &names = AttributeNames::get();

  llvm::DenseSet<PyObject *> &members;

  std::vector<std::pair<PyObject *, NodeKind>> nodes;
  llvm::DenseMap<PyObject *, Argument> values;
  llvm::DenseSet<PyObject *> inputNodes;
  /// Nodes that pick results of others, which they belong to.
  llvm::DenseSet<PyObject *> collapsed;

  struct NameOfNode {
    LiveReader &reader;
    LogicalResult operator()(PyObject *node, Argument &result) const;
  };
  const NameOfNode nameOfNode{*this};
  ValueReader valueReader;
  TargetReader targets;
  ArgumentReader arguments;
};

} // namespace commute::python

LogicalResult LiveReader::NameOfNode::operator()(PyObject *node,
                                                 Argument &result) const {
  auto found = reader.values.find(node);
  if (found != reader.values.end()) {
    result = found->second;
    return success();
  }
  Object text = Object::steal(PyObject_Str(node));
  if (text)
    PyErr_Format(PyExc_ValueError, "the graph: use of %R before its definition",
                 text.get());
  return failure();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<NodeKind> LiveReader::getKind(PyObject *node) {
  Object op = get(node, names.op);
  if (!op)
    return std::nullopt;
  for (const char *input : {"placeholder", "get_attr"})
    if (PyUnicode_CompareWithASCIIString(op.get(), input) == 0)
      return NodeKind::Input;
  return PyUnicode_CompareWithASCIIString(op.get(), "output") == 0
             ? NodeKind::Output
             : NodeKind::Call;
}

PyObject *LiveReader::getValue(PyObject *node) {
  Object meta = get(node, names.meta);
  if (!meta)
    return nullptr;
  for (PyObject *key : {names.exampleValue, names.val}) {
    // The node keeps its metadata alive.
    if (PyObject *value = PyDict_GetItemWithError(meta.get(), key))
      return value;
    if (PyErr_Occurred())
      return nullptr;
  }
  return Py_None;
}

void LiveReader::setName(PyObject *node, const Object &name,
                         const Argument &argument) {
  values.try_emplace(node, argument);
  live.definitions.push_back({name, Object::borrow(node)});
}

LogicalResult LiveReader::define(PyObject *node, PyObject *value,
                                 Argument &result) {
  Object name = get(node, names.name);
  if (!name || failed(valueReader.define(name.get(), value, result)))
    return failure();
  setName(node, name, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

LogicalResult LiveReader::addInput(PyObject *node) {
  if (values.contains(node))
    return success();
  PyObject *value = getValue(node);
  Argument argument;
  if (!value || failed(define(node, value, argument)) ||
      PyList_Append(live.inputs.get(), node) < 0)
    return failure();
  inputNodes.insert(node);
  program.inputSpecs.push_back({archive::InputKind::User, argument.text, {}});
  graph.inputs.push_back(std::move(argument));
  return success();
}

LogicalResult LiveReader::addInputs() {
  bool hasCall = false;
  for (auto [node, kind] : nodes) {
    // Parameters stand where they are first read, and are known from the start.
    if (kind == NodeKind::Input) {
      if ((hasCall && PyList_Append(live.lateInputs.get(), node) < 0) ||
          failed(addInput(node)))
        return failure();
      continue;
    }
    hasCall = true;
    Object reads = get(node, names.inputNodes);
    if (!reads)
      return failure();
    PyObject *read = nullptr, *ignored = nullptr;
    for (Py_ssize_t place = 0;
         PyDict_Next(reads.get(), &place, &read, &ignored);)
      if (!members.contains(read) && failed(addInput(read)))
        return failure();
  }
  return success();
}

LogicalResult LiveReader::addSharedMemory() {
  // A write into one of several inputs in one memory is seen in all.
  llvm::MapVector<long long, std::vector<Argument>> storages;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(live.inputs.get()); ++i) {
    PyObject *node = PyList_GET_ITEM(live.inputs.get(), i);
    const Argument &argument = values.find(node)->second;
    if (argument.tag != ArgumentTag::Tensor)
      continue;
    PyObject *value = getValue(node);
    if (!value)
      return failure();
    Object storage =
        Object::steal(PyObject_CallOneArg(facts.getStorage.get(), value));
    if (!storage)
      return failure();
    if (storage.get() != Py_None)
      storages[PyLong_AsLongLong(storage.get())].push_back(argument);
  }
  for (auto &[storage, sharing] : storages) {
    if (sharing.size() < 2)
      continue;
    archive::Node &node = graph.nodes.emplace_back();
    node.target = "commute.share_memory";
    node.name = strings.save("share_memory_" + llvm::Twine(live.groups.size()));
    node.effects = Effects::None;
    Argument list;
    list.tag = ArgumentTag::Tensors;
    list.elements = std::move(sharing);
    node.inputs.push_back({"", std::move(list), ArgumentKind::Positional});
    live.groups.emplace_back();
  }
  return success();
}

LogicalResult LiveReader::addOutputs() {
  PyObject *outputNode = nullptr;
  std::vector<PyObject *> calls;
  for (auto [node, kind] : nodes) {
    if (kind == NodeKind::Output)
      outputNode = node;
    // Of a node that gives several values only these have a name.
    if (kind == NodeKind::Call && values.contains(node))
      calls.push_back(node);
  }
  OutputReader outputs(facts, arguments, live, values, inputNodes);
  return outputs.read(outputNode, calls);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

LogicalResult LiveReader::addNamedInput(StringRef name, ArgumentKind kind,
                                        PyObject *value, bool isIndex,
                                        archive::Node &result) {
  archive::NamedArgument &input = result.inputs.emplace_back();
  input.name = name;
  input.kind = kind;
  return isIndex ? arguments.readIndex(value, input.value)
                 : arguments.read(value, input.value);
}

LogicalResult LiveReader::readInputs(PyObject *node, PyObject *target,
                                     const TargetInfo &info,
                                     archive::Node &result) {
  Object args = get(node, names.args);
  Object kwargs = args ? get(node, names.kwargs) : Object();
  if (!kwargs)
    return failure();
  bool isIndex = target == facts.getItem.get() || target == facts.setItem.get();
  size_t count = PyTuple_GET_SIZE(args.get());
  bool isOperator = !info.argumentNames.empty();
  if (isOperator)
    count = std::min(count, info.argumentNames.size());
  result.inputs.reserve(count + PyDict_GET_SIZE(kwargs.get()));
  for (size_t place = 0; place < count; ++place)
    if (failed(addNamedInput(
            isOperator ? info.argumentNames[place] : StringRef(),
            ArgumentKind::Positional, PyTuple_GET_ITEM(args.get(), place),
            isIndex, result)))
      return failure();
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(kwargs.get(), &place, &key, &value);) {
    std::optional<StringRef> name = getText(key, strings);
    if (!name || failed(addNamedInput(*name, ArgumentKind::Keyword, value,
                                      isIndex, result)))
      return failure();
  }
  if (!nestsObjects(result))
    return success();
  // The schema has no lists of them. Nothing but what it reads matters of a
  // call that no vocabulary knows.
  result.target = strings.save("opaque." + result.target);
  if (llvm::any_of(result.inputs, [](const archive::NamedArgument &input) {
        return input.kind == ArgumentKind::Keyword && input.name == "out";
      }))
    result.effects = Effects::Any;
  std::vector<archive::NamedArgument> reads;
  for (const archive::NamedArgument &input : result.inputs)
    input.value.forEachValue([&](const Argument &read) {
      Argument plain;
      plain.tag = read.tag;
      plain.text = read.text;
      if (plain.tag == ArgumentTag::CustomObject)
        plain.className = "object";
      reads.push_back({"", std::move(plain), ArgumentKind::Positional});
    });
  result.inputs = std::move(reads);
  return success();
}

bool LiveReader::nestsObjects(const archive::Node &node) {
  return llvm::any_of(node.inputs, [](const archive::NamedArgument &input) {
    bool isNested = false;
    for (const Argument &element : input.value.elements)
      element.forEachValue([&](const Argument &value) {
        isNested |= value.tag == ArgumentTag::CustomObject;
      });
    return isNested;
  });
}

LogicalResult LiveReader::readResults(PyObject *node, archive::Node &result,
                                      LiveProgram::Group &group) {
  PyObject *value = getValue(node);
  Object users = value ? get(node, names.users) : Object();
  if (!users)
    return failure();
  if (PyList_Check(value) || PyTuple_Check(value))
    return readPicked(node, value, result, group);
  if (value == Py_None && PyDict_GET_SIZE(users.get()) == 0)
    return success();
  return define(node, value, result.outputs.emplace_back());
}

LogicalResult LiveReader::readPicked(PyObject *node, PyObject *values,
                                     archive::Node &result,
                                     LiveProgram::Group &group) {
  std::optional<Picks> picks =
      PickFinder(facts, valueReader, members).find(node, values);
  if (PyErr_Occurred())
    return failure();
  if (!picks)
    return define(node, Py_None, result.outputs.emplace_back());

  PyObject *previous = node;
  for (PyObject *pick : picks->nodes) {
    collapsed.insert(pick);
    group.picks.push_back(Object::borrow(pick));
    Object next = get(previous, names.next);
    if (!next)
      return failure();
    group.isScattered |= next.get() != pick;
    previous = pick;
  }
  PickedResults results(valueReader, node, *picks);
  if (failed(results.define(values, result)))
    return failure();
  for (const auto &[pick, path] : picks->leaves) {
    auto [name, argument] = results.get(path);
    setName(pick, name, argument);
  }
  return success();
}

LogicalResult LiveReader::readSourceLine(PyObject *node,
                                         archive::Node &result) {
  Object meta = get(node, names.meta);
  PyObject *trace =
      meta ? PyDict_GetItemWithError(meta.get(), names.stackTrace) : nullptr;
  if (!trace || trace == Py_None)
    return success(!PyErr_Occurred());
  Object frame =
      Object::steal(PyObject_CallOneArg(facts.getFrame.get(), trace));
  if (!frame)
    return failure();
  std::optional<StringRef> text = getText(frame.get(), strings);
  if (!text)
    return failure();
  result.stackTrace = *text;
  return success();
}

LogicalResult LiveReader::addCall(PyObject *node) {
  archive::Node &result = graph.nodes.emplace_back();
  LiveProgram::Group &group = live.groups.emplace_back();
  group.node = Object::borrow(node);
  Object name = get(node, names.name);
  if (!name)
    return failure();
  std::optional<StringRef> text = getText(name.get(), strings);
  if (!text)
    return failure();
  result.name = *text;
  Object target = get(node, names.target);
  const TargetInfo *info = target ? targets.read(node, target.get()) : nullptr;
  if (!info)
    return failure();
  result.target = info->name;
  result.writes = info->writes;
  result.effects = info->effects;
  if (!info->impliedGroup.empty())
    live.members->impliedGroups.insert(info->impliedGroup);
  if (hasSourceLines && failed(readSourceLine(node, result)))
    return failure();
  if (failed(readInputs(node, target.get(), *info, result)) ||
      failed(readResults(node, result, group)))
    return failure();
  result.numberValues();
  return success();
}

LogicalResult LiveReader::read(PyObject *list) {
  size_t count = PyList_GET_SIZE(list);
  nodes.reserve(count);
  members.reserve(count);
  values.reserve(count);
  graph.nodes.reserve(count);
  live.groups.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    PyObject *node = PyList_GET_ITEM(list, i);
    std::optional<NodeKind> kind = getKind(node);
    if (!kind)
      return failure();
    nodes.emplace_back(node, *kind);
    // A graph's own output node reads what its program gives.
    if (*kind != NodeKind::Output)
      members.insert(node);
  }
  if (failed(addInputs()) || failed(addSharedMemory()))
    return failure();
  for (auto [node, kind] : nodes)
    if (kind == NodeKind::Call && !collapsed.contains(node) &&
        failed(addCall(node)))
      return failure();
  return addOutputs();
}

std::unique_ptr<LiveProgram> LiveProgram::read(PyObject *nodes, PyObject *facts,
                                               bool isFunctionalGraph,
                                               bool hasSourceLines) {
  NodeFacts known(facts);
  std::unique_ptr<LiveProgram> live(new LiveProgram);
  live->inputs = Object::steal(PyList_New(0));
  live->outputs = Object::steal(PyList_New(0));
  live->lateInputs = Object::steal(PyList_New(0));
  // The list keeps the nodes alive that are read without a reference.
  Object list = Object::steal(PySequence_List(nodes));
  if (!known.isComplete() || !live->lateInputs || !list)
    return nullptr;
  live->members = std::make_unique<Members>();
  live->program = std::make_unique<archive::Program>();
  archive::Program &program = *live->program;
  program.origin = "the graph";
  program.schemaMajor = 8;
  program.schemaMinor = 20;
  program.graph.holdsFunctions = !isFunctionalGraph;
  if (failed(LiveReader(known, isFunctionalGraph, hasSourceLines, *live)
                 .read(list.get())))
    return nullptr;
  return live;
}
