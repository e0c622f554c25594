//===- LiveEdits.h - edits of a live fx.Graph -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVEEDITS_H
#define COMMUTE_PYTHON_BINDINGS_LIVEEDITS_H

#include "PythonObjects.h"

#include "commute/Archive/Program.h"

namespace commute::python {

/// Returns the edits of a live program as Python objects:
///
///   {"nodes": [range(0, 2), (2, {0: "x"}, {"y": "z"}), {...}],
///    "outputs": {1: "y"}, "values": {"z": {...}}}
///
/// `nodes` are the nodes of the new graph in order. A range has the indices of
/// source nodes that are kept as they are. A tuple has the index of a kept
/// node, the new names of the values that it reads, by their position among
/// them, and the new names of its results, by the old ones. A new node is a
/// dict in the form of the export schema, with the index of the node whose
/// metadata it inherits as "origin". `outputs` has the new values of graph
/// outputs that changed. `values` has the metadata of the tensors that new
/// nodes compute.
///
/// Returns a null object after a Python error.
Object describeEdits(const archive::ProgramEdits &edits,
                     const archive::Program &program);

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVEEDITS_H
