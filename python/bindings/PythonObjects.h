//===- PythonObjects.h - Python objects in C++ ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Python's C interface for code that uses LLVM, which is compiled without
// exceptions: functions that fail leave Python's error indicator set.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_PYTHONOBJECTS_H
#define COMMUTE_PYTHON_BINDINGS_PYTHONOBJECTS_H

// Lengths in formats are of type Py_ssize_t.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <utility>

namespace commute::python {

/// A strong reference to a Python object; null after a Python error.
class Object {
public:
  Object() = default;
  /// Takes ownership of a new reference.
  static Object steal(PyObject *reference) {
    Object result;
    result.object = reference;
    return result;
  }
  static Object borrow(PyObject *reference) {
    Py_XINCREF(reference);
    return steal(reference);
  }
  Object(const Object &other) : object(other.object) { Py_XINCREF(object); }
  Object(Object &&other) noexcept
      : object(std::exchange(other.object, nullptr)) {}
  Object &operator=(Object other) noexcept {
    std::swap(object, other.object);
    return *this;
  }
  ~Object() { Py_XDECREF(object); }

  explicit operator bool() const { return object != nullptr; }
  PyObject *get() const { return object; }
  PyObject *release() { return std::exchange(object, nullptr); }

private:
  PyObject *object = nullptr;
};

/// Gets an attribute, whose name is a Python string.
inline Object getAttribute(PyObject *object, PyObject *name) {
  return Object::steal(PyObject_GetAttr(object, name));
}
inline Object getAttribute(PyObject *object, const char *name) {
  return Object::steal(PyObject_GetAttrString(object, name));
}

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_PYTHONOBJECTS_H
