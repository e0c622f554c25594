//===- SchemaWriter.cpp - structs of the export schema as JSON ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SchemaWriter.h"

#include "llvm/ADT/StringExtras.h"

namespace commute::archive {

void SchemaWriter::writeInputs(const Node &node) {
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
}

/// Writes what the metadata of a node states. A live graph has it only in the
/// fields of the node.
void SchemaWriter::writeMetadata(const Node &node) {
  if (!node.metadata.empty()) {
    out << node.metadata;
    return;
  }
  out << "{";
  llvm::StringRef separator = "";
  if (node.effects != Effects::Unstated) {
    out << "\"effects\": "
        << (node.effects == Effects::None ? "\"none\"" : "\"any\"");
    separator = ", ";
  }
  if (node.writes)
    out << separator
        << "\"writes\": " << quoteJson(llvm::join(*node.writes, " "));
  out << "}";
}

void SchemaWriter::writeNode(const Node &node) {
  out << "{\"target\": " << quoteJson(node.target) << ", \"inputs\": ";
  writeInputs(node);
  out << ", \"outputs\": ";
  writeArray(node.outputs,
             [&](const Argument &output) { writeArgument(output); });
  out << ", \"metadata\": ";
  writeMetadata(node);
  out << ", \"is_hop_single_tensor_return\": "
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
    out << "{\"name\": ";
    writeName(argument);
    out << "}";
    return;
  case ArgumentTag::CustomObject:
    out << "{\"name\": ";
    writeName(argument);
    out << ", \"class_fqn\": " << quoteJson(argument.className) << "}";
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
    llvm::StringRef text = document->text(argument.span);
    text.consume_front("{");
    text.consume_back("}");
    out << text.drop_front(text.find(':') + 1).trim();
    return;
  }
  case ArgumentTag::OptionalTensor:
    llvm_unreachable("written as what it holds");
  }
}

void SchemaWriter::writeName(const Argument &argument) {
  std::optional<std::string> name;
  if (getName)
    name = getName(argument);
  out << quoteJson(name ? llvm::StringRef(*name) : argument.text);
}

void SchemaWriter::writeSymbolic(const Argument &argument,
                                 llvm::StringRef constant) {
  if (!argument.text.empty()) {
    out << "{\"as_name\": ";
    writeName(argument);
    out << "}";
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

std::string Program::getInputsText(const Node &node,
                                   SchemaWriter::NameFunction getName) const {
  std::string result;
  if (!document) {
    llvm::raw_string_ostream out(result);
    SchemaWriter(out, /*document=*/nullptr, getName).writeInputs(node);
    return result;
  }
  llvm::StringRef source = document->text();
  uint32_t copied = node.inputsSpan.begin;
  for (const NamedArgument &input : node.inputs)
    input.value.forEachValue([&](const Argument &value) {
      std::optional<std::string> name = getName(value);
      if (!name)
        return;
      result += source.slice(copied, value.nameSpan.begin);
      result += quoteJson(*name);
      copied = value.nameSpan.end;
    });
  result += source.slice(copied, node.inputsSpan.end);
  return result;
}

std::string Program::getText(const Argument &argument) const {
  if (document)
    return document->text(argument.span).str();
  std::string result;
  llvm::raw_string_ostream out(result);
  SchemaWriter(out, /*document=*/nullptr).writeArgument(argument);
  return result;
}

/// Writes {"NAME": ENTRY, ...}.
template <typename Table, typename Writer>
static void writeTable(llvm::raw_ostream &out, const Table &table,
                       Writer writeEntry) {
  out << "{";
  llvm::interleave(
      table,
      [&](const auto &entry) {
        out << quoteJson(entry.first) << ": ";
        writeEntry(entry.second);
      },
      [&] { out << ", "; });
  out << "}";
}

std::string renderProgram(const Program &program) {
  const Graph &graph = program.graph;
  std::string result;
  llvm::raw_string_ostream out(result);
  SchemaWriter writer(out, program.document.get());
  auto writeArgument = [&](const Argument &argument) {
    writer.writeArgument(argument);
  };
  auto writeSpecs = [&](llvm::StringRef kind,
                        const std::vector<Argument> &arguments) {
    writer.writeArray(arguments, [&](const Argument &argument) {
      out << "{\"" << kind << "\": {\"arg\": ";
      writeArgument(argument);
      out << "}}";
    });
  };
  auto writeConstant = [&](bool) {
    out << "{\"as_expr\": {\"expr_str\": \"unknown\"}}";
  };
  out << "{\"graph_module\": {\"graph\": {\"inputs\": ";
  writer.writeArray(graph.inputs, writeArgument);
  out << ", \"outputs\": ";
  writer.writeArray(graph.outputs, writeArgument);
  out << ", \"nodes\": ";
  writer.writeArray(graph.nodes,
                    [&](const Node &node) { writer.writeNode(node); });
  out << ", \"tensor_values\": ";
  writeTable(out, graph.tensorValues,
             [&](const TensorMeta &meta) { writer.writeTensorMeta(meta); });
  out << ", \"sym_int_values\": ";
  writeTable(out, graph.symIntValues,
             [&](const SymInt &number) { writer.writeSymInt(number); });
  out << ", \"sym_bool_values\": ";
  writeTable(out, graph.symBoolValues, writeConstant);
  out << ", \"sym_float_values\": ";
  writeTable(out, graph.symFloatValues, writeConstant);
  out << "}, \"signature\": {\"input_specs\": ";
  writeSpecs("user_input", graph.inputs);
  out << ", \"output_specs\": ";
  writeSpecs("user_output", graph.outputs);
  out << "}, \"module_call_graph\": [";
  if (program.call)
    out << "{\"fqn\": \"\", \"signature\": {\"inputs\": [], \"outputs\": [], "
           "\"in_spec\": "
        << quoteJson(program.call->inputs)
        << ", \"out_spec\": " << quoteJson(program.call->outputs)
        << ", \"forward_arg_names\": null}}";
  out << "]}, \"opset_version\": {}, \"range_constraints\": ";
  auto writeBound = [&](std::optional<int64_t> bound) {
    if (bound)
      out << *bound;
    else
      out << "null";
  };
  writeTable(out, program.rangeConstraints, [&](const RangeConstraint &range) {
    out << "{\"min_val\": ";
    writeBound(range.min);
    out << ", \"max_val\": ";
    writeBound(range.max);
    out << "}";
  });
  out << ", \"schema_version\": {\"major\": " << program.schemaMajor
      << ", \"minor\": " << program.schemaMinor << "}, \"verifiers\": [\""
      << (graph.holdsFunctions ? "PYTHON" : "ATEN") << "\"]}";
  return result;
}

} // namespace commute::archive
