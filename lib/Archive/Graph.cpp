//===- Graph.cpp - a captured PyTorch graph -------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace commute::archive {

namespace {
struct ScalarTypeEntry {
  ScalarType type;
  llvm::StringLiteral name;
};
} // namespace

static constexpr ScalarTypeEntry scalarTypes[] = {
    {ScalarType::Unknown, "unknown"},
    {ScalarType::Byte, "uint8"},
    {ScalarType::Char, "int8"},
    {ScalarType::Short, "int16"},
    {ScalarType::Int, "int32"},
    {ScalarType::Long, "int64"},
    {ScalarType::Half, "float16"},
    {ScalarType::Float, "float32"},
    {ScalarType::Double, "float64"},
    {ScalarType::ComplexHalf, "complex32"},
    {ScalarType::ComplexFloat, "complex64"},
    {ScalarType::ComplexDouble, "complex128"},
    {ScalarType::Bool, "bool"},
    {ScalarType::BFloat16, "bfloat16"},
    {ScalarType::UInt16, "uint16"},
    {ScalarType::Float8E4M3FN, "float8_e4m3fn"},
    {ScalarType::Float8E5M2, "float8_e5m2"},
    {ScalarType::Float8E4M3FNUZ, "float8_e4m3fnuz"},
    {ScalarType::Float8E5M2FNUZ, "float8_e5m2fnuz"},
    {ScalarType::Float8E8M0FNU, "float8_e8m0fnu"},
    {ScalarType::UInt32, "uint32"},
    {ScalarType::UInt64, "uint64"},
};

std::optional<ScalarType> scalarTypeFromNumber(int64_t number) {
  for (const ScalarTypeEntry &entry : scalarTypes)
    if (int64_t(entry.type) == number)
      return entry.type;
  return std::nullopt;
}

llvm::StringRef scalarTypeName(ScalarType type) {
  for (const ScalarTypeEntry &entry : scalarTypes)
    if (entry.type == type)
      return entry.name;
  llvm_unreachable("all element types are in the table");
}

/// In the order of ArgumentTag.
static constexpr llvm::StringLiteral argumentTagNames[] = {
    "as_none",
    "as_tensor",
    "as_tensors",
    "as_int",
    "as_ints",
    "as_float",
    "as_floats",
    "as_string",
    "as_strings",
    "as_sym_int",
    "as_sym_ints",
    "as_scalar_type",
    "as_memory_format",
    "as_layout",
    "as_device",
    "as_bool",
    "as_bools",
    "as_sym_bool",
    "as_sym_bools",
    "as_optional_tensors",
    "as_graph",
    "as_custom_obj",
    "as_operator",
    "as_sym_float",
    "as_sym_floats",
    "as_optional_tensor",
    "as_complex",
    "as_nested_tensors",
    "as_int_lists",
    "as_string_to_argument",
    "as_float_lists",
    // Not a tag of Argument, but the name used in input and output specs.
    "token",
};
static_assert(std::size(argumentTagNames) == size_t(ArgumentTag::Token) + 1);

llvm::StringRef argumentTagName(ArgumentTag tag) {
  return argumentTagNames[size_t(tag)];
}

std::optional<ArgumentTag> argumentTagFromName(llvm::StringRef name) {
  for (auto [index, known] :
       llvm::enumerate(llvm::ArrayRef(argumentTagNames).drop_back()))
    if (known == name)
      return ArgumentTag(index);
  return std::nullopt;
}

bool Argument::namesValue() const {
  switch (tag) {
  case ArgumentTag::Tensor:
  case ArgumentTag::CustomObject:
  case ArgumentTag::Token:
    return true;
  case ArgumentTag::SymInt:
  case ArgumentTag::SymBool:
  case ArgumentTag::SymFloat:
    return !text.empty();
  default:
    return false;
  }
}

const Argument *Node::find(llvm::StringRef argument) const {
  for (const NamedArgument &input : inputs)
    if (input.name == argument)
      return &input.value;
  return nullptr;
}

void Node::numberValues() {
  uint32_t position = 0;
  auto number = [&](Argument &value) { value.nameSpan.begin = position++; };
  for (NamedArgument &input : inputs)
    input.value.forEachValue(number);
  for (Argument &output : outputs)
    output.forEachValue(number);
}

std::optional<SourceLine> innermostSourceLine(llvm::StringRef stackTrace) {
  // Python prints the innermost frame last, and the source line below each
  // `File` line. A match must therefore be at the start of a line.
  while (!stackTrace.empty()) {
    size_t newline = stackTrace.rfind('\n');
    llvm::StringRef line = newline == llvm::StringRef::npos
                               ? stackTrace
                               : stackTrace.drop_front(newline + 1);
    stackTrace = newline == llvm::StringRef::npos
                     ? llvm::StringRef()
                     : stackTrace.take_front(newline);
    line = line.trim();
    SourceLine result;
    if (!line.consume_front("File \""))
      continue;
    size_t fileEnd = line.rfind("\", line ");
    if (fileEnd == llvm::StringRef::npos)
      continue;
    result.file = line.take_front(fileEnd);
    line = line.drop_front(fileEnd + llvm::StringRef("\", line ").size());
    if (line.consumeInteger(10, result.line))
      continue;
    if (line.consume_front(", in "))
      result.function = line;
    return result;
  }
  return std::nullopt;
}

} // namespace commute::archive
