//===- Graph.h - a captured PyTorch graph, free of its carrier --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The graph as PyTorch's export schema states it
// (torch/_export/serde/schema.py, schema 8), with every argument tag. It holds
// no JSON and no MLIR: the archive reader fills it, a live FX graph can fill it
// too, and the vocabularies translate it to the tp dialect.
//
// Strings are references into storage that the owner of the graph keeps (the
// JSON text, or a string saver).
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ARCHIVE_GRAPH_H
#define COMMUTE_ARCHIVE_GRAPH_H

#include "commute/Archive/Json.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace commute::archive {

/// Element types, with the numbers of the export schema (which are not those
/// of c10::ScalarType).
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
/// nullopt for a number that is no element type.
std::optional<ScalarType> scalarTypeFromNumber(int64_t number);
/// PyTorch's name ("bfloat16").
llvm::StringRef scalarTypeName(ScalarType type);

enum class MemoryFormat : uint8_t {
  Unknown = 0,
  Contiguous = 1,
  ChannelsLast = 2,
  ChannelsLast3d = 3,
  Preserve = 4,
};

/// Schema number of torch.strided.
inline constexpr int64_t stridedLayout = 7;

/// A size, stride or offset: a number, or an expression over symbols in the
/// text form that the producer wrote (SymPy's srepr, or plain "s0").
struct SymInt {
  std::optional<int64_t> value;
  llvm::StringRef expression;
  /// The value that the expression had when the graph was captured.
  std::optional<int64_t> hint;

  bool isStatic() const { return value.has_value(); }
};

struct Device {
  llvm::StringRef type;
  std::optional<int64_t> index;
};

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
  /// graph outputs and inputs only: an effect token
  Token,
};
/// The key in JSON ("as_sym_ints").
llvm::StringRef argumentTagName(ArgumentTag tag);
std::optional<ArgumentTag> argumentTagFromName(llvm::StringRef name);

/// One argument of a node, a graph input or a graph output. One shape serves
/// all tags:
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
  /// The whole {"as_...": ...} object in the document this was read from (for
  /// an element of a list: the element); empty for an argument that was made.
  Span span;
  /// The quoted name alone, for arguments that name a value.
  Span nameSpan;
  int64_t integer = 0;
  double real = 0;
  double imaginary = 0;
  llvm::StringRef text;
  llvm::StringRef className;
  std::vector<Argument> elements;

  /// True for the tags whose `text` is the name of a graph value.
  bool namesValue() const;
  /// Calls `visit` for this argument and all below it that name a value, in
  /// document order.
  template <typename Visitor>
  void forEachValue(Visitor &&visit) const {
    if (namesValue())
      visit(*this);
    for (const Argument &element : elements)
      element.forEachValue(visit);
  }
};

enum class ArgumentKind : uint8_t { Unknown = 0, Positional = 1, Keyword = 2 };

struct NamedArgument {
  /// Name in the operator's schema; empty for positional arguments of
  /// higher-order operators.
  llvm::StringRef name;
  Argument value;
  std::optional<ArgumentKind> kind;
};

/// What a node may write into.
enum class Effects : uint8_t {
  Unstated,
  /// "none": none of its arguments.
  None,
  /// "any": all of them.
  Any,
};

struct Node {
  /// "torch.ops.aten.linear.default"
  llvm::StringRef target;
  /// The FX node's name; when the file gives none, that of its single tensor
  /// output, else "".
  llvm::StringRef name;
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  /// Metadata object as JSON text ("{...}"), and the value of its
  /// "stack_trace" decoded, "" where there is none.
  llvm::StringRef metadata;
  llvm::StringRef stackTrace;
  std::optional<bool> isSingleTensorReturn;
  /// What its producer, who may know more of the target, states of it (metadata
  /// "effects").
  Effects effects = Effects::Unstated;
  /// The names of the arguments that the operator writes into, where its
  /// producer states them from the operator's schema (metadata "writes").
  std::optional<std::vector<llvm::StringRef>> writes;
  /// The node's object in the document; empty for a node that was made.
  Span span;

  /// The argument of this name, or nullptr: PyTorch leaves out arguments that
  /// have their default value.
  const Argument *find(llvm::StringRef argument) const;
};

/// The innermost line of user code in a Python stack trace.
struct SourceLine {
  llvm::StringRef file;
  unsigned line = 0;
  llvm::StringRef function;
};
std::optional<SourceLine> innermostSourceLine(llvm::StringRef stackTrace);

struct Graph {
  /// Nodes may call Python functions and methods, which have no schemas and may
  /// write into what they are given: the dialect "PYTHON" among the program's
  /// `verifiers`. PyTorch's own dialects have operators, and functions of
  /// numbers.
  bool holdsFunctions = false;
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
  llvm::MapVector<llvm::StringRef, TensorMeta,
                  llvm::DenseMap<llvm::StringRef, unsigned>>
      tensorValues;
  llvm::DenseMap<llvm::StringRef, SymInt> symIntValues;
  /// By name, whether the value is a constant rather than an expression.
  llvm::DenseMap<llvm::StringRef, bool> symBoolValues;
  llvm::DenseMap<llvm::StringRef, bool> symFloatValues;
};

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_GRAPH_H
