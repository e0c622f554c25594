//===- Graph.h - a captured PyTorch graph -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The graph as defined by PyTorch's export schema
// (torch/_export/serde/schema.py, schema 8), with every argument tag. It
// depends on neither JSON nor MLIR: the archive reader or a live FX graph can
// produce it, and the vocabularies translate it to the tp dialect.
//
// Strings refer to storage owned by the owner of the graph (the JSON text, or a
// string saver).
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ARCHIVE_GRAPH_H
#define COMMUTE_ARCHIVE_GRAPH_H

#include "commute/Support/Json.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace commute::archive {

/// Element types, numbered as in the export schema (which differs from
/// c10::ScalarType).
enum class ScalarType : uint8_t {
  Unknown = 0,
  Byte = 1,
  Char = 2,
  Short = 3,
  Int = 4,
  Long = 5,
  Half = 6,
  Float = 7,
  Double = 8,
  ComplexHalf = 9,
  ComplexFloat = 10,
  ComplexDouble = 11,
  Bool = 12,
  BFloat16 = 13,
  UInt16 = 28,
  Float8E4M3FN = 29,
  Float8E5M2 = 30,
  Float8E4M3FNUZ = 31,
  Float8E5M2FNUZ = 32,
  Float8E8M0FNU = 33,
  UInt32 = 34,
  UInt64 = 35,
};
/// Returns nullopt for a number that is not an element type.
std::optional<ScalarType> scalarTypeFromNumber(int64_t number);
/// Returns PyTorch's name ("bfloat16").
llvm::StringRef scalarTypeName(ScalarType type);

/// Memory formats, numbered as in the export schema.
enum class MemoryFormat : uint8_t {
  Unknown = 0,
  Contiguous = 1,
  ChannelsLast = 2,
  ChannelsLast3d = 3,
  Preserve = 4,
};

/// The schema's number for torch.strided.
inline constexpr int64_t stridedLayout = 7;

/// A size, stride or offset: a number, or an expression over symbols in the
/// producer's textual form (SymPy's srepr, or plain "s0").
struct SymInt {
  std::optional<int64_t> value;
  /// Empty for a number.
  llvm::StringRef expression;
  /// The value of the expression when the graph was captured.
  std::optional<int64_t> hint;

  bool isStatic() const { return value.has_value(); }
};

/// The device of a tensor, such as "cuda" with index 0.
struct Device {
  llvm::StringRef type;
  std::optional<int64_t> index;
};

/// The metadata of a tensor value. Strides and the storage offset are in
/// elements.
struct TensorMeta {
  ScalarType dtype = ScalarType::Unknown;
  llvm::SmallVector<SymInt, 4> sizes;
  llvm::SmallVector<SymInt, 4> strides;
  SymInt storageOffset;
  bool requiresGrad = false;
  Device device;
  int64_t layout = stridedLayout;
};

/// The union tags of an argument, in the order of the schema.
enum class ArgumentTag : uint8_t {
  None,
  Tensor,
  Tensors,
  Int,
  Ints,
  Float,
  Floats,
  String,
  Strings,
  SymInt,
  SymInts,
  ScalarType,
  MemoryFormat,
  Layout,
  Device,
  Bool,
  Bools,
  SymBool,
  SymBools,
  OptionalTensors,
  Graph,
  CustomObject,
  Operator,
  SymFloat,
  SymFloats,
  OptionalTensor,
  Complex,
  NestedTensors,
  IntLists,
  StringToArgument,
  FloatLists,
  /// An effect token; only for graph inputs and outputs.
  Token,
};
/// Returns the key in JSON ("as_sym_ints").
llvm::StringRef argumentTagName(ArgumentTag tag);
std::optional<ArgumentTag> argumentTagFromName(llvm::StringRef name);

/// One argument of a node, a graph input or a graph output. The tag determines
/// which fields hold the payload:
///
///   tag                                  where the payload is
///   Int, Bool, ScalarType, MemoryFormat,
///     Layout                             integer
///   Float                                real
///   Complex                              real, imaginary
///   String, Operator                     text
///   Tensor, CustomObject, Token          text (the value's name);
///                                        CustomObject also className
///   SymInt, SymBool, SymFloat            text when it names a value, else
///                                        integer / integer / real
///   Device                               text (type), integer (-1: no index)
///   OptionalTensor                       one element, Tensor or None
///   lists                                elements, each with the tag of one
///                                        item (OptionalTensors: Tensor or
///                                        None; NestedTensors, IntLists,
///                                        FloatLists: Tensors, Ints, Floats)
///   StringToArgument                     elements, each with its key in
///                                        className
///   Graph                                text (the attribute name); the
///                                        subgraph itself only as `span`
struct Argument {
  ArgumentTag tag = ArgumentTag::None;
  /// The whole {"as_...": ...} object in the source document, or the element
  /// itself for an element of a list. Empty for an argument that was not
  /// parsed.
  TextSpan span;
  /// The quoted name only, for arguments that name a value. In a graph that was
  /// not read from text, `begin` is the position of the value among those that
  /// the node (or the list of graph outputs) names: its inputs', then its
  /// outputs'.
  TextSpan nameSpan;
  int64_t integer = 0;
  double real = 0;
  double imaginary = 0;
  llvm::StringRef text;
  llvm::StringRef className;
  std::vector<Argument> elements;

  /// Returns true for tags whose `text` is the name of a graph value.
  bool namesValue() const;
  /// Calls `visit` for this argument and all nested ones that name a value, in
  /// document order.
  template <typename Visitor>
  void forEachValue(Visitor &&visit) const {
    if (namesValue())
      visit(*this);
    for (const Argument &element : elements)
      element.forEachValue(visit);
  }
  /// The same for a visitor that changes them.
  template <typename Visitor>
  void forEachValue(Visitor &&visit) {
    if (namesValue())
      visit(*this);
    for (Argument &element : elements)
      element.forEachValue(visit);
  }
};

/// How a node passes an argument, numbered as in the export schema.
enum class ArgumentKind : uint8_t { Unknown = 0, Positional = 1, Keyword = 2 };

/// An argument of a node.
struct NamedArgument {
  /// Name in the operator's schema; empty for positional arguments of
  /// higher-order operators.
  llvm::StringRef name;
  Argument value;
  std::optional<ArgumentKind> kind;
};

/// The arguments that a node may write into.
enum class Effects : uint8_t {
  Unstated,
  /// "none": no argument.
  None,
  /// "any": every argument.
  Any,
};

/// A call of an operator or a Python function.
struct Node {
  /// For example "torch.ops.aten.linear.default".
  llvm::StringRef target;
  /// The FX node's name. If the file states none, the name of the node's single
  /// tensor output, or an empty string.
  llvm::StringRef name;
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  /// The metadata object as JSON text ("{...}"), and the decoded value of its
  /// "stack_trace". Both are empty if absent, and in graphs that were not read
  /// from text.
  llvm::StringRef metadata;
  llvm::StringRef stackTrace;
  std::optional<bool> isSingleTensorReturn;
  /// The node's effects, if its producer stated them (metadata "effects").
  Effects effects = Effects::Unstated;
  /// The names of the arguments that the operator writes into according to its
  /// schema, if the producer stated them (metadata "writes").
  std::optional<std::vector<llvm::StringRef>> writes;
  /// For a node that was added to a graph: the index of the node whose metadata
  /// it inherits.
  std::optional<size_t> origin;
  /// The node's object in the document and the array of its inputs; empty for a
  /// node that was not parsed.
  TextSpan span;
  TextSpan inputsSpan;

  /// Returns the argument of this name, or nullptr. PyTorch omits arguments
  /// that have their default value.
  const Argument *find(llvm::StringRef argument) const;
  /// Numbers the values that the node names, in order: their positions in a
  /// graph that was not read from text.
  void numberValues();
};

/// The innermost line of user code in a Python stack trace.
struct SourceLine {
  llvm::StringRef file;
  unsigned line = 0;
  llvm::StringRef function;
};
/// Returns nullopt for text that is not a Python stack trace.
std::optional<SourceLine> innermostSourceLine(llvm::StringRef stackTrace);

/// A graph in program order: every value is defined before it is used.
struct Graph {
  /// True if nodes may call Python functions and methods, which have no schemas
  /// and may write into their arguments. Programs declare this by the dialect
  /// "PYTHON" in `verifiers`; PyTorch's own dialects contain only operators and
  /// functions of numbers.
  bool holdsFunctions = false;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  /// Metadata of all tensor values, by name.
  llvm::MapVector<llvm::StringRef, TensorMeta,
                  llvm::DenseMap<llvm::StringRef, unsigned>>
      tensorValues;
  /// Expressions of all symbolic integers, by name.
  llvm::DenseMap<llvm::StringRef, SymInt> symIntValues;
  /// Maps a name to true for a constant and false for an expression.
  llvm::DenseMap<llvm::StringRef, bool> symBoolValues;
  llvm::DenseMap<llvm::StringRef, bool> symFloatValues;
};

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_GRAPH_H
