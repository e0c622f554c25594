//===- RefinePrograms.h - ranks against a reference -----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The in-process equivalent of `commute verify --reference`. As in
// OptimizeProgram.h, the interface uses neither LLVM nor exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_REFINEPROGRAMS_H
#define COMMUTE_PYTHON_BINDINGS_REFINEPROGRAMS_H

#include <cstdint>
#include <string>
#include <vector>

namespace commute::python {

struct RefineSettings {
  /// The text of relations.json, which may be empty, and its name in messages.
  std::string relations;
  std::string relationsName;
  /// As `--group`.
  std::vector<std::string> groups;
  uint64_t seed = 1;
  bool realSizes = false;
  bool showRelations = false;
  /// As `--proof-time` and `--proof-memory`.
  double maxSeconds = 60;
  int64_t maxBytes = int64_t(4) << 30;
};

struct RefinedPrograms {
  /// Why the programs cannot be compared; empty on success.
  std::string error;
  /// The outputs of `commute verify --reference` with and without `--json`.
  std::string report;
  std::string text;
};

/// Paths of a program of one device, and of the program of all ranks or those
/// of each rank.
RefinedPrograms refinePrograms(const std::string &reference,
                               const std::vector<std::string> &ranks,
                               const RefineSettings &settings);

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_REFINEPROGRAMS_H
