//===- LiveTargets.cpp - what calls in live graphs call -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LiveTargets.h"

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <memory>

using namespace commute;
using namespace commute::python;
using archive::Effects;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;

namespace {

/// The operators that were met, which live as long as the process.
class KnownOperators {
public:
  static KnownOperators &get(bool isFunctionalGraph) {
    static auto *known = new std::array<KnownOperators, 2>;
    return (*known)[isFunctionalGraph];
  }
  const TargetInfo *find(PyObject *target) const {
    auto found = infos.find(target);
    return found == infos.end() ? nullptr : found->second.get();
  }
  const TargetInfo *add(PyObject *target, TargetInfo info) {
    Py_INCREF(target);
    return (infos[target] = std::make_unique<TargetInfo>(std::move(info)))
        .get();
  }
  llvm::StringSaver &getStrings() { return strings; }

private:
  llvm::DenseMap<PyObject *, std::unique_ptr<TargetInfo>> infos;
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver strings{allocator};
};

} // namespace

LogicalResult TargetReader::describe(PyObject *description,
                                     llvm::StringSaver &saver,
                                     TargetInfo &result) {
  // (name, argument names, names of written arguments or None, is functional or
  // None, name of an implied group or None)
  PyObject *name = nullptr, *arguments = nullptr, *writes = nullptr,
           *isFunctional = nullptr, *group = nullptr;
  if (!PyArg_ParseTuple(description, "UO!OOO", &name, &PyList_Type, &arguments,
                        &writes, &isFunctional, &group))
    return failure();
  auto readNames = [&](PyObject *list, auto &texts) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
      std::optional<StringRef> text = getText(PyList_GET_ITEM(list, i), saver);
      if (!text)
        return false;
      texts.push_back(*text);
    }
    return true;
  };
  std::optional<StringRef> text = getText(name, saver);
  if (!text || !readNames(arguments, result.argumentNames))
    return failure();
  result.name = *text;
  if (writes != Py_None && !readNames(writes, result.writes.emplace()))
    return failure();
  if (isFunctional != Py_None)
    result.effects = isFunctional == Py_True ? Effects::None : Effects::Any;
  if (group == Py_None)
    return success();
  text = getText(group, saver);
  if (text)
    result.impliedGroup = *text;
  return success(text.has_value());
}

const TargetInfo *TargetReader::read(PyObject *node, PyObject *target) {
  KnownOperators &known = KnownOperators::get(isFunctionalGraph);
  if (const TargetInfo *info = known.find(target))
    return info;
  bool isOperator = PyObject_TypeCheck(
      target, reinterpret_cast<PyTypeObject *>(facts.operatorType.get()));
  Object description = Object::steal(PyObject_CallFunctionObjArgs(
      (isOperator ? facts.describeOperator : facts.describeCall).get(),
      isOperator ? target : node, isFunctionalGraph ? Py_True : Py_False,
      nullptr));
  other = {};
  if (!description ||
      failed(describe(description.get(),
                      isOperator ? known.getStrings() : strings, other)))
    return nullptr;
  return isOperator ? known.add(target, std::move(other)) : &other;
}
