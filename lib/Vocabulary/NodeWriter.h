//===- NodeWriter.h - new nodes of a PyTorch graph --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_NODEWRITER_H
#define COMMUTE_LIB_VOCABULARY_NODEWRITER_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "mlir/IR/Value.h"

namespace commute::vocabulary {

/// What a writer may ask of the graph that it writes into.
class GraphWriter {
public:
  virtual ~GraphWriter() = default;
  /// The graph name of a value, writing the op that computes it first where
  /// that has not been done. Empty after an error, which has been reported.
  virtual llvm::StringRef getName(mlir::Value value) = 0;
  /// A new name for a value; uses the names that the op states where they are
  /// free, else makes one from `base`.
  virtual llvm::StringRef makeName(mlir::Value value, llvm::StringRef base) = 0;
  /// Where the graph's tensors are.
  virtual const archive::Device &getDevice() = 0;
  /// What the graph's collectives call the argument that names their group.
  virtual llvm::StringRef getGroupArgument() = 0;
  /// The argument that states `factor` times the size of a dim of tensors of a
  /// type, written first where it is symbolic; nullopt where nothing in the
  /// graph says how long the dim is.
  virtual std::optional<archive::Argument> getSize(mlir::RankedTensorType type,
                                                   unsigned dim, int64_t factor,
                                                   mlir::Location location) = 0;
  /// A copy of `text` that lives as long as the program.
  virtual llvm::StringRef save(llvm::StringRef text) = 0;
  /// Adds a node; `values` are its results in the order of their names.
  virtual void add(archive::Node node, mlir::ValueRange values,
                   mlir::Location location) = 0;
  /// Adds a node for an intermediate value that no op of the module has.
  virtual void addIntermediate(archive::Node node, llvm::StringRef name,
                               mlir::RankedTensorType type,
                               mlir::Location location) = 0;
};

/// The operator of a user's vocabulary that an op was read from, which is said
/// to be like a known one.
struct OwnSpelling {
  llvm::StringRef target;
  const OperatorAlias &alias;
  /// A node of the source graph that has the operator: in which order it takes
  /// its arguments.
  const archive::Node &example;
};

/// One node under construction: arguments in the order of the operator's
/// schema, then the results. Nothing is added to the graph before `finish`.
class NodeBuilder {
public:
  /// With `own` the arguments are named as the known operator's, and written as
  /// the user's own one takes them.
  NodeBuilder(GraphWriter &graph, mlir::Location location,
              llvm::StringRef target, const OwnSpelling *own = nullptr)
      : graph(graph), location(location), own(own) {
    node.target = target;
  }

  NodeBuilder &tensor(llvm::StringRef name, mlir::Value value);
  /// A value by its graph name, for intermediates.
  NodeBuilder &named(llvm::StringRef name, llvm::StringRef value);
  /// A tensor, or a Python number where the value is a constant without dims.
  NodeBuilder &operand(llvm::StringRef name, mlir::Value value);
  NodeBuilder &tensors(llvm::StringRef name, mlir::ValueRange values);
  /// None where the value is null.
  NodeBuilder &optionalTensor(llvm::StringRef name, mlir::Value value);
  /// A list in which null values are None.
  NodeBuilder &optionalTensors(llvm::StringRef name, mlir::ValueRange values);
  NodeBuilder &integer(llvm::StringRef name, int64_t value);
  NodeBuilder &integers(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  /// The sizes of a type, which may be symbolic.
  NodeBuilder &sizes(llvm::StringRef name, mlir::RankedTensorType type);
  /// `factor` times one size of a type.
  NodeBuilder &size(llvm::StringRef name, mlir::RankedTensorType type,
                    unsigned dim, int64_t factor = 1);
  NodeBuilder &number(llvm::StringRef name, double value);
  NodeBuilder &boolean(llvm::StringRef name, bool value);
  NodeBuilder &booleans(llvm::StringRef name, llvm::ArrayRef<bool> values);
  NodeBuilder &string(llvm::StringRef name, llvm::StringRef value);
  NodeBuilder &none(llvm::StringRef name);
  NodeBuilder &scalarType(llvm::StringRef name, mlir::Type elementType);
  NodeBuilder &memoryFormat(llvm::StringRef name, archive::MemoryFormat format);
  NodeBuilder &group(tp::GroupAttr group);
  /// For factories, which have no operand that says where the result is.
  NodeBuilder &device();
  /// Arguments from here on are keyword arguments.
  NodeBuilder &keywords() {
    kind = archive::ArgumentKind::Keyword;
    return *this;
  }

  /// One result after the other.
  mlir::LogicalResult finish(mlir::ValueRange results);
  /// Two results: a tensor, None where it is null, and a list of tensors.
  mlir::LogicalResult finishOptionalAndList(mlir::Value first,
                                            mlir::ValueRange list);
  /// A result of which the op has no value; gives its name, "" on failure.
  llvm::StringRef finishIntermediate(mlir::RankedTensorType type);

private:
  NodeBuilder &add(llvm::StringRef name, archive::Argument argument);
  archive::Argument getSize(mlir::RankedTensorType type, unsigned dim,
                            int64_t factor);
  archive::Argument getTensor(mlir::Value value);
  archive::Argument getOutput(mlir::Value result, llvm::StringRef base);
  /// "clone" for "torch.ops.aten.clone.default".
  llvm::StringRef getBaseName() const;
  /// Gives operator and arguments their names in the user's spelling.
  void respell();

  GraphWriter &graph;
  mlir::Location location;
  const OwnSpelling *own;
  archive::Node node;
  archive::ArgumentKind kind = archive::ArgumentKind::Positional;
  bool hasFailed = false;
};

/// Handed to the write functions of the vocabularies.
class NodeWriter {
public:
  NodeWriter(GraphWriter &graph, const Vocabulary &vocabulary)
      : graph(graph), vocabulary(vocabulary) {}

  NodeBuilder node(mlir::Location location, llvm::StringRef target) {
    bool isOwn = own && target == own->alias.sameAs;
    return NodeBuilder(graph, location, target, isOwn ? own : nullptr);
  }
  /// Whether the op being written was read from this operator, or from one of a
  /// user's vocabulary that is said to be like it.
  bool isReadFrom(mlir::Operation *op, llvm::StringRef target) const;
  llvm::StringRef save(llvm::StringRef text) { return graph.save(text); }
  llvm::StringRef getName(mlir::Value value) { return graph.getName(value); }
  /// Writes an op as an operator, in a graph of functions as well.
  mlir::LogicalResult writeAsOperator(mlir::Operation *op);

  /// The user's spelling of the op being written; null for none. Gives back the
  /// one before: operands are written while an op is.
  const OwnSpelling *exchangeOwn(const OwnSpelling *next) {
    return std::exchange(own, next);
  }

private:
  GraphWriter &graph;
  const Vocabulary &vocabulary;
  const OwnSpelling *own = nullptr;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_NODEWRITER_H
