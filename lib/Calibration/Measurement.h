//===- Measurement.h - timing of small programs -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_CALIBRATION_MEASUREMENT_H
#define COMMUTE_LIB_CALIBRATION_MEASUREMENT_H

#include "commute/Runtime/MpiWorld.h"

namespace commute::calibration {

/// The measured time of a program, and the work that its ops declare, on one
/// rank.
struct Measured {
  double seconds = 0;
  double matmulFlops = 0;
  double elementwiseFlops = 0;
  double memoryBytes = 0;
};

/// Runs programs on all ranks concurrently.
class Measurement {
public:
  /// With `processes`, runs this process's rank; otherwise runs all ranks as
  /// threads.
  Measurement(int64_t numRanks, runtime::MpiWorld *processes);

  /// Measures a program, which is the text of a module with a function @main.
  /// The time is that of the slowest rank: its shortest of `repetitions` runs
  /// after a warm-up run. Only the first process gets a time.
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
