//===- NodeWriter.h - new nodes of a PyTorch graph --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_NODEWRITER_H
#define COMMUTE_LIB_VOCABULARY_NODEWRITER_H

#include "OwnSpelling.h"

#include "commute/Archive/Graph.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "mlir/IR/Value.h"

namespace commute::vocabulary {

/// The graph being written, as its node writers see it.
class GraphWriter {
public:
  virtual ~GraphWriter() = default;
  /// Returns the graph name of a value. Writes the op that defines the value
  /// first if necessary. Returns an empty string after a reported error.
  virtual llvm::StringRef getName(mlir::Value value) = 0;
  /// Returns a new name for a value: the name that its op states, if that is
  /// free, or else one derived from `base`.
  virtual llvm::StringRef makeName(mlir::Value value, llvm::StringRef base) = 0;
  /// The device of the graph's tensors.
  virtual const archive::Device &getDevice() = 0;
  /// The name of the argument by which the graph's collectives name their
  /// group.
  virtual llvm::StringRef getGroupArgument() = 0;
  /// The name by which PyTorch's own operators know a group; empty if unknown.
  virtual llvm::StringRef getProcessGroup(tp::GroupAttr group) = 0;
  /// Returns a node of the source graph that calls this operator, or null.
  virtual const archive::Node *findExample(llvm::StringRef target) = 0;
  /// Returns an argument that holds `factor` times the size of a dim of `type`,
  /// and writes the nodes that compute it if it is symbolic. Returns nullopt if
  /// nothing in the graph determines the size.
  virtual std::optional<archive::Argument> getSize(mlir::RankedTensorType type,
                                                   unsigned dim, int64_t factor,
                                                   mlir::Location location) = 0;
  /// Copies `text` into storage that lives as long as the program.
  virtual llvm::StringRef save(llvm::StringRef text) = 0;
  /// Adds a node. `values` are its results, in the order of their names.
  virtual void add(archive::Node node, mlir::ValueRange values,
                   mlir::Location location) = 0;
  /// Adds a node for an intermediate result that is not a value of the module.
  virtual void addIntermediate(archive::Node node, llvm::StringRef name,
                               mlir::RankedTensorType type,
                               mlir::Location location) = 0;
};

/// Builds one node: arguments in the order of the operator's schema, then
/// results. The graph does not change before a `finish` method is called.
class NodeBuilder {
public:
  /// With `own`, callers name arguments as the known operator does; the node is
  /// written with the user's operator and its argument names.
  NodeBuilder(GraphWriter &graph, mlir::Location location,
              llvm::StringRef target, const OwnSpelling *own = nullptr)
      : graph(graph), location(location), own(own) {
    node.target = target;
  }

  NodeBuilder &tensor(llvm::StringRef name, mlir::Value value);
  /// Adds an intermediate result by its graph name.
  NodeBuilder &named(llvm::StringRef name, llvm::StringRef value);
  /// Adds a tensor, or a Python number if the value is a constant of rank 0.
  NodeBuilder &operand(llvm::StringRef name, mlir::Value value);
  NodeBuilder &tensors(llvm::StringRef name, mlir::ValueRange values);
  /// Adds None if the value is null.
  NodeBuilder &optionalTensor(llvm::StringRef name, mlir::Value value);
  /// Adds a list; null values become None.
  NodeBuilder &optionalTensors(llvm::StringRef name, mlir::ValueRange values);
  NodeBuilder &integer(llvm::StringRef name, int64_t value);
  NodeBuilder &integers(llvm::StringRef name, llvm::ArrayRef<int64_t> values);
  /// Adds the sizes of a type, which may be symbolic.
  NodeBuilder &sizes(llvm::StringRef name, mlir::RankedTensorType type);
  /// Adds `factor` times one size of a type.
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
  /// Adds the number of ranks, if the operator takes it.
  NodeBuilder &groupSize(tp::GroupAttr group);
  /// Adds the device, for factories, which have no operand to take it from.
  NodeBuilder &device();
  /// Makes all further arguments keyword arguments.
  NodeBuilder &keywords() {
    kind = archive::ArgumentKind::Keyword;
    return *this;
  }

  /// Finishes a node whose results are `results`, in order.
  mlir::LogicalResult finish(mlir::ValueRange results);
  /// Returns true if the node calls an operator of a vocabulary file that
  /// states the argument `known`.
  bool states(llvm::StringRef known) const {
    return own && own->alias.isKnown(known);
  }
  /// Returns true if the node's result needs a wait. Only for collectives.
  bool needsWait() const { return !own || own->alias.needsWait; }
  /// Finishes a node with two results: a tensor (None if null) and a list.
  mlir::LogicalResult finishOptionalAndList(mlir::Value first,
                                            mlir::ValueRange list);
  /// Finishes a node whose result is no value of the module. Returns the
  /// result's name, or "" on failure.
  llvm::StringRef finishIntermediate(mlir::RankedTensorType type);

private:
  NodeBuilder &add(llvm::StringRef name, archive::Argument argument);
  archive::Argument getSize(mlir::RankedTensorType type, unsigned dim,
                            int64_t factor);
  archive::Argument getTensor(mlir::Value value);
  archive::Argument getOutput(mlir::Value result, llvm::StringRef base);
  /// Returns "clone" for "torch.ops.aten.clone.default".
  llvm::StringRef getBaseName() const;
  /// Turns the node into a call of the own operator, if there is one.
  /// `results` are reordered like the outputs.
  mlir::LogicalResult respell(llvm::SmallVectorImpl<mlir::Value> &results);
  /// Adds the node, whose outputs are complete.
  mlir::LogicalResult addNode(mlir::ValueRange results);

  GraphWriter &graph;
  mlir::Location location;
  const OwnSpelling *own;
  archive::Node node;
  archive::ArgumentKind kind = archive::ArgumentKind::Positional;
  bool hasFailed = false;
};

/// The interface that vocabularies' write functions use.
class NodeWriter {
public:
  NodeWriter(GraphWriter &graph, const Vocabulary &vocabulary)
      : graph(graph), vocabulary(vocabulary) {}

  NodeBuilder node(mlir::Location location, llvm::StringRef target) {
    bool isOwn = own && target == own->alias.sameAs;
    return NodeBuilder(graph, location, target, isOwn ? own : nullptr);
  }
  /// A node that starts a collective in `group`, which may be a collective of
  /// the graph's own system. Fails if only PyTorch's operator can express it,
  /// and PyTorch's name of the group is unknown.
  mlir::FailureOr<NodeBuilder>
  collective(mlir::Operation *op, llvm::StringRef target, tp::GroupAttr group);
  /// A node that allocates a tensor with the strides of its type. Fails if
  /// these are unknown or symbolic, which the operator cannot say.
  mlir::FailureOr<NodeBuilder> emptyStrided(mlir::Location location,
                                            mlir::RankedTensorType type);
  /// Returns true if the op being written was imported from the operator
  /// `target`, or from an alias of it in a user's vocabulary.
  bool isReadFrom(mlir::Operation *op, llvm::StringRef target) const;
  llvm::StringRef save(llvm::StringRef text) { return graph.save(text); }
  llvm::StringRef getName(mlir::Value value) { return graph.getName(value); }
  llvm::StringRef getProcessGroup(tp::GroupAttr group) {
    return graph.getProcessGroup(group);
  }
  /// Writes an op as an operator, even in a graph of Python functions.
  mlir::LogicalResult writeAsOperator(mlir::Operation *op);

  /// Sets the user's operator for the op being written (null for none) and
  /// returns the previous one, because writing an op may write its operands
  /// first.
  const OwnSpelling *exchangeOwn(const OwnSpelling *next) {
    return std::exchange(own, next);
  }

private:
  /// Returns true if the own operator can express the collective.
  static bool expresses(const OwnSpelling &spelling, mlir::Operation *op);

  GraphWriter &graph;
  const Vocabulary &vocabulary;
  const OwnSpelling *own = nullptr;
  /// Spellings of collectives, by their operators.
  llvm::StringMap<std::unique_ptr<OwnSpelling>> spellings;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_NODEWRITER_H
