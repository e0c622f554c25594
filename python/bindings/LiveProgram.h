//===- LiveProgram.h - a live fx.Graph as a program -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Reads nodes of torch.fx into the structs that archives are read into, so that
// both go through one translation. As in OptimizeProgram.h, this interface uses
// neither LLVM nor exceptions: functions that return a null pointer have set
// Python's error indicator.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_LIVEPROGRAM_H
#define COMMUTE_PYTHON_BINDINGS_LIVEPROGRAM_H

#include "PythonObjects.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace commute::archive {
struct Program;
} // namespace commute::archive

namespace commute::python {

/// A run of nodes of one graph as a program. What the nodes read of other nodes
/// becomes the program's inputs.
///
/// If the run has the graph's output node, the outputs are what that node
/// returns, as it does: in its order, with duplicates, inputs that are passed
/// through, None and constants. After these come the values that other nodes
/// read which are not in the run, each once, in the order of their readers, so
/// that the outputs of a run are the same wherever its nodes define them.
class LiveProgram {
public:
  /// `facts` answers what only PyTorch knows; see commute.torch.node_facts.
  /// With `hasSourceLines`, nodes know the lines of the user's program, which
  /// take a while to find.
  static std::unique_ptr<LiveProgram> read(PyObject *nodes, PyObject *facts,
                                           bool isFunctionalGraph,
                                           bool hasSourceLines);
  ~LiveProgram();

  /// The FX nodes of the program's inputs and outputs, in order, as lists. None
  /// stands for an output that is a constant.
  Object getInputs() const { return inputs; }
  Object getOutputs() const { return outputs; }
  /// The number of outputs that the graph's output node returns; 0 if it is not
  /// in the run.
  size_t getNumReturned() const { return numReturned; }
  /// Placeholders and attributes that stand behind other nodes, as a list.
  Object getLateInputs() const { return lateInputs; }
  size_t getNumNodes() const { return groups.size(); }
  /// A tuple of the FX nodes of a program node: the node itself, then the nodes
  /// that pick its results. It is empty for a program node that states a fact
  /// and stands for no FX node.
  Object getGroup(size_t index) const;
  /// A list of the indices of the program nodes whose FX nodes do not all stand
  /// one behind the other.
  Object getScattered() const;
  /// A list of the FX nodes that hold the value of a name; empty if there is no
  /// such value.
  Object findNodes(const std::string &name);
  /// Whether the program has an FX node as a member, not as an input that is
  /// outside of it.
  bool contains(PyObject *node) const;
  /// The names of the process groups of collectives, and of the symbols of
  /// sizes, as sets.
  Object getGroupNames() const;
  Object getSymbols() const;
  /// The program as text of the export schema. With `groupNames`, groups have
  /// these names instead of those of this process, and devices no index, so
  /// that processes which run the same program get the same text.
  std::string
  toJson(const std::map<std::string, std::string> &groupNames = {}) const;

  /// Null after `takeProgram`.
  const archive::Program *getProgram() const { return program.get(); }
  std::unique_ptr<archive::Program> takeProgram();
  static constexpr const char *takenMessage =
      "the program of the live graph was taken before; read the graph again";

private:
  friend class LiveReader;
  friend class OutputReader;
  LiveProgram();

  /// The FX node of a program node, and those that pick its results.
  struct Group {
    Object node;
    std::vector<Object> picks;
    bool isScattered = false;
  };
  struct Members;
  struct Definition {
    Object name;
    Object node;
  };

  std::unique_ptr<archive::Program> program;
  std::unique_ptr<Members> members;
  Object inputs;
  Object outputs;
  Object lateInputs;
  size_t numReturned = 0;
  std::vector<Group> groups;
  std::vector<Definition> definitions;
};

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_LIVEPROGRAM_H
