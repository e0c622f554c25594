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

/// What an input of the graph is (the union tags of InputSpec).
enum class InputKind : uint8_t {
  User,
  Parameter,
  Buffer,
  TensorConstant,
  CustomObject,
  Constant,
  Token,
};
llvm::StringRef inputKindName(InputKind kind);

struct InputSpec {
  InputKind kind = InputKind::User;
  /// Name of the graph value (for Constant: of the placeholder).
  llvm::StringRef name;
  /// Fully qualified name in the module, for parameters, buffers, constants
  /// and custom objects.
  llvm::StringRef target;
};

/// What an output of the graph is (the union tags of OutputSpec).
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
llvm::StringRef outputKindName(OutputKind kind);

struct OutputSpec {
  OutputKind kind = OutputKind::User;
  Argument argument;
  llvm::StringRef target;
};

/// How the program is called.
struct CallingConvention {
  /// The structure (pytree) that its inputs and outputs are flattened from, as
  /// PyTorch writes it.
  llvm::StringRef inputs;
  llvm::StringRef outputs;
  /// The parameters of `forward`, in order.
  std::vector<llvm::StringRef> parameters;
};

struct RangeConstraint {
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};

/// An ExportedProgram: the content of models/NAME.json. Owns its text.
struct Program {
  std::unique_ptr<JsonDocument> document;
  /// "NAME.pt2: record models/model.json", in front of every message.
  std::string origin;
  Graph graph;
  std::vector<InputSpec> inputSpecs;
  std::vector<OutputSpec> outputSpecs;
  /// nullopt where the program does not say.
  std::optional<CallingConvention> call;
  llvm::MapVector<llvm::StringRef, RangeConstraint,
                  llvm::DenseMap<llvm::StringRef, unsigned>>
      rangeConstraints;
  int64_t schemaMajor = 0;
  int64_t schemaMinor = 0;
  llvm::StringRef torchVersion;
  /// Every quoted value name outside the nodes and the tables of values that a
  /// renaming must follow: in the graph's outputs, the signature's output
  /// specs and the module call graph.
  std::vector<Argument> outerNames;
  /// The arrays and objects that edits rebuild.
  JsonValue nodesArray;
  JsonValue tensorValuesObject;

  /// For strings that are not in the document.
  llvm::BumpPtrAllocator allocator;
  llvm::StringSaver strings{allocator};
};

/// Parses and checks an ExportedProgram: types, tags, names defined once and
/// before use, metadata for every tensor, specs that match inputs and outputs.
/// `origin` is put in front of messages, which name the node and the key.
llvm::Expected<std::unique_ptr<Program>>
parseProgram(std::string json, llvm::StringRef origin,
             const JsonLimits &limits = {});

/// How a graph changed, for writing it back. Nodes appear in the order of the
/// calls; a source node not kept is gone.
class ProgramEdits {
public:
  /// A name at `span` (with its quotes) that reads `name` from now on.
  struct Rename {
    Span span;
    llvm::StringRef name;
  };
  void keepNode(size_t index, llvm::ArrayRef<Rename> renames = {});
  /// The node's strings must live until `apply`. An argument with a subgraph
  /// must come from the program's own document: its text is copied.
  void addNode(const Node &node);
  /// Replaces the entry where there is one, else adds it at the end.
  void addTensorValue(llvm::StringRef name, const TensorMeta &meta);
  void removeTensorValue(llvm::StringRef name);
  /// For names outside the nodes (see Program::outerNames).
  void rename(const Rename &rename);

  /// Nodes of the result.
  size_t getNumNodes() const { return nodes.size(); }
  /// True when the result is the source text itself.
  bool changesNothing(const Program &program) const;
  /// The edited document. Everything not edited is the source's bytes.
  std::string apply(const Program &program) const;
  /// What changed, as JSON, for a carrier that edits objects in place:
  ///
  ///   {"nodes": [0, 1, {"keep": 2, "values": {"0": "x"}}, {"add": {...}}],
  ///    "outputs": {"1": "y"}}
  ///
  /// `nodes` are those of the result in order: the source's by index, with the
  /// new name of each of their values that has one, counted over all values of
  /// the inputs and then the outputs; and new ones in the form of the export
  /// schema. `outputs` are the graph outputs that are other values now, counted
  /// in the same way.
  std::string describe(const Program &program) const;

private:
  struct NodeItem {
    std::optional<size_t> source;
    std::vector<Rename> renames;
    Node added;
  };

  bool keepsNodes(const Program &program) const;
  std::string renderNodes(const Program &program) const;
  std::string renderTensorValues(const Program &program) const;

  std::vector<NodeItem> nodes;
  std::vector<std::pair<llvm::StringRef, TensorMeta>> addedValues;
  std::vector<llvm::StringRef> removedValues;
  std::vector<Rename> outerRenames;
};

/// A .pt2 archive with one program in it.
struct ProgramArchive {
  std::unique_ptr<Container> container;
  /// Name of the record under models/ that holds the program.
  std::string modelRecord;
  std::unique_ptr<Program> program;
  /// Text of extra/commute.json; nullopt where the archive has none.
  std::optional<std::string> sidecar;
};

/// Reads a .pt2: container, archive_format, archive_version, the program. The
/// weights are neither read nor loaded. `model` chooses among several programs;
/// empty: "model", or the only one.
llvm::Expected<std::unique_ptr<ProgramArchive>>
readProgramArchive(llvm::StringRef path, llvm::StringRef model = {},
                   const ContainerLimits &limits = {});

/// Writes `source` to `path` with the program's JSON (and, where given, the
/// sidecar) replaced; every other record is copied byte for byte, in order.
/// `path` may be the source's own path.
llvm::Error writeProgramArchive(const ProgramArchive &source,
                                llvm::StringRef path, std::string programJson,
                                std::optional<std::string> sidecar = {});

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_PROGRAM_H
