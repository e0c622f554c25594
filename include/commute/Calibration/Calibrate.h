//===- Calibrate.h - this machine, measured ---------------------*- C++ -*-===//
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
  /// Measured with so many ranks at work at the same time, as in a run.
  int64_t ranks = 2;
  /// Small sizes and few repetitions: good for nothing but to see that it
  /// works.
  bool isQuick = false;
};

/// Told before each measurement, with the part of all that is done.
using Progress =
    llvm::function_ref<void(double fraction, llvm::StringRef what)>;

/// Measures what the runtime takes for matrix products, kernels, memory and
/// collectives on this machine. All ranks measure at once, so that what they
/// share (cores, memory) is shared as in a run. With `processes`, ranks are
/// those of mpirun, and only the first one gets a target.
llvm::Expected<std::optional<target::Target>>
calibrate(const CalibrationOptions &options, runtime::MpiWorld *processes,
          Progress progress);

} // namespace commute::calibration

#endif // COMMUTE_CALIBRATION_CALIBRATE_H
