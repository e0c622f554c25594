//===- LiveEdits.cpp - edits of a live fx.Graph ---------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "LiveEdits.h"

using namespace commute;
using namespace commute::python;
using archive::Argument;
using archive::ArgumentTag;
using archive::ProgramEdits;
using llvm::StringRef;

namespace {

/// Builds Python objects. After an error, everything it returns is null.
class ObjectBuilder {
public:
  Object text(StringRef text) {
    return check(PyUnicode_FromStringAndSize(text.data(), text.size()));
  }
  Object integer(int64_t number) { return check(PyLong_FromLongLong(number)); }
  Object boolean(bool value) { return check(PyBool_FromLong(value)); }
  Object real(double number) { return check(PyFloat_FromDouble(number)); }
  Object none() { return Object::borrow(Py_None); }
  Object dict() { return check(PyDict_New()); }
  Object list() { return check(PyList_New(0)); }

  void set(const Object &dict, const char *key, const Object &value) {
    if (isFine && value &&
        PyDict_SetItemString(dict.get(), key, value.get()) < 0)
      isFine = false;
  }
  void set(const Object &dict, const Object &key, const Object &value) {
    if (isFine && key && value &&
        PyDict_SetItem(dict.get(), key.get(), value.get()) < 0)
      isFine = false;
  }
  void append(const Object &list, const Object &value) {
    if (isFine && value && PyList_Append(list.get(), value.get()) < 0)
      isFine = false;
  }
  template <typename Range, typename Function>
  Object listOf(const Range &range, Function makeItem) {
    Object result = list();
    for (const auto &item : range)
      append(result, makeItem(item));
    return result;
  }
  /// Returns {key: value}.
  Object pair(StringRef key, const Object &value) {
    Object result = dict();
    set(result, text(key), value);
    return result;
  }
  Object check(PyObject *reference) {
    if (isFine && reference)
      return Object::steal(reference);
    Py_XDECREF(reference);
    isFine = false;
    return {};
  }

  bool succeeded() const { return isFine; }

private:
  bool isFine = true;
};

class EditsDescriber {
public:
  EditsDescriber(const ProgramEdits &edits, const archive::Program &program)
      : edits(edits), program(program) {}

  Object describe();

private:
  Object describeNodes();
  Object describeKept(const ProgramEdits::NodeItem &item);
  Object describeAdded(const archive::Node &node);
  Object describe(const Argument &argument);
  Object describePayload(const Argument &argument);
  Object describe(const archive::SymInt &number);
  Object describe(const archive::TensorMeta &meta);
  Object describeDevice(StringRef type, std::optional<int64_t> index);
  Object describeName(const Argument &argument, const char *key);

  const ProgramEdits &edits;
  const archive::Program &program;
  ObjectBuilder builder;
};

} // namespace

Object EditsDescriber::describeName(const Argument &argument, const char *key) {
  Object result = builder.dict();
  builder.set(result, key, builder.text(argument.text));
  return result;
}

Object EditsDescriber::describeDevice(StringRef type,
                                      std::optional<int64_t> index) {
  Object result = builder.dict();
  builder.set(result, "type", builder.text(type));
  builder.set(result, "index",
              index ? builder.integer(*index) : builder.none());
  return result;
}

Object EditsDescriber::describe(const Argument &argument) {
  if (argument.tag == ArgumentTag::OptionalTensor)
    return describe(argument.elements.front());
  return builder.pair(archive::argumentTagName(argument.tag),
                      describePayload(argument));
}

Object EditsDescriber::describePayload(const Argument &argument) {
  switch (argument.tag) {
  case ArgumentTag::None:
    return builder.boolean(true);
  case ArgumentTag::Tensor:
  case ArgumentTag::Token:
  case ArgumentTag::CustomObject:
    return describeName(argument, "name");
  case ArgumentTag::Int:
  case ArgumentTag::ScalarType:
  case ArgumentTag::MemoryFormat:
  case ArgumentTag::Layout:
    return builder.integer(argument.integer);
  case ArgumentTag::Bool:
    return builder.boolean(argument.integer != 0);
  case ArgumentTag::Float:
    return builder.real(argument.real);
  case ArgumentTag::String:
  case ArgumentTag::Operator:
    return builder.text(argument.text);
  case ArgumentTag::SymInt:
    if (!argument.text.empty())
      return describeName(argument, "as_name");
    return builder.pair("as_int", builder.integer(argument.integer));
  case ArgumentTag::SymBool:
    if (!argument.text.empty())
      return describeName(argument, "as_name");
    return builder.pair("as_bool", builder.boolean(argument.integer != 0));
  case ArgumentTag::SymFloat:
    if (!argument.text.empty())
      return describeName(argument, "as_name");
    return builder.pair("as_float", builder.real(argument.real));
  case ArgumentTag::Device:
    return describeDevice(argument.text, argument.integer < 0
                                             ? std::nullopt
                                             : std::optional(argument.integer));
  case ArgumentTag::Tensors:
  case ArgumentTag::Ints:
  case ArgumentTag::Floats:
  case ArgumentTag::Strings:
  case ArgumentTag::Bools:
  case ArgumentTag::SymInts:
  case ArgumentTag::SymBools:
  case ArgumentTag::SymFloats:
  case ArgumentTag::NestedTensors:
  case ArgumentTag::IntLists:
  case ArgumentTag::FloatLists:
    return builder.listOf(argument.elements, [&](const Argument &element) {
      return describePayload(element);
    });
  case ArgumentTag::OptionalTensors:
    return builder.listOf(argument.elements, [&](const Argument &element) {
      return describe(element);
    });
  case ArgumentTag::StringToArgument: {
    Object result = builder.dict();
    for (const Argument &element : argument.elements)
      builder.set(result, builder.text(element.className), describe(element));
    return result;
  }
  case ArgumentTag::OptionalTensor:
  case ArgumentTag::Complex:
  case ArgumentTag::Graph:
    // No writer creates these, and the reader of live graphs does not either.
    return builder.none();
  }
  llvm_unreachable("all tags are handled");
}

Object EditsDescriber::describe(const archive::SymInt &number) {
  if (number.value)
    return builder.pair("as_int", builder.integer(*number.value));
  return builder.pair("as_expr", builder.text(number.expression));
}

Object EditsDescriber::describe(const archive::TensorMeta &meta) {
  auto describeSize = [&](const archive::SymInt &size) {
    return describe(size);
  };
  Object result = builder.dict();
  builder.set(result, "dtype", builder.integer(int64_t(meta.dtype)));
  builder.set(result, "sizes", builder.listOf(meta.sizes, describeSize));
  builder.set(result, "strides", builder.listOf(meta.strides, describeSize));
  builder.set(result, "device",
              describeDevice(meta.device.type, meta.device.index));
  return result;
}

Object EditsDescriber::describeKept(const ProgramEdits::NodeItem &item) {
  const archive::Node &node = program.graph.nodes[*item.source];
  uint32_t numReads = 0;
  for (const archive::NamedArgument &input : node.inputs)
    input.value.forEachValue([&](const Argument &) { ++numReads; });
  std::vector<StringRef> results;
  for (const Argument &output : node.outputs)
    output.forEachValue(
        [&](const Argument &value) { results.push_back(value.text); });
  Object reads = builder.dict(), renamed = builder.dict();
  for (const ProgramEdits::Rename &rename : item.renames) {
    uint32_t position = rename.span.begin;
    if (position < numReads)
      builder.set(reads, builder.integer(position), builder.text(rename.name));
    else
      builder.set(renamed, builder.text(results[position - numReads]),
                  builder.text(rename.name));
  }
  Object index = builder.integer(int64_t(*item.source));
  if (!builder.succeeded())
    return {};
  return builder.check(
      PyTuple_Pack(3, index.get(), reads.get(), renamed.get()));
}

Object EditsDescriber::describeAdded(const archive::Node &node) {
  Object result = builder.dict();
  builder.set(result, "target", builder.text(node.target));
  builder.set(result, "name", builder.text(node.name));
  builder.set(
      result, "inputs",
      builder.listOf(node.inputs, [&](const archive::NamedArgument &input) {
        Object described = builder.dict();
        builder.set(described, "name", builder.text(input.name));
        builder.set(described, "arg", describe(input.value));
        return described;
      }));
  builder.set(result, "outputs",
              builder.listOf(node.outputs, [&](const Argument &output) {
                return describe(output);
              }));
  builder.set(result, "origin",
              node.origin ? builder.integer(int64_t(*node.origin))
                          : builder.none());
  return result;
}

Object EditsDescriber::describeNodes() {
  Object result = builder.list();
  llvm::ArrayRef<ProgramEdits::NodeItem> items = edits.getNodes();
  auto isKept = [](const ProgramEdits::NodeItem &item) {
    return item.source && item.renames.empty();
  };
  for (size_t i = 0; i < items.size() && builder.succeeded();) {
    const ProgramEdits::NodeItem &item = items[i];
    if (!item.source) {
      builder.append(result, describeAdded(item.added));
      ++i;
      continue;
    }
    if (!isKept(item)) {
      builder.append(result, describeKept(item));
      ++i;
      continue;
    }
    size_t begin = i++;
    while (i < items.size() && isKept(items[i]) &&
           *items[i].source == *items[i - 1].source + 1)
      ++i;
    builder.append(result, builder.check(PyObject_CallFunction(
                               reinterpret_cast<PyObject *>(&PyRange_Type),
                               "nn", Py_ssize_t(*items[begin].source),
                               Py_ssize_t(*items[i - 1].source + 1))));
  }
  return result;
}

Object EditsDescriber::describe() {
  Object outputs = builder.dict(), values = builder.dict();
  for (const ProgramEdits::Rename &rename : edits.getOuterRenames())
    builder.set(outputs, builder.integer(rename.span.begin),
                builder.text(rename.name));
  for (const auto &[name, meta] : edits.getAddedValues())
    builder.set(values, builder.text(name), describe(meta));
  Object result = builder.dict();
  builder.set(result, "nodes", describeNodes());
  builder.set(result, "outputs", outputs);
  builder.set(result, "values", values);
  return builder.succeeded() ? result : Object();
}

Object python::describeEdits(const ProgramEdits &edits,
                             const archive::Program &program) {
  return EditsDescriber(edits, program).describe();
}
