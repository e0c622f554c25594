//===- UnstatedGain.h - what a statement would save -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_UNSTATEDGAIN_H
#define COMMUTE_COMPILER_UNSTATEDGAIN_H

#include "commute/Compiler/Optimization.h"

namespace commute::compiler {

/// Seconds that rewrites save in a predicted step.
struct UnstatedGain {
  /// As the program is stated.
  double now = 0;
  /// If `inputs` were stated to be replicated as well.
  double stated = 0;
  /// The inputs whose placement some rewrite lacks.
  std::vector<std::string> inputs;
};

/// Predicts what a program would save if those of `inputs`, by their names in
/// the graph, that a remark asks for were replicated on all groups. `original`
/// is the program before the passes of `options`, `optimized` after them.
/// Returns nullopt if that would save nothing more, if a size has no value, and
/// if no remark is about an input of unknown placement. The remarks stay as
/// they are.
std::optional<UnstatedGain> findUnstatedGain(mlir::ModuleOp original,
                                             mlir::ModuleOp optimized,
                                             llvm::ArrayRef<std::string> inputs,
                                             const OptimizationOptions &options,
                                             report::RemarkCollector &remarks);

/// Predicted seconds of a step.
struct PredictedStep {
  double before = 0;
  double after = 0;
};

/// Predicts a step before and after the passes, on a machine by its name or
/// file. Returns nullopt if a size has no value or the machine is unknown.
std::optional<PredictedStep> predictStep(mlir::ModuleOp original,
                                         mlir::ModuleOp optimized,
                                         llvm::StringRef target);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_UNSTATEDGAIN_H
