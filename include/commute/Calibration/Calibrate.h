//===- Calibrate.h - measurement of this machine ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_CALIBRATION_CALIBRATE_H
#define COMMUTE_CALIBRATION_CALIBRATE_H

#include "commute/Runtime/MpiWorld.h"
#include "commute/Target/Target.h"

namespace commute::calibration {

struct CalibrationOptions {
  /// Number of ranks that are active during measurements, as in a run.
  int64_t ranks = 2;
  /// Use small sizes and few repetitions. The result only shows that
  /// calibration works.
  bool isQuick = false;
};

/// Called before each measurement, with the fraction of all measurements that
/// are done.
using Progress =
    llvm::function_ref<void(double fraction, llvm::StringRef what)>;

/// Measures how long the runtime takes for matrix products, kernels, memory
/// accesses and collectives on this machine. All ranks measure concurrently, so
/// that they share resources (cores, memory) as in a run. With `processes`, the
/// ranks are those of mpirun, and only the first process gets a target.
llvm::Expected<std::optional<target::Target>>
calibrate(const CalibrationOptions &options, runtime::MpiWorld *processes,
          Progress progress);

} // namespace commute::calibration

#endif // COMMUTE_CALIBRATION_CALIBRATE_H
