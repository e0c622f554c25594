//===- LiveValues.cpp - values that nodes gave when traced ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LiveValues.h"

using namespace commute;
using namespace commute::python;
using archive::Argument;
using archive::ArgumentTag;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::StringRef;
using llvm::success;

std::optional<bool> ValueReader::isPlainTensor(PyObject *value) {
  if (!facts.isPlainTensorType(value))
    return false;
  Object layout = getAttribute(value, names.layout);
  Object dtype = getAttribute(value, names.dtype);
  Object isNested = getAttribute(value, names.isNested);
  if (!layout || !dtype || !isNested)
    return std::nullopt;
  return layout.get() == facts.strided.get() && isNested.get() == Py_False &&
         PyDict_Contains(facts.scalarTypes.get(), dtype.get()) == 1;
}

LogicalResult ValueReader::readSymbolicSize(PyObject *number,
                                            archive::SymInt &result) {
  // An integer, or an expression with its hint and the ranges of its symbols.
  Object described =
      Object::steal(PyObject_CallOneArg(facts.describeSize.get(), number));
  if (!described)
    return failure();
  if (PyLong_Check(described.get())) {
    result.value = PyLong_AsLongLong(described.get());
    return success(!PyErr_Occurred());
  }
  PyObject *text = nullptr, *hint = nullptr, *ranges = nullptr;
  if (!PyArg_ParseTuple(described.get(), "UOO!", &text, &hint, &PyDict_Type,
                        &ranges))
    return failure();
  std::optional<StringRef> expression = getText(text, strings);
  if (!expression)
    return failure();
  result.expression = *expression;
  if (hint != Py_None)
    result.hint = PyLong_AsLongLong(hint);
  PyObject *symbol = nullptr, *range = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(ranges, &place, &symbol, &range);) {
    std::optional<StringRef> name = getText(symbol, strings);
    PyObject *min = nullptr, *max = nullptr;
    if (!name || !PyArg_ParseTuple(range, "OO", &min, &max))
      return failure();
    archive::RangeConstraint constraint;
    if (min != Py_None)
      constraint.min = PyLong_AsLongLong(min);
    if (max != Py_None)
      constraint.max = PyLong_AsLongLong(max);
    program.rangeConstraints.insert({*name, constraint});
  }
  return success(!PyErr_Occurred());
}

LogicalResult ValueReader::readSize(PyObject *number, archive::SymInt &result) {
  if (!PyLong_CheckExact(number))
    return readSymbolicSize(number, result);
  result.value = PyLong_AsLongLong(number);
  return success(*result.value != -1 || !PyErr_Occurred());
}

LogicalResult
ValueReader::readSizes(PyObject *sizes,
                       llvm::SmallVectorImpl<archive::SymInt> &result) {
  Py_ssize_t count = PyTuple_Check(sizes) ? PyTuple_GET_SIZE(sizes) : -1;
  if (count < 0) {
    PyErr_SetString(PyExc_TypeError, "sizes and strides are tuples");
    return failure();
  }
  result.resize(count);
  for (Py_ssize_t i = 0; i < count; ++i)
    if (failed(readSize(PyTuple_GET_ITEM(sizes, i), result[i])))
      return failure();
  return success();
}

LogicalResult ValueReader::readDevice(PyObject *tensor,
                                      archive::Device &result) {
  Object device = getAttribute(tensor, names.device);
  if (!device)
    return failure();
  // PyTorch makes the text of a device's type anew each time.
  if (lastDevice) {
    int isSame =
        PyObject_RichCompareBool(device.get(), lastDevice.get(), Py_EQ);
    if (isSame < 0)
      return failure();
    if (isSame) {
      result = lastReadDevice;
      return success();
    }
  }
  Object type = getAttribute(device.get(), names.type);
  Object index = type ? getAttribute(device.get(), names.index) : Object();
  if (!index)
    return failure();
  std::optional<StringRef> text = getText(type.get(), strings);
  if (!text)
    return failure();
  result.type = *text;
  if (index.get() != Py_None)
    result.index = PyLong_AsLongLong(index.get());
  lastDevice = device;
  lastReadDevice = result;
  return success();
}

LogicalResult ValueReader::readTensor(PyObject *tensor,
                                      archive::TensorMeta &result) {
  Object shape = getAttribute(tensor, names.shape);
  Object strides =
      shape ? Object::steal(PyObject_CallMethodNoArgs(tensor, names.stride))
            : Object();
  Object dtype = strides ? getAttribute(tensor, names.dtype) : Object();
  Object requiresGrad =
      dtype ? getAttribute(tensor, names.requiresGrad) : Object();
  if (!requiresGrad || failed(readSizes(shape.get(), result.sizes)) ||
      failed(readSizes(strides.get(), result.strides)) ||
      failed(readDevice(tensor, result.device)))
    return failure();
  PyObject *number =
      PyDict_GetItemWithError(facts.scalarTypes.get(), dtype.get());
  if (!number)
    return failure();
  result.dtype = archive::ScalarType(PyLong_AsLongLong(number));
  result.requiresGrad = requiresGrad.get() == Py_True;
  result.storageOffset.value = 0;
  return success();
}

LogicalResult ValueReader::define(PyObject *name, PyObject *value,
                                  Argument &result) {
  auto isA = [&](const Object &type) {
    return PyObject_TypeCheck(value,
                              reinterpret_cast<PyTypeObject *>(type.get()));
  };
  std::optional<StringRef> text = getText(name, strings);
  if (!text)
    return failure();
  result.text = *text;
  std::optional<bool> isTensor = isPlainTensor(value);
  if (!isTensor)
    return failure();
  if (*isTensor) {
    result.tag = ArgumentTag::Tensor;
    archive::TensorMeta meta;
    if (failed(readTensor(value, meta)))
      return failure();
    graph.tensorValues.insert({*text, std::move(meta)});
    return success();
  }
  if (PyBool_Check(value) || isA(facts.symBool)) {
    result.tag = ArgumentTag::SymBool;
    graph.symBoolValues.insert({*text, false});
    return success();
  }
  int overflow = 0;
  if (PyLong_Check(value))
    PyLong_AsLongLongAndOverflow(value, &overflow);
  if ((PyLong_Check(value) && overflow == 0) || isA(facts.symInt)) {
    result.tag = ArgumentTag::SymInt;
    archive::SymInt number;
    if (failed(readSize(value, number)))
      return failure();
    graph.symIntValues.insert({*text, number});
    return success();
  }
  if (PyFloat_Check(value) || isA(facts.symFloat)) {
    result.tag = ArgumentTag::SymFloat;
    graph.symFloatValues.insert({*text, false});
    return success();
  }
  result.tag = ArgumentTag::CustomObject;
  result.className = "object";
  return success();
}
