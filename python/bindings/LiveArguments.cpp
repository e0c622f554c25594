//===- LiveArguments.cpp - arguments of Python calls ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LiveArguments.h"

using namespace commute;
using namespace commute::python;
using archive::Argument;
using archive::ArgumentTag;
using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;

NodeFacts::NodeFacts(PyObject *facts) {
  auto get = [&](const char *name) {
    Object result = complete ? getAttribute(facts, name) : Object();
    complete &= bool(result);
    return result;
  };
  nodeType = get("node_type");
  operatorType = get("operator_type");
  plainTensorTypes = get("plain_tensor_types");
  symInt = get("sym_int");
  symBool = get("sym_bool");
  symFloat = get("sym_float");
  dtype = get("dtype");
  memoryFormat = get("memory_format");
  device = get("device");
  strided = get("strided");
  scalarTypes = get("scalar_types");
  memoryFormats = get("memory_formats");
  getItem = get("get_item");
  setItem = get("set_item");
  describeOperator = get("describe_operator");
  describeCall = get("describe_call");
  describeSize = get("describe_size");
  getStorage = get("get_storage");
  getFrame = get("get_frame");
}

bool NodeFacts::isPlainTensorType(PyObject *value) const {
  auto *type = reinterpret_cast<PyObject *>(Py_TYPE(value));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(plainTensorTypes.get()); ++i)
    if (PyTuple_GET_ITEM(plainTensorTypes.get(), i) == type)
      return true;
  return false;
}

std::optional<llvm::StringRef> python::getText(PyObject *string,
                                               llvm::StringSaver &strings) {
  Py_ssize_t size = 0;
  const char *text = PyUnicode_AsUTF8AndSize(string, &size);
  if (text)
    return strings.save(llvm::StringRef(text, size));
  // A lone surrogate, which Python writes for undecodable names.
  if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
    return std::nullopt;
  PyErr_Clear();
  Object bytes =
      Object::steal(PyUnicode_AsEncodedString(string, "utf-8", "replace"));
  if (!bytes)
    return std::nullopt;
  return strings.save(llvm::StringRef(PyBytes_AS_STRING(bytes.get()),
                                      PyBytes_GET_SIZE(bytes.get())));
}

static bool isInstance(PyObject *value, const Object &type) {
  return PyObject_TypeCheck(value,
                            reinterpret_cast<PyTypeObject *>(type.get()));
}

LogicalResult ArgumentReader::readNumber(PyObject *table, PyObject *key,
                                         ArgumentTag tag, Argument &result) {
  PyObject *number = PyDict_GetItemWithError(table, key);
  if (!number)
    return PyErr_Occurred() ? failure() : readOther(key, result);
  result.tag = tag;
  result.integer = PyLong_AsLongLong(number);
  return success();
}

LogicalResult ArgumentReader::readOther(PyObject *value, Argument &result) {
  Object text = Object::steal(PyObject_Repr(value));
  if (!text)
    return failure();
  std::optional<llvm::StringRef> saved = getText(text.get(), strings);
  if (!saved)
    return failure();
  result.tag = ArgumentTag::String;
  result.text = strings.save("python: " + *saved);
  return success();
}

LogicalResult ArgumentReader::readConstant(PyObject *value, Argument &result) {
  if (value == Py_None) {
    result.tag = ArgumentTag::None;
    return success();
  }
  if (value == Py_Ellipsis) {
    result.tag = ArgumentTag::String;
    result.text = "...";
    return success();
  }
  if (PyBool_Check(value)) {
    result.tag = ArgumentTag::Bool;
    result.integer = value == Py_True;
    return success();
  }
  if (PyLong_Check(value)) {
    int overflow = 0;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow)
      return readOther(value, result);
    result.tag = ArgumentTag::Int;
    result.integer = number;
    return success();
  }
  if (PyFloat_Check(value)) {
    result.tag = ArgumentTag::Float;
    result.real = PyFloat_AS_DOUBLE(value);
    return success();
  }
  if (PyUnicode_Check(value)) {
    std::optional<llvm::StringRef> text = getText(value, strings);
    if (!text)
      return failure();
    result.tag = ArgumentTag::String;
    result.text = *text;
    return success();
  }
  if (isInstance(value, facts.dtype))
    return readNumber(facts.scalarTypes.get(), value, ArgumentTag::ScalarType,
                      result);
  if (isInstance(value, facts.memoryFormat))
    return readNumber(facts.memoryFormats.get(), value,
                      ArgumentTag::MemoryFormat, result);
  if (isInstance(value, facts.device)) {
    Object type = getAttribute(value, "type");
    Object index = type ? getAttribute(value, "index") : Object();
    if (!index)
      return failure();
    std::optional<llvm::StringRef> text = getText(type.get(), strings);
    if (!text)
      return failure();
    result.tag = ArgumentTag::Device;
    result.text = *text;
    result.integer =
        index.get() == Py_None ? -1 : PyLong_AsLongLong(index.get());
    return success();
  }
  if (value == facts.strided.get()) {
    result.tag = ArgumentTag::Layout;
    result.integer = archive::stridedLayout;
    return success();
  }
  if (isInstance(value, facts.operatorType)) {
    Object name = Object::steal(PyObject_Str(value));
    std::optional<llvm::StringRef> text;
    if (name)
      text = getText(name.get(), strings);
    if (!text)
      return failure();
    result.tag = ArgumentTag::Operator;
    result.text = strings.save("torch.ops." + *text);
    return success();
  }
  return readOther(value, result);
}

LogicalResult ArgumentReader::addElement(llvm::StringRef key, PyObject *value,
                                         Argument &result) {
  Argument &element = result.elements.emplace_back();
  if (failed(read(value, element)))
    return failure();
  element.className = key;
  return success();
}

LogicalResult ArgumentReader::readDictionary(PyObject *parts,
                                             Argument &result) {
  result.tag = ArgumentTag::StringToArgument;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t place = 0; PyDict_Next(parts, &place, &key, &value);) {
    Object name = Object::steal(PyObject_Str(key));
    std::optional<llvm::StringRef> text;
    if (name)
      text = getText(name.get(), strings);
    if (!text || failed(addElement(*text, value, result)))
      return failure();
  }
  return success();
}

LogicalResult ArgumentReader::readSequence(PyObject *values, Argument &result) {
  // Lists of torch.fx are subclasses of list.
  PyObject **items = PySequence_Fast_ITEMS(values);
  Py_ssize_t count = PySequence_Fast_GET_SIZE(values);
  result.tag = ArgumentTag::Ints;
  result.elements.resize(count);
  uint64_t tags = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (failed(read(items[i], result.elements[i])))
      return failure();
    tags |= uint64_t(1) << unsigned(result.elements[i].tag);
  }
  auto are = [&](std::initializer_list<ArgumentTag> expected) {
    uint64_t others = tags;
    for (ArgumentTag tag : expected)
      others &= ~(uint64_t(1) << unsigned(tag));
    return others == 0;
  };
  if (are({ArgumentTag::Int}))
    return success();
  if (are({ArgumentTag::Tensor})) {
    result.tag = ArgumentTag::Tensors;
  } else if (are({ArgumentTag::Float})) {
    result.tag = ArgumentTag::Floats;
  } else if (are({ArgumentTag::Bool})) {
    result.tag = ArgumentTag::Bools;
  } else if (are({ArgumentTag::Tensor, ArgumentTag::None}) &&
             !are({ArgumentTag::None})) {
    result.tag = ArgumentTag::OptionalTensors;
  } else if (are({ArgumentTag::Int, ArgumentTag::SymInt})) {
    result.tag = ArgumentTag::SymInts;
    for (Argument &element : result.elements)
      element.tag = ArgumentTag::SymInt;
  } else {
    result.tag = ArgumentTag::StringToArgument;
    for (Py_ssize_t i = 0; i < count; ++i)
      result.elements[i].className = strings.save(std::to_string(i));
  }
  return success();
}

LogicalResult ArgumentReader::read(PyObject *value, Argument &result) {
  if (facts.isNode(value))
    return nameValue(value, result);
  if (PyList_Check(value) || PyTuple_Check(value))
    return readSequence(value, result);
  if (PySlice_Check(value)) {
    auto *slice = reinterpret_cast<PySliceObject *>(value);
    result.tag = ArgumentTag::StringToArgument;
    return success(succeeded(addElement("start", slice->start, result)) &&
                   succeeded(addElement("stop", slice->stop, result)) &&
                   succeeded(addElement("step", slice->step, result)));
  }
  if (PyDict_Check(value))
    return readDictionary(value, result);
  return readConstant(value, result);
}

LogicalResult ArgumentReader::readIndex(PyObject *value, Argument &result) {
  if (!PyList_Check(value))
    return read(value, result);
  // A list gathers, and a tuple counts dims.
  result.tag = ArgumentTag::StringToArgument;
  return addElement("list", value, result);
}
