//===- VerifyPrograms.h - two programs compared, in memory ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What `commute verify` does, for campaigns that compare programs by the
// hundred thousand. Neither LLVM nor exceptions in this interface, as in
// OptimizeProgram.h.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_PYTHON_BINDINGS_VERIFYPROGRAMS_H
#define COMMUTE_PYTHON_BINDINGS_VERIFYPROGRAMS_H

#include <cstdint>
#include <string>

namespace commute::python {

/// An ExportedProgram of the export schema and the text of its sidecar
/// (extra/commute.json), which may be empty.
struct StatedProgram {
  std::string program;
  std::string context;
};

struct VerifySettings {
  /// "algebraic" or "strict", as in --precision.
  std::string precision;
  uint64_t seed = 1;
  /// As --real-sizes and --whole.
  bool realSizes = false;
  bool whole = false;
  /// As --proof-time and --proof-memory.
  double maxSeconds = 60;
  int64_t maxBytes = int64_t(4) << 30;
};

struct VerifiedPrograms {
  /// Why the programs cannot be compared; empty where they were.
  std::string error;
  /// What `commute verify --json` prints, with the verdict by name.
  std::string report;
};

VerifiedPrograms verifyPrograms(StatedProgram first, StatedProgram second,
                                const VerifySettings &settings);

} // namespace commute::python

#endif // COMMUTE_PYTHON_BINDINGS_VERIFYPROGRAMS_H
