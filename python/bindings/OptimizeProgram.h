//===- OptimizeProgram.h - a program through the passes, in memory -*- C++ -*-//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What `commute opt` does, for carriers in the same process. Neither LLVM nor
// exceptions in this interface: the module that wraps it is compiled without
// the first and with the second.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_OPTIMIZEPROGRAM_H
#define COMMUTE_PYTHON_BINDINGS_OPTIMIZEPROGRAM_H

#include <optional>
#include <string>

namespace commute::python {

struct OptimizeSettings {
  /// As in --passes of commute opt; empty: all of them.
  std::string passes;
  /// A policy of the passes: "profitable", "always", ...
  std::string policy;
  /// The name of a target, or a file.
  std::string target;
  /// Proves the result equal before it is given back.
  bool verify = true;
  /// The text of a sidecar (extra/commute.json): groups, placements,
  /// assumptions. Empty: none.
  std::string context;
  /// The text of a vocabulary file; empty: none.
  std::string vocabulary;
  /// The program is a part of one that names more groups.
  bool hasOtherGroups = false;
};

struct OptimizedProgram {
  enum class Status {
    Success,
    /// The program or the settings are wrong; `message` says how.
    BadInput,
    /// A pass failed, or made a program that is not equal.
    InternalError,
  };
  Status status = Status::Success;
  std::string message;
  /// What changed, as ProgramEdits::describe writes it; nullopt where nothing
  /// did.
  std::optional<std::string> edits;
  /// A JSON array of remarks: verdict, pass, name, node, message, file, line.
  std::string remarks = "[]";
};

/// `program` is an ExportedProgram of the export schema, as in models/NAME.json
/// of a .pt2. Nodes may also be calls of Python functions.
OptimizedProgram optimizeProgram(std::string program,
                                 const OptimizeSettings &settings);

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_OPTIMIZEPROGRAM_H
