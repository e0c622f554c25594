//===- AttributeNames.h - attributes of nodes and tensors -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_ATTRIBUTENAMES_H
#define COMMUTE_PYTHON_BINDINGS_ATTRIBUTENAMES_H

#include "PythonObjects.h"

namespace commute::python {

/// The names of attributes of nodes and tensors, as Python's strings. Those of
/// nodes that start with "_" are what their properties return.
struct AttributeNames {
  PyObject *op = PyUnicode_InternFromString("op");
  PyObject *target = PyUnicode_InternFromString("target");
  PyObject *name = PyUnicode_InternFromString("name");
  PyObject *args = PyUnicode_InternFromString("_args");
  PyObject *kwargs = PyUnicode_InternFromString("_kwargs");
  PyObject *meta = PyUnicode_InternFromString("meta");
  PyObject *users = PyUnicode_InternFromString("users");
  PyObject *inputNodes = PyUnicode_InternFromString("_input_nodes");
  PyObject *next = PyUnicode_InternFromString("_next");
  PyObject *exampleValue = PyUnicode_InternFromString("example_value");
  PyObject *stackTrace = PyUnicode_InternFromString("stack_trace");
  PyObject *val = PyUnicode_InternFromString("val");
  PyObject *shape = PyUnicode_InternFromString("shape");
  PyObject *stride = PyUnicode_InternFromString("stride");
  PyObject *dtype = PyUnicode_InternFromString("dtype");
  PyObject *layout = PyUnicode_InternFromString("layout");
  PyObject *device = PyUnicode_InternFromString("device");
  PyObject *isNested = PyUnicode_InternFromString("is_nested");
  PyObject *requiresGrad = PyUnicode_InternFromString("requires_grad");
  PyObject *type = PyUnicode_InternFromString("type");
  PyObject *index = PyUnicode_InternFromString("index");

  static const AttributeNames &get() {
    static const AttributeNames names;
    return names;
  }
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_ATTRIBUTENAMES_H
