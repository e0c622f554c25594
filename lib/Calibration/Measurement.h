//===- Measurement.h - seconds of small programs ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_CALIBRATION_MEASUREMENT_H
#define COMMUTE_LIB_CALIBRATION_MEASUREMENT_H

#include "commute/Runtime/MpiWorld.h"

namespace commute::calibration {

/// What a program took, and what its ops say that they do on one rank.
struct Measured {
  double seconds = 0;
  double matmulFlops = 0;
  double elementwiseFlops = 0;
  double memoryBytes = 0;
};

/// Runs programs on all ranks at once.
class Measurement {
public:
  /// With `processes` this process runs its rank of them; else all ranks are
  /// threads.
  Measurement(int64_t numRanks, runtime::MpiWorld *processes);

  /// Measures a program, text of a module with a function @main, on the slowest
  /// rank: the shortest of `repetitions` runs after one that warms up. No
  /// seconds on processes that are not the first.
  llvm::Expected<Measured> measure(llvm::StringRef program,
                                   unsigned repetitions);
  llvm::ArrayRef<int64_t> getRanks() const { return ranks; }
  bool isFirstProcess() const {
    return !processes || processes->getRank() == ranks.front();
  }

private:
  mlir::MLIRContext context;
  llvm::SmallVector<int64_t> ranks;
  runtime::MpiWorld *processes;
};

} // namespace commute::calibration

#endif // COMMUTE_LIB_CALIBRATION_MEASUREMENT_H
