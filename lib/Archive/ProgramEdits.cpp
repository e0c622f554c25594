//===- ProgramEdits.cpp - writing of edited programs ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// New text follows PyTorch's form: that of Python's json module with ", " and
// ": " as separators, and with every field of the schema's structs.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::archive {

namespace {

/// Writes structs of the export schema as JSON.
class SchemaWriter {
public:
  SchemaWriter(llvm::raw_ostream &out, const JsonDocument &document)
      : out(out), document(document) {}

  void writeNode(const Node &node);
  void writeTensorMeta(const TensorMeta &meta);
  void writeSymInt(const SymInt &number);

private:
  void writeArgument(const Argument &argument);
  void writePayload(const Argument &argument);
  void writeSymbolic(const Argument &argument, llvm::StringRef constant);
  void writeDevice(llvm::StringRef type, std::optional<int64_t> index);
  void writeName(llvm::StringRef name) {
    out << "{\"name\": " << quoteJson(name) << "}";
  }
  llvm::StringRef spell(bool value) { return value ? "true" : "false"; }

  template <typename Range, typename Writer>
  void writeArray(const Range &range, Writer writeItem) {
    out << "[";
    llvm::interleave(range, writeItem, [&] { out << ", "; });
    out << "]";
  }

  llvm::raw_ostream &out;
  const JsonDocument &document;
};

} // namespace

//===----------------------------------------------------------------------===//
// Structs of the schema
//===----------------------------------------------------------------------===//

void SchemaWriter::writeNode(const Node &node) {
  out << "{\"target\": " << quoteJson(node.target) << ", \"inputs\": ";
  writeArray(node.inputs, [&](const NamedArgument &input) {
    out << "{\"name\": " << quoteJson(input.name) << ", \"arg\": ";
    writeArgument(input.value);
    out << ", \"kind\": ";
    if (input.kind)
      out << unsigned(*input.kind);
    else
      out << "null";
    out << "}";
  });
  out << ", \"outputs\": ";
  writeArray(node.outputs,
             [&](const Argument &output) { writeArgument(output); });
  out << ", \"metadata\": " << (node.metadata.empty() ? "{}" : node.metadata)
      << ", \"is_hop_single_tensor_return\": "
      << (node.isSingleTensorReturn ? spell(*node.isSingleTensorReturn)
                                    : "null")
      << ", \"name\": "
      << (node.name.empty() ? std::string("null") : quoteJson(node.name))
      << "}";
}

void SchemaWriter::writeArgument(const Argument &argument) {
  // PyTorch's loader does not support as_optional_tensor, although the schema
  // defines it. as_tensor and as_none are equivalent.
  if (argument.tag == ArgumentTag::OptionalTensor)
    return writeArgument(argument.elements.front());
  out << "{\"" << argumentTagName(argument.tag) << "\": ";
  writePayload(argument);
  out << "}";
}

void SchemaWriter::writePayload(const Argument &argument) {
  switch (argument.tag) {
  case ArgumentTag::None:
    out << "true";
    return;
  case ArgumentTag::Tensor:
  case ArgumentTag::Token:
    return writeName(argument.text);
  case ArgumentTag::CustomObject:
    out << "{\"name\": " << quoteJson(argument.text)
        << ", \"class_fqn\": " << quoteJson(argument.className) << "}";
    return;
  case ArgumentTag::Int:
  case ArgumentTag::ScalarType:
  case ArgumentTag::MemoryFormat:
  case ArgumentTag::Layout:
    out << argument.integer;
    return;
  case ArgumentTag::Bool:
    out << spell(argument.integer);
    return;
  case ArgumentTag::Float:
    out << formatJsonFloat(argument.real);
    return;
  case ArgumentTag::String:
  case ArgumentTag::Operator:
    out << quoteJson(argument.text);
    return;
  case ArgumentTag::SymInt:
    return writeSymbolic(argument, std::to_string(argument.integer));
  case ArgumentTag::SymBool:
    return writeSymbolic(argument, spell(argument.integer));
  case ArgumentTag::SymFloat:
    return writeSymbolic(argument, formatJsonFloat(argument.real));
  case ArgumentTag::Device:
    return writeDevice(argument.text, argument.integer < 0
                                          ? std::nullopt
                                          : std::optional(argument.integer));
  case ArgumentTag::Complex:
    out << "{\"real\": " << formatJsonFloat(argument.real)
        << ", \"imag\": " << formatJsonFloat(argument.imaginary) << "}";
    return;
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
    return writeArray(argument.elements,
                      [&](const Argument &element) { writePayload(element); });
  case ArgumentTag::OptionalTensors:
    return writeArray(argument.elements,
                      [&](const Argument &element) { writeArgument(element); });
  case ArgumentTag::StringToArgument:
    out << "{";
    llvm::interleave(
        argument.elements,
        [&](const Argument &element) {
          out << quoteJson(element.className) << ": ";
          writeArgument(element);
        },
        [&] { out << ", "; });
    out << "}";
    return;
  case ArgumentTag::Graph: {
    // The subgraph exists only as text: the {"as_graph": ...} of the argument.
    llvm::StringRef text = document.text(argument.span);
    text.consume_front("{");
    text.consume_back("}");
    out << text.drop_front(text.find(':') + 1).trim();
    return;
  }
  case ArgumentTag::OptionalTensor:
    llvm_unreachable("written as what it holds");
  }
}

void SchemaWriter::writeSymbolic(const Argument &argument,
                                 llvm::StringRef constant) {
  if (!argument.text.empty()) {
    out << "{\"as_name\": " << quoteJson(argument.text) << "}";
    return;
  }
  llvm::StringRef tag = argument.tag == ArgumentTag::SymInt    ? "as_int"
                        : argument.tag == ArgumentTag::SymBool ? "as_bool"
                                                               : "as_float";
  out << "{\"" << tag << "\": " << constant << "}";
}

void SchemaWriter::writeDevice(llvm::StringRef type,
                               std::optional<int64_t> index) {
  out << "{\"type\": " << quoteJson(type) << ", \"index\": ";
  if (index)
    out << *index;
  else
    out << "null";
  out << "}";
}

void SchemaWriter::writeSymInt(const SymInt &number) {
  if (number.value) {
    out << "{\"as_int\": " << *number.value << "}";
    return;
  }
  out << "{\"as_expr\": {\"expr_str\": " << quoteJson(number.expression)
      << ", \"hint\": ";
  if (number.hint)
    out << "{\"as_int\": " << *number.hint << "}";
  else
    out << "null";
  out << "}}";
}

void SchemaWriter::writeTensorMeta(const TensorMeta &meta) {
  auto writeSize = [&](const SymInt &size) { writeSymInt(size); };
  out << "{\"dtype\": " << unsigned(meta.dtype) << ", \"sizes\": ";
  writeArray(meta.sizes, writeSize);
  out << ", \"requires_grad\": " << spell(meta.requiresGrad)
      << ", \"device\": ";
  writeDevice(meta.device.type, meta.device.index);
  out << ", \"strides\": ";
  writeArray(meta.strides, writeSize);
  out << ", \"storage_offset\": ";
  writeSymInt(meta.storageOffset);
  out << ", \"layout\": " << meta.layout << "}";
}

//===----------------------------------------------------------------------===//
// Edits
//===----------------------------------------------------------------------===//

void ProgramEdits::keepNode(size_t index, llvm::ArrayRef<Rename> renames) {
  NodeItem &item = nodes.emplace_back();
  item.source = index;
  item.renames.assign(renames.begin(), renames.end());
}
void ProgramEdits::addNode(const Node &node) {
  nodes.emplace_back().added = node;
}
void ProgramEdits::addTensorValue(llvm::StringRef name,
                                  const TensorMeta &meta) {
  addedValues.emplace_back(name, meta);
}
void ProgramEdits::addSymIntValue(llvm::StringRef name, const SymInt &value) {
  addedNumbers.emplace_back(name, value);
}

void ProgramEdits::removeTensorValue(llvm::StringRef name) {
  removedValues.push_back(name);
}
void ProgramEdits::rename(const Rename &rename) {
  outerRenames.push_back(rename);
}

namespace {
/// A span and the text that replaces it.
struct Replacement {
  TextSpan span;
  std::string text;
};
} // namespace

/// Writes the bytes of `range` with the replacements applied. Replacements must
/// be in the range and must not overlap.
static void writeReplaced(llvm::raw_ostream &out, const JsonDocument &document,
                          TextSpan range,
                          std::vector<Replacement> replacements) {
  llvm::sort(replacements, [](const Replacement &a, const Replacement &b) {
    return a.span.begin < b.span.begin;
  });
  uint32_t next = range.begin;
  for (const Replacement &replacement : replacements) {
    assert(replacement.span.begin >= next &&
           replacement.span.end <= range.end && "edit outside of its range");
    out << document.text({next, replacement.span.begin}) << replacement.text;
    next = replacement.span.end;
  }
  out << document.text({next, range.end});
}

static std::vector<Replacement>
toReplacements(llvm::ArrayRef<ProgramEdits::Rename> renames) {
  std::vector<Replacement> result;
  result.reserve(renames.size());
  for (const ProgramEdits::Rename &rename : renames)
    result.push_back({rename.span, quoteJson(rename.name)});
  return result;
}

bool ProgramEdits::keepsNodes(const Program &program) const {
  if (nodes.size() != program.graph.nodes.size())
    return false;
  for (auto [index, item] : llvm::enumerate(nodes))
    if (item.source != index || !item.renames.empty())
      return false;
  return true;
}

bool ProgramEdits::changesNothing(const Program &program) const {
  return keepsNodes(program) && addedValues.empty() && removedValues.empty() &&
         outerRenames.empty();
}

std::string ProgramEdits::renderNodes(const Program &program) const {
  std::string result;
  llvm::raw_string_ostream out(result);
  const JsonDocument &document = *program.document;
  SchemaWriter writer(out, document);
  out << "[";
  llvm::interleave(
      nodes,
      [&](const NodeItem &item) {
        if (!item.source)
          return writer.writeNode(item.added);
        writeReplaced(out, document, program.graph.nodes[*item.source].span,
                      toReplacements(item.renames));
      },
      [&] { out << ", "; });
  out << "]";
  return result;
}

std::string ProgramEdits::renderTensorValues(const Program &program) const {
  std::string result;
  llvm::raw_string_ostream out(result);
  SchemaWriter writer(out, *program.document);
  // The last entry for a name is the valid one.
  llvm::DenseMap<llvm::StringRef, const TensorMeta *> added;
  for (const auto &[name, meta] : addedValues)
    added[name] = &meta;
  llvm::DenseSet<llvm::StringRef> removed(removedValues.begin(),
                                          removedValues.end());

  bool isFirst = true;
  auto separate = [&] {
    if (!isFirst)
      out << ", ";
    isFirst = false;
  };
  out << "{";
  JsonValue table = program.tensorValuesObject;
  for (auto member = table.begin(), end = table.end(); member != end;
       ++member) {
    std::string storage;
    llvm::StringRef name = *member.key().getString(storage);
    auto replacement = added.find(name);
    if (replacement == added.end()) {
      if (removed.contains(name))
        continue;
      separate();
      out << member.key().text() << ": " << (*member).text();
      continue;
    }
    separate();
    out << member.key().text() << ": ";
    writer.writeTensorMeta(*replacement->second);
    added.erase(replacement);
  }
  for (const auto &[name, meta] : addedValues) {
    auto found = added.find(name);
    if (found == added.end())
      continue;
    separate();
    out << quoteJson(name) << ": ";
    writer.writeTensorMeta(*found->second);
    added.erase(found);
  }
  out << "}";
  return result;
}

std::string ProgramEdits::renderSymIntValues(const Program &program) const {
  std::string result;
  llvm::raw_string_ostream out(result);
  SchemaWriter writer(out, *program.document);
  JsonValue table = program.symIntValuesObject;
  bool isEmpty = !(table.begin() != table.end());
  out << table.text().rtrim().drop_back();
  for (const auto &[name, value] : addedNumbers) {
    out << (isEmpty ? "" : ", ") << quoteJson(name) << ": ";
    writer.writeSymInt(value);
    isEmpty = false;
  }
  out << "}";
  return result;
}

/// Writes {"0": "x"} for renames of the values `names`, numbered in order.
static void writePositions(llvm::raw_ostream &out,
                           llvm::ArrayRef<ProgramEdits::Rename> renames,
                           llvm::ArrayRef<TextSpan> names) {
  llvm::DenseMap<uint32_t, llvm::StringRef> newNames;
  for (const ProgramEdits::Rename &rename : renames)
    newNames[rename.span.begin] = rename.name;
  bool isFirst = true;
  out << "{";
  for (auto [position, span] : llvm::enumerate(names)) {
    auto found = newNames.find(span.begin);
    if (found == newNames.end())
      continue;
    out << (isFirst ? "" : ", ") << '"' << position
        << "\": " << quoteJson(found->second);
    isFirst = false;
  }
  out << "}";
}

std::string ProgramEdits::describe(const Program &program) const {
  std::string result;
  llvm::raw_string_ostream out(result);
  SchemaWriter writer(out, *program.document);
  std::vector<TextSpan> names;
  auto note = [&](const Argument &value) { names.push_back(value.nameSpan); };
  out << "{\"nodes\": [";
  llvm::interleave(
      nodes,
      [&](const NodeItem &item) {
        if (!item.source) {
          out << "{\"add\": ";
          writer.writeNode(item.added);
          out << "}";
          return;
        }
        if (item.renames.empty()) {
          out << *item.source;
          return;
        }
        const Node &node = program.graph.nodes[*item.source];
        names.clear();
        for (const NamedArgument &input : node.inputs)
          input.value.forEachValue(note);
        for (const Argument &output : node.outputs)
          output.forEachValue(note);
        out << "{\"keep\": " << *item.source << ", \"values\": ";
        writePositions(out, item.renames, names);
        out << "}";
      },
      [&] { out << ", "; });
  out << "], \"outputs\": ";
  names.clear();
  for (const Argument &output : program.graph.outputs)
    output.forEachValue(note);
  writePositions(out, outerRenames, names);
  out << ", \"values\": {";
  // The last entry for a name is the valid one, as in the reader of any JSON.
  llvm::interleave(
      addedValues,
      [&](const auto &added) {
        out << quoteJson(added.first) << ": ";
        writer.writeTensorMeta(added.second);
      },
      [&] { out << ", "; });
  out << "}}";
  return result;
}

std::string ProgramEdits::apply(const Program &program) const {
  std::vector<Replacement> replacements = toReplacements(outerRenames);
  if (!keepsNodes(program))
    replacements.push_back({program.nodesArray.span(), renderNodes(program)});
  if (!addedValues.empty() || !removedValues.empty())
    replacements.push_back(
        {program.tensorValuesObject.span(), renderTensorValues(program)});
  if (!addedNumbers.empty())
    replacements.push_back(
        {program.symIntValuesObject.span(), renderSymIntValues(program)});
  const JsonDocument &document = *program.document;
  std::string result;
  llvm::raw_string_ostream out(result);
  writeReplaced(out, document, {0, uint32_t(document.text().size())},
                std::move(replacements));
  return result;
}

} // namespace commute::archive
