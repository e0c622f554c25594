//===- LiveProgram.cpp - a live fx.Graph as a program ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LiveProgram.h"

#include "LiveMembers.h"

#include "commute/Archive/Program.h"
#include "commute/Vocabulary/GroupNames.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace commute;
using namespace commute::python;

LiveProgram::LiveProgram() = default;
LiveProgram::~LiveProgram() = default;

std::unique_ptr<archive::Program> LiveProgram::takeProgram() {
  return std::move(program);
}

Object LiveProgram::getGroup(size_t index) const {
  if (index >= groups.size()) {
    PyErr_SetString(PyExc_IndexError, "the program has fewer nodes");
    return {};
  }
  const Group &group = groups[index];
  size_t size = group.node ? 1 + group.picks.size() : 0;
  Object result = Object::steal(PyTuple_New(size));
  for (size_t place = 0; result && place < size; ++place)
    PyTuple_SET_ITEM(
        result.get(), place,
        Object(place == 0 ? group.node : group.picks[place - 1]).release());
  return result;
}

bool LiveProgram::contains(PyObject *node) const {
  return members->nodes.contains(node);
}

Object LiveProgram::getScattered() const {
  Object result = Object::steal(PyList_New(0));
  for (size_t index = 0; result && index < groups.size(); ++index) {
    if (!groups[index].isScattered)
      continue;
    Object number = Object::steal(PyLong_FromSize_t(index));
    if (!number || PyList_Append(result.get(), number.get()) < 0)
      return {};
  }
  return result;
}

Object LiveProgram::findNodes(const std::string &name) {
  if (members->byName.empty())
    for (auto [index, definition] : llvm::enumerate(definitions)) {
      Py_ssize_t size = 0;
      const char *text = PyUnicode_AsUTF8AndSize(definition.name.get(), &size);
      if (!text)
        return {};
      members->byName[llvm::StringRef(text, size)].push_back(index);
    }
  Object result = Object::steal(PyList_New(0));
  auto found = members->byName.find(name);
  if (!result || found == members->byName.end())
    return result;
  for (size_t index : found->second)
    if (PyList_Append(result.get(), definitions[index].node.get()) < 0)
      return {};
  return result;
}

/// Adds a string to a set. Returns false after an error.
static bool addText(const Object &set, llvm::StringRef text) {
  Object string =
      Object::steal(PyUnicode_FromStringAndSize(text.data(), text.size()));
  return string && PySet_Add(set.get(), string.get()) == 0;
}

Object LiveProgram::getGroupNames() const {
  Object result = Object::steal(PySet_New(nullptr));
  if (!result || !program)
    return result;
  llvm::StringRef last;
  for (const archive::Node &node : program->graph.nodes)
    for (const archive::NamedArgument &input : node.inputs) {
      if (input.value.tag != archive::ArgumentTag::String ||
          (input.name != "group_name" && input.name != "group") ||
          input.value.text == last)
        continue;
      last = input.value.text;
      if (!addText(result, last))
        return {};
    }
  for (llvm::StringRef group : members->impliedGroups)
    if (!addText(result, group))
      return {};
  return result;
}

Object LiveProgram::getSymbols() const {
  Object result = Object::steal(PySet_New(nullptr));
  if (!result || !program)
    return result;
  for (const auto &[symbol, range] : program->rangeConstraints)
    if (!addText(result, symbol))
      return {};
  return result;
}

/// Erases the indices of devices from a program and restores them at the end of
/// the scope, if all are one: that of the device of this process.
namespace {
class WithoutDeviceIndices {
public:
  explicit WithoutDeviceIndices(archive::Program &program) {
    for (auto &[name, meta] : program.graph.tensorValues)
      add(meta.device.index);
    for (archive::Node &node : program.graph.nodes)
      for (archive::NamedArgument &input : node.inputs)
        if (input.value.tag == archive::ArgumentTag::Device &&
            input.value.integer >= 0)
          arguments.push_back(&input.value.integer);
    for (int64_t *argument : arguments)
      known.insert(*argument);
    if (known.size() != 1) {
      indices.clear();
      arguments.clear();
    }
    for (std::optional<int64_t> *index : indices)
      *index = std::nullopt;
    for (int64_t *argument : arguments)
      *argument = -1;
  }
  WithoutDeviceIndices(const WithoutDeviceIndices &) = delete;
  WithoutDeviceIndices &operator=(const WithoutDeviceIndices &) = delete;
  ~WithoutDeviceIndices() {
    for (std::optional<int64_t> *index : indices)
      *index = *known.begin();
    for (int64_t *argument : arguments)
      *argument = *known.begin();
  }

private:
  void add(std::optional<int64_t> &index) {
    if (!index)
      return;
    indices.push_back(&index);
    known.insert(*index);
  }

  std::vector<std::optional<int64_t> *> indices;
  std::vector<int64_t *> arguments;
  std::set<int64_t> known;
};
} // namespace

std::string LiveProgram::toJson(
    const std::map<std::string, std::string> &groupNames) const {
  if (!program)
    return {};
  if (groupNames.empty())
    return archive::renderProgram(*program);
  std::map<std::string, std::string> ownNames;
  for (const auto &[own, common] : groupNames)
    ownNames[common] = own;
  WithoutDeviceIndices withoutIndices(*program);
  vocabulary::renameGroups(*program, groupNames);
  std::string text = archive::renderProgram(*program);
  vocabulary::renameGroups(*program, ownNames);
  return text;
}
