//===- LivePicks.h - which nodes pick results of others ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A node that gives a list or a tuple has a value for each tensor in it;
// `operator.getitem` nodes pick them, in one step or, from a list in a tuple,
// in two.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVEPICKS_H
#define COMMUTE_PYTHON_BINDINGS_LIVEPICKS_H

#include "LiveValues.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

namespace commute::python {

/// The place of a tensor: its position, or that of a list and then in the list.
using PickPath = llvm::SmallVector<int64_t, 2>;

/// The nodes that pick results, which the graph keeps alive.
struct Picks {
  /// Those that pick a tensor, with its place.
  std::vector<std::pair<PyObject *, PickPath>> leaves;
  /// All, each behind what it picks from.
  std::vector<PyObject *> nodes;
};

class PickFinder {
public:
  PickFinder(const NodeFacts &facts, ValueReader &values,
             const llvm::DenseSet<PyObject *> &members)
      : facts(facts), values(values), members(members) {}

  /// Finds the nodes that pick the results of a node, a list or a tuple. All
  /// are members. Returns nullopt if another node reads the results together,
  /// or if some result is no tensor, list of tensors or None; and after an
  /// error, with Python's error indicator set.
  std::optional<Picks> find(PyObject *node, PyObject *results);

private:
  /// Returns true if a result is one that can be picked.
  bool isKnown(PyObject *result, bool isNested);
  bool visit(PyObject *source, PyObject *results, const PickPath &path,
             Picks &picks);
  /// Returns the position that a user picks of so many results; nullopt if it
  /// does something else.
  std::optional<int64_t> getPosition(PyObject *user, int64_t count);

  const NodeFacts &facts;
  ValueReader &values;
  const llvm::DenseSet<PyObject *> &members;
  const AttributeNames &names = AttributeNames::get();
};

/// Names the results of a node by the nodes that pick them, and states what is
/// known of them.
class PickedResults {
public:
  PickedResults(ValueReader &values, PyObject *node, const Picks &picks)
      : values(values), node(node), picks(picks) {}

  /// Adds the results, a list or a tuple, to the outputs of a program node.
  llvm::LogicalResult define(PyObject *results, archive::Node &result);
  /// Returns the name of a tensor and the argument that stands for it.
  std::pair<Object, archive::Argument> get(const PickPath &path) {
    return {nameOf[path], argumentOf[path]};
  }

private:
  /// Gives each tensor the name of the first node that picks it.
  llvm::LogicalResult addNames();
  llvm::LogicalResult defineTensor(const PickPath &path, PyObject *value,
                                   archive::Argument &result);
  llvm::LogicalResult defineList(const PickPath &path, PyObject *list,
                                 archive::Argument &result);

  ValueReader &values;
  PyObject *node;
  const Picks &picks;
  const AttributeNames &names = AttributeNames::get();
  std::map<PickPath, Object> nameOf;
  std::map<PickPath, archive::Argument> argumentOf;
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVEPICKS_H
