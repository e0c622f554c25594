//===- Program.h - an exported program and its archive ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ARCHIVE_PROGRAM_H
#define COMMUTE_ARCHIVE_PROGRAM_H

#include "commute/Archive/Container.h"
#include "commute/Archive/Graph.h"

#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"

namespace commute::archive {

/// The role of a graph input (the union tags of InputSpec).
enum class InputKind : uint8_t {
  User,
  Parameter,
  Buffer,
  TensorConstant,
  CustomObject,
  Constant,
  Token,
};
/// Returns the union tag, such as "user_input".
llvm::StringRef inputKindName(InputKind kind);

/// One input of the graph.
struct InputSpec {
  InputKind kind = InputKind::User;
  /// Name of the graph value; for Constant, name of the placeholder.
  llvm::StringRef name;
  /// Fully qualified name in the module, for parameters, buffers, constants and
  /// custom objects.
  llvm::StringRef target;
};

/// The role of a graph output (the union tags of OutputSpec).
enum class OutputKind : uint8_t {
  User,
  Loss,
  BufferMutation,
  ParameterMutation,
  GradientToParameter,
  GradientToUserInput,
  UserInputMutation,
  Token,
};
/// Returns the union tag, such as "buffer_mutation".
llvm::StringRef outputKindName(OutputKind kind);

/// One output of the graph. `target` names the buffer, parameter or input that
/// the output is written to, and is empty for other outputs.
struct OutputSpec {
  OutputKind kind = OutputKind::User;
  Argument argument;
  llvm::StringRef target;
};

/// How callers pass inputs and receive outputs.
struct CallingConvention {
  /// The pytree specifications of inputs and outputs, in PyTorch's textual
  /// form.
  llvm::StringRef inputs;
  llvm::StringRef outputs;
  /// The parameters of `forward`, in order.
  std::vector<llvm::StringRef> parameters;
};

/// Inclusive bounds of a symbolic size; nullopt if unbounded.
struct RangeConstraint {
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};

/// An ExportedProgram: the content of models/NAME.json, with its text, or a
/// live graph.
struct Program {
  /// Null for a live graph.
  std::unique_ptr<JsonDocument> document;
  /// Prefix of every message, such as "NAME.pt2: record models/model.json".
  std::string origin;
  Graph graph;
  std::vector<InputSpec> inputSpecs;
  std::vector<OutputSpec> outputSpecs;
  /// nullopt if the program does not state it.
  std::optional<CallingConvention> call;
  llvm::MapVector<llvm::StringRef, RangeConstraint,
                  llvm::DenseMap<llvm::StringRef, unsigned>>
      rangeConstraints;
  int64_t schemaMajor = 0;
  int64_t schemaMinor = 0;
  llvm::StringRef torchVersion;
  /// Occurrences of value names outside the nodes and the tables of values,
  /// which a renaming must update: in the graph's outputs, the signature's
  /// output specs and the module call graph.
  std::vector<Argument> outerNames;
  /// The arrays and objects of the document that edits replace.
  JsonValue nodesArray;
  JsonValue tensorValuesObject;
  JsonValue symIntValuesObject;

  /// Owns strings that are not in the document.
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver strings{allocator};

  /// Returns the inputs of a node of this program as JSON text, in which
  /// `getName` replaces the names of values; nullopt keeps a name.
  std::string
  getInputsText(const Node &node,
                llvm::function_ref<std::optional<std::string>(const Argument &)>
                    getName) const;
  /// Returns an argument of this program as JSON text ("{\"as_int\": 3}").
  std::string getText(const Argument &argument) const;
};

/// Checks what holds for every program that `parseProgram` returns: names are
/// unique and defined before use, and every tensor has metadata.
llvm::Error checkNames(const Program &program);
/// Returns a program of user inputs and outputs, such as a live graph, as JSON
/// text that `parseProgram` reads.
std::string renderProgram(const Program &program);

/// Parses and checks an ExportedProgram: types, tags, names that are unique and
/// defined before use, metadata for every tensor, and specs that match inputs
/// and outputs. Error messages start with `origin` and name the node and the
/// key.
llvm::Expected<std::unique_ptr<Program>>
parseProgram(std::string json, llvm::StringRef origin,
             const JsonLimits &limits = {});

/// The edits that turn a program's graph into a new one. Nodes of the new graph
/// are in the order of the calls that add or keep them; other nodes are erased.
class ProgramEdits {
public:
  /// Replaces the name at `span` (including its quotes) by `name`.
  struct Rename {
    TextSpan span;
    llvm::StringRef name;
  };
  /// Keeps the source node `index`, with renamed values.
  void keepNode(size_t index, llvm::ArrayRef<Rename> renames = {});
  /// Adds a node, whose strings must live until `apply`. An argument with a
  /// subgraph must come from the program's own document, because its text is
  /// copied.
  void addNode(const Node &node);
  /// Replaces the entry of this name, or appends one.
  void addTensorValue(llvm::StringRef name, const TensorMeta &meta);
  /// Removes the metadata of a tensor that no longer exists.
  void removeTensorValue(llvm::StringRef name);
  /// Adds the entry of a new name.
  void addSymIntValue(llvm::StringRef name, const SymInt &value);
  /// Renames a value outside the nodes (see Program::outerNames).
  void rename(const Rename &rename);

  /// A node of the new graph: that of the source graph with the index `source`,
  /// or a new one.
  struct NodeItem {
    std::optional<size_t> source;
    std::vector<Rename> renames;
    Node added;
  };
  /// The nodes of the new graph, in order.
  llvm::ArrayRef<NodeItem> getNodes() const { return nodes; }
  /// Renames among the program's `outerNames`.
  llvm::ArrayRef<Rename> getOuterRenames() const { return outerRenames; }
  /// The metadata of new values. The last entry for a name is the valid one.
  llvm::ArrayRef<std::pair<llvm::StringRef, TensorMeta>>
  getAddedValues() const {
    return addedValues;
  }

  /// The number of nodes in the new graph.
  size_t getNumNodes() const { return nodes.size(); }
  /// Returns true if the new program is identical to the source text.
  bool changesNothing(const Program &program) const;
  /// Returns the edited document. Everything not edited keeps the source's
  /// bytes.
  std::string apply(const Program &program) const;
  /// Returns the edited program without text of its own, for a graph that is
  /// not in an archive, such as a live one. It refers to strings of `program`
  /// and of the edits, and cannot be edited again if `program` was read from
  /// text.
  std::unique_ptr<Program> applyInMemory(const Program &program) const;

private:
  bool keepsNodes(const Program &program) const;
  std::string renderNodes(const Program &program) const;
  std::string renderTensorValues(const Program &program) const;
  std::string renderSymIntValues(const Program &program) const;

  std::vector<NodeItem> nodes;
  std::vector<std::pair<llvm::StringRef, TensorMeta>> addedValues;
  std::vector<llvm::StringRef> removedValues;
  std::vector<std::pair<llvm::StringRef, SymInt>> addedNumbers;
  std::vector<Rename> outerRenames;
};

/// A .pt2 archive that contains one selected program.
struct ProgramArchive {
  std::unique_ptr<Container> container;
  /// Name of the record under models/ that holds the program.
  std::string modelRecord;
  std::unique_ptr<Program> program;
  /// Text of extra/commute.json, if the archive has that record.
  std::optional<std::string> sidecar;
};

/// Reads a .pt2 archive: the container, its format and version, and the
/// program, but no weights. `model` selects one of several programs; if empty,
/// the program is "model" or the only one.
llvm::Expected<std::unique_ptr<ProgramArchive>>
readProgramArchive(llvm::StringRef path, llvm::StringRef model = {},
                   const ContainerLimits &limits = {});

/// Writes `source` to `path` with the program's JSON replaced, and the sidecar
/// too if one is given. All other records are copied byte for byte, in order.
/// `path` may be the path of the source.
llvm::Error writeProgramArchive(const ProgramArchive &source,
                                llvm::StringRef path, std::string programJson,
                                std::optional<std::string> sidecar = {});

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_PROGRAM_H
