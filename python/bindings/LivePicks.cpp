//===- LivePicks.cpp - which nodes pick results of others -----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LivePicks.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute;
using namespace commute::python;
using archive::Argument;
using archive::ArgumentTag;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

static bool isSequence(PyObject *value) {
  return PyList_Check(value) || PyTuple_Check(value);
}

std::optional<int64_t> PickFinder::getPosition(PyObject *user, int64_t count) {
  if (!members.contains(user))
    return std::nullopt;
  Object target = getAttribute(user, names.target);
  Object args = target ? getAttribute(user, names.args) : Object();
  if (!args || target.get() != facts.getItem.get() ||
      PyTuple_GET_SIZE(args.get()) != 2 ||
      !PyLong_Check(PyTuple_GET_ITEM(args.get(), 1)))
    return std::nullopt;
  int overflow = 0;
  int64_t position =
      PyLong_AsLongLongAndOverflow(PyTuple_GET_ITEM(args.get(), 1), &overflow);
  if (overflow || position < -count || position >= count)
    return std::nullopt;
  return position < 0 ? position + count : position;
}

bool PickFinder::isKnown(PyObject *result, bool isNested) {
  if (isSequence(result) && !isNested) {
    Py_ssize_t count = PySequence_Fast_GET_SIZE(result);
    for (Py_ssize_t i = 0; i < count; ++i)
      if (!isKnown(PySequence_Fast_GET_ITEM(result, i), /*isNested=*/true))
        return false;
    return count > 0;
  }
  if (result == Py_None)
    return !isNested;
  return values.isPlainTensor(result).value_or(false);
}

bool PickFinder::visit(PyObject *source, PyObject *results,
                       const PickPath &path, Picks &picks) {
  Object users = getAttribute(source, names.users);
  if (!users)
    return false;
  PyObject *user = nullptr, *ignored = nullptr;
  for (Py_ssize_t next = 0; PyDict_Next(users.get(), &next, &user, &ignored);) {
    std::optional<int64_t> position =
        getPosition(user, PySequence_Fast_GET_SIZE(results));
    if (!position)
      return false;
    picks.nodes.push_back(user);
    PyObject *result = PySequence_Fast_GET_ITEM(results, *position);
    PickPath place = path;
    place.push_back(*position);
    if (isSequence(result)) {
      if (!visit(user, result, place, picks))
        return false;
    } else if (result != Py_None) {
      picks.leaves.emplace_back(user, std::move(place));
    } else {
      Object readers = getAttribute(user, names.users);
      if (!readers || PyDict_GET_SIZE(readers.get()) > 0)
        return false;
    }
  }
  return true;
}

std::optional<Picks> PickFinder::find(PyObject *node, PyObject *results) {
  Py_ssize_t count = PySequence_Fast_GET_SIZE(results);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!isKnown(PySequence_Fast_GET_ITEM(results, i), /*isNested=*/false))
      return std::nullopt;
  Picks picks;
  if (count == 0 || !visit(node, results, {}, picks))
    return std::nullopt;
  return picks;
}

//===----------------------------------------------------------------------===//
// PickedResults
//===----------------------------------------------------------------------===//

LogicalResult PickedResults::addNames() {
  for (const auto &[pick, path] : picks.leaves) {
    Object name = getAttribute(pick, names.name);
    if (!name)
      return failure();
    nameOf.try_emplace(path, std::move(name));
  }
  return success();
}

LogicalResult PickedResults::defineTensor(const PickPath &path, PyObject *value,
                                          Argument &result) {
  Object &name = nameOf[path];
  if (!name) {
    Object own = getAttribute(node, names.name);
    if (!own)
      return failure();
    std::string suffix = "_unused";
    for (int64_t position : path)
      suffix += "_" + std::to_string(position);
    name =
        Object::steal(PyUnicode_FromFormat("%U%s", own.get(), suffix.c_str()));
  }
  if (!name || failed(values.define(name.get(), value, result)))
    return failure();
  argumentOf[path] = result;
  return success();
}

LogicalResult PickedResults::defineList(const PickPath &path, PyObject *list,
                                        Argument &result) {
  result.tag = ArgumentTag::Tensors;
  result.elements.resize(PySequence_Fast_GET_SIZE(list));
  for (auto [position, element] : llvm::enumerate(result.elements)) {
    PickPath place = path;
    place.push_back(static_cast<int64_t>(position));
    if (failed(defineTensor(place, PySequence_Fast_GET_ITEM(list, position),
                            element)))
      return failure();
  }
  return success();
}

LogicalResult PickedResults::define(PyObject *results, archive::Node &result) {
  if (failed(addNames()))
    return failure();
  Py_ssize_t count = PySequence_Fast_GET_SIZE(results);
  bool areTensors = true;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *value = PySequence_Fast_GET_ITEM(results, i);
    areTensors &= value != Py_None && !isSequence(value);
  }
  if (areTensors)
    return defineList({}, results, result.outputs.emplace_back());
  result.outputs.resize(count);
  for (auto [position, output] : llvm::enumerate(result.outputs)) {
    PyObject *value = PySequence_Fast_GET_ITEM(results, position);
    PickPath path = {static_cast<int64_t>(position)};
    if (value != Py_None &&
        failed(isSequence(value) ? defineList(path, value, output)
                                 : defineTensor(path, value, output)))
      return failure();
  }
  return success();
}
