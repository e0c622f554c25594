//===- LiveOutputs.cpp - what the rest of a live graph reads --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LiveOutputs.h"

#include "LiveMembers.h"

using namespace commute;
using namespace commute::python;
using archive::Argument;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;

LogicalResult OutputReader::add(PyObject *node, Argument output) {
  archive::Program &program = *live.program;
  archive::Graph &graph = program.graph;
  if (PyList_Append(live.outputs.get(), node) < 0)
    return failure();
  if (output.namesValue()) {
    output.nameSpan.begin = graph.outputs.size();
    program.outerNames.push_back(output);
  }
  program.outputSpecs.push_back({archive::OutputKind::User, output, {}});
  graph.outputs.push_back(std::move(output));
  return success();
}

LogicalResult OutputReader::addReturned(PyObject *value,
                                        std::string &structure) {
  auto addParts = [&](PyObject *const *parts, Py_ssize_t count) {
    for (Py_ssize_t i = 0; i < count; ++i) {
      structure += i > 0 ? ", " : "";
      if (failed(addReturned(parts[i], structure)))
        return failure();
    }
    return success();
  };
  // What calls a graph takes a list and a tuple alike.
  if (PyList_Check(value) || PyTuple_Check(value)) {
    structure += "[";
    if (failed(addParts(PySequence_Fast_ITEMS(value),
                        PySequence_Fast_GET_SIZE(value))))
      return failure();
    structure += "]";
    return success();
  }
  if (PySlice_Check(value)) {
    auto *slice = reinterpret_cast<PySliceObject *>(value);
    PyObject *parts[] = {slice->start, slice->stop, slice->step};
    structure += "slice(";
    if (failed(addParts(parts, 3)))
      return failure();
    structure += ")";
    return success();
  }
  if (PyDict_Check(value)) {
    structure += "{";
    PyObject *key = nullptr, *part = nullptr;
    for (Py_ssize_t place = 0; PyDict_Next(value, &place, &key, &part);) {
      Object name = Object::steal(PyObject_Repr(key));
      std::optional<StringRef> text;
      if (name)
        text = getText(name.get(), live.program->strings);
      if (!text)
        return failure();
      structure += (*text + ": ").str();
      if (failed(addReturned(part, structure)))
        return failure();
      structure += ", ";
    }
    structure += "}";
    return success();
  }
  structure += "*";
  Argument output;
  if (failed(arguments.read(value, output)))
    return failure();
  return add(facts.isNode(value) ? value : Py_None, std::move(output));
}

LogicalResult OutputReader::addRead(PyObject *outputNode,
                                    llvm::ArrayRef<PyObject *> calls) {
  const llvm::DenseSet<PyObject *> &members = live.members->nodes;
  Object readers = Object::steal(PyList_New(0));
  if (!readers)
    return failure();
  llvm::DenseSet<PyObject *> known;
  for (PyObject *node : calls) {
    Object users = getAttribute(node, names.users);
    if (!users)
      return failure();
    PyObject *user = nullptr, *ignored = nullptr;
    for (Py_ssize_t place = 0;
         PyDict_Next(users.get(), &place, &user, &ignored);)
      if (user != outputNode && !members.contains(user) &&
          known.insert(user).second && PyList_Append(readers.get(), user) < 0)
        return failure();
  }
  // Nodes are compared by their places in the graph.
  if (PyList_Sort(readers.get()) < 0)
    return failure();
  llvm::DenseSet<PyObject *> added;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(readers.get()); ++i) {
    Object reads =
        getAttribute(PyList_GET_ITEM(readers.get(), i), names.inputNodes);
    if (!reads)
      return failure();
    PyObject *read = nullptr, *ignored = nullptr;
    for (Py_ssize_t place = 0;
         PyDict_Next(reads.get(), &place, &read, &ignored);) {
      auto value = values.find(read);
      if (value == values.end() || !members.contains(read) ||
          inputs.contains(read) || !added.insert(read).second)
        continue;
      if (failed(add(read, value->second)))
        return failure();
    }
  }
  return success();
}

LogicalResult OutputReader::read(PyObject *outputNode,
                                 llvm::ArrayRef<PyObject *> calls) {
  archive::Program &program = *live.program;
  if (outputNode) {
    Object args = getAttribute(outputNode, names.args);
    if (!args)
      return failure();
    std::string structure;
    PyObject *returned = PyTuple_GET_SIZE(args.get()) == 1
                             ? PyTuple_GET_ITEM(args.get(), 0)
                             : args.get();
    if (failed(addReturned(returned, structure)))
      return failure();
    program.call.emplace().outputs = program.strings.save(structure);
  }
  live.numReturned = program.graph.outputs.size();
  return addRead(outputNode, calls);
}
