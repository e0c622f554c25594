//===- VerifyPrograms.h - verification in memory ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The in-process equivalent of `commute verify`, for test campaigns that
// compare hundreds of thousands of programs. As in OptimizeProgram.h, the
// interface uses neither LLVM nor exceptions.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_VERIFYPROGRAMS_H
#define COMMUTE_PYTHON_BINDINGS_VERIFYPROGRAMS_H

#include <cstdint>
#include <string>

namespace commute::python {

/// An ExportedProgram in the export schema, and the text of its sidecar
/// (extra/commute.json), which may be empty.
struct StatedProgram {
  std::string program;
  std::string context;
};

struct VerifySettings {
  /// "algebraic" or "strict", as in `--precision`.
  std::string precision;
  uint64_t seed = 1;
  /// As `--real-sizes` and `--whole`.
  bool realSizes = false;
  bool whole = false;
  /// As `--proof-time` and `--proof-memory`.
  double maxSeconds = 60;
  int64_t maxBytes = int64_t(4) << 30;
};

struct VerifiedPrograms {
  /// Why the programs cannot be compared; empty on success.
  std::string error;
  /// The output of `commute verify --json`, with the name of the verdict.
  std::string report;
};

VerifiedPrograms verifyPrograms(StatedProgram first, StatedProgram second,
                                const VerifySettings &settings);

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_VERIFYPROGRAMS_H
