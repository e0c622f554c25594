//===- Estimate.h - estimated time of one step ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TARGET_ESTIMATE_H
#define COMMUTE_TARGET_ESTIMATE_H

#include "commute/Target/LaneSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::target {

/// The estimate of one op.
struct OpEstimate {
  mlir::Operation *op = nullptr;
  OpPrice price;
  double matmulFlops = 0;
  double elementwiseFlops = 0;
  /// Memory traffic. For a collective, that of its reordering copies.
  double memoryBytes = 0;
  /// Bytes that one rank sends in the best algorithm.
  double wireBytes = 0;
  /// True if the op is opaque, so that its price assumes only that each operand
  /// is read once and each result written once.
  bool isGuess = false;
};

/// The estimate of a step on one rank. All ranks behave alike.
struct Estimate {
  double stepSeconds = 0;
  /// Time in which the compute lane is busy.
  double computeSeconds = 0;
  /// Time in which the communication lane is busy.
  double communicationSeconds = 0;
  /// Time in which the compute lane waits for the communication lane.
  double exposedSeconds = 0;

  double matmulFlops = 0;
  double elementwiseFlops = 0;
  /// Memory traffic in bytes.
  double memoryBytes = 0;
  /// Bytes sent by one rank.
  double wireBytes = 0;

  /// Memory of parameters and buffers, and of all other inputs.
  double weightBytes = 0;
  double inputBytes = 0;
  /// Maximum of the memory that values computed by the program occupy at the
  /// same time. A view occupies no memory of its own.
  double peakActivationBytes = 0;
  /// The op at which the maximum is reached.
  mlir::Operation *peakOp = nullptr;

  /// In program order, without views.
  std::vector<OpEstimate> ops;
  std::vector<LaneEvent> events;
};

/// Returns the symbols in the sizes of the function's values.
std::vector<llvm::StringRef> getSizeSymbols(mlir::func::FuncOp function);

/// Simulates the ops of `function` on two lanes, in program order (see
/// `LaneSchedule`). Returns an error if sizes have no value; the error names
/// these sizes.
llvm::Expected<Estimate> estimate(mlir::func::FuncOp function,
                                  const PriceModel &model);

} // namespace commute::target

#endif // COMMUTE_TARGET_ESTIMATE_H
