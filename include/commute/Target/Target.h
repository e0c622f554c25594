//===- Target.h - machines that programs are priced for ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TARGET_TARGET_H
#define COMMUTE_TARGET_TARGET_H

#include "commute/Target/CollectiveModel.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace commute::target {

/// A number and its source.
struct Quantity {
  double value = 0;
  std::string source;
};

/// The fraction of the peak rate that a matrix product reaches. Small products
/// do not fill a device, and which products are small depends on the device's
/// peak rate for their element type. The fraction is therefore a function of
/// the product's time at the peak rate.
struct MatmulEfficiency {
  /// (seconds at peak, fraction of peak) pairs, ascending in the first
  /// component and in the product's time, which is their quotient.
  std::vector<std::pair<double, double>> points;
  std::string source;

  /// Interpolates linearly in logarithms. Extrapolates with the first slope
  /// below the first point, and with the last fraction above the last point.
  double getFraction(double secondsAtPeak) const;
};

/// Links between machines, for groups that span several machines.
struct Network {
  Quantity latencySeconds;
  /// Per device and direction.
  Quantity bytesPerSecond;
};

/// A machine: the compute, memory and communication performance of its devices.
/// docs/targets.md describes the file format.
struct Target {
  std::string name;
  std::string description;
  /// Number of devices in one machine, which its links connect.
  Quantity devices;
  /// Per device.
  Quantity memoryBytes;
  Quantity memoryBytesPerSecond;
  /// Fraction of the memory bandwidth that kernels reach.
  Quantity memoryEfficiency;
  /// Time of a kernel in addition to its work.
  Quantity kernelOverheadSeconds;
  /// Time of a transfer between two devices in addition to its bytes, in an op
  /// that overlaps computation and communication.
  Quantity transferOverheadSeconds;
  /// Rate of scalar operations.
  Quantity vectorFlopsPerSecond;
  /// Peak rate of matrix products by element type: f64, f32, f16, bf16, f8, i8.
  std::map<std::string, Quantity> matmulFlopsPerSecond;
  MatmulEfficiency matmulEfficiency;
  CollectiveModel collectives;
  std::optional<Network> network;
  /// Whether programs are compiled into kernels of several elementwise ops, as
  /// by Inductor, or run op by op.
  bool fusesElementwise = false;

  /// Returns the peak rate of matrix products of these elements: that of the
  /// element type, or else that of the next wider float type with a rate, or
  /// else the vector rate.
  double getMatmulRate(mlir::Type elementType) const;
  /// Returns the time of a product of `flops` operations, without overhead.
  double getMatmulSeconds(double flops, mlir::Type elementType) const;
  /// Returns the time for memory traffic of `bytes` bytes.
  double getMemorySeconds(double bytes) const;

  /// Returns the target in the file format.
  llvm::json::Value toJson() const;
};

/// Parses a target from JSON text. Error messages start with `where`, and state
/// the invalid field and its legal values.
llvm::Expected<Target> parseTarget(llvm::StringRef text, llvm::StringRef where);

/// Returns the built-in targets in display order.
llvm::ArrayRef<Target> getBuiltinTargets();
inline constexpr llvm::StringLiteral defaultTargetName = "h100x8";

/// Loads a target: a built-in target by name, "local" (the file that `commute
/// calibrate` writes), or a file by a path that ends with .json. Each may be
/// followed by ":compiled", for programs whose elementwise ops are fused into
/// common kernels, or by ":eager", the default. The error for an unknown name
/// lists the known names.
llvm::Expected<Target> loadTarget(llvm::StringRef nameOrPath);

/// Returns the path of "local": $XDG_CONFIG_HOME/commute/local.json, or
/// ~/.config/commute/local.json.
std::string getLocalTargetPath();

} // namespace commute::target

#endif // COMMUTE_TARGET_TARGET_H
