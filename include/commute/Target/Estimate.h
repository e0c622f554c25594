//===- Estimate.h - one step of a program on a target -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TARGET_ESTIMATE_H
#define COMMUTE_TARGET_ESTIMATE_H

#include "commute/Target/PriceModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::target {

enum class Lane { Compute, Communication };

/// Something that occupies a lane.
struct LaneEvent {
  Lane lane = Lane::Compute;
  mlir::Operation *op = nullptr;
  /// A copy into order that belongs to a collective.
  bool isCopy = false;
  double startSeconds = 0;
  double seconds = 0;
};

/// One op of the program.
struct OpEstimate {
  mlir::Operation *op = nullptr;
  OpPrice price;
  double matmulFlops = 0;
  double elementwiseFlops = 0;
  /// From and to memory; of a collective, its copies into order.
  double memoryBytes = 0;
  /// What one rank sends, in the best algorithm.
  double wireBytes = 0;
  /// The op is opaque: its operands read and its results written once is all
  /// that is known of its work.
  bool isGuess = false;
};

/// What a step takes on one rank, all ranks being alike.
struct Estimate {
  double stepSeconds = 0;
  /// While the compute lane works.
  double computeSeconds = 0;
  /// While the communication lane works.
  double communicationSeconds = 0;
  /// While the compute lane waits for the other.
  double exposedSeconds = 0;

  double matmulFlops = 0;
  double elementwiseFlops = 0;
  /// From and to memory.
  double memoryBytes = 0;
  /// Sent by one rank.
  double wireBytes = 0;

  double weightBytes = 0;
  double inputBytes = 0;
  /// The most that values made by the program take at one time; views share
  /// what they are views of.
  double peakActivationBytes = 0;
  /// The op at which that is.
  mlir::Operation *peakOp = nullptr;

  /// In the order of the program, without views.
  std::vector<OpEstimate> ops;
  std::vector<LaneEvent> events;
};

/// The symbols in sizes of the function's values.
std::vector<llvm::StringRef> getSizeSymbols(mlir::func::FuncOp function);

/// Runs the ops of `function` on two lanes, in their order. An op starts when
/// its lane is free and its operands are there; a collective therefore runs
/// beside the ops behind it until one of them, views aside, needs its result.
/// The error names the sizes that have no value.
llvm::Expected<Estimate> estimate(mlir::func::FuncOp function,
                                  const PriceModel &model);

} // namespace commute::target

#endif // COMMUTE_TARGET_ESTIMATE_H
