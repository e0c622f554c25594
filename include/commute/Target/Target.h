//===- Target.h - a machine that programs are priced for --------*- C++ -*-===//
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

/// A number, and where it comes from.
struct Quantity {
  double value = 0;
  std::string source;
};

/// The part of the peak rate that a matrix product reaches. Small products do
/// not fill a device, and what is small depends on how fast the device is for
/// their element type: hence by the seconds that the peak would take.
struct MatmulEfficiency {
  /// (seconds at the peak, fraction of the peak), ascending in the first and in
  /// the time that the product takes, which is their quotient.
  std::vector<std::pair<double, double>> points;
  std::string source;

  /// Logarithms are interpolated linearly; the first slope goes on below the
  /// first point, the last fraction above the last.
  double getFraction(double secondsAtPeak) const;
};

/// Links between the machines, for groups that span several.
struct Network {
  Quantity latencySeconds;
  /// Of one device, in one direction.
  Quantity bytesPerSecond;
};

/// One machine: what its devices compute and move, and how long its
/// collectives take. The file format is in docs/targets.md.
struct Target {
  std::string name;
  std::string description;
  /// Devices of one machine, joined by its links.
  Quantity devices;
  /// Of one device.
  Quantity memoryBytes;
  Quantity memoryBytesPerSecond;
  /// Part of that which kernels reach.
  Quantity memoryEfficiency;
  /// What every kernel takes beside its work.
  Quantity kernelOverheadSeconds;
  /// What every transfer between two devices takes beside its bytes, inside an
  /// op that computes while it communicates.
  Quantity transferOverheadSeconds;
  /// Scalar operations.
  Quantity vectorFlopsPerSecond;
  /// Peak of matrix products by element type: f64, f32, f16, bf16, f8, i8.
  std::map<std::string, Quantity> matmulFlopsPerSecond;
  MatmulEfficiency matmulEfficiency;
  CollectiveModel collectives;
  std::optional<Network> network;

  /// Peak of matrix products of these elements. A type without a rate has that
  /// of the next wider float that has one, else the vector rate.
  double getMatmulRate(mlir::Type elementType) const;
  /// Seconds for a product of so many flops, without overhead.
  double getMatmulSeconds(double flops, mlir::Type elementType) const;
  /// Seconds to move bytes from and to memory.
  double getMemorySeconds(double bytes) const;

  llvm::json::Value toJson() const;
};

/// Reads a target from JSON text; `where` begins the messages. The error names
/// the field that is wrong and what it should be.
llvm::Expected<Target> parseTarget(llvm::StringRef text, llvm::StringRef where);

/// The built-in targets in the order in which they are listed.
llvm::ArrayRef<Target> getBuiltinTargets();
inline constexpr llvm::StringLiteral defaultTargetName = "h100x8";

/// A built-in target by its name; "local", which is the file that `commute
/// calibrate` writes; or a file by a path that ends with .json. The error for
/// an unknown name lists those there are.
llvm::Expected<Target> loadTarget(llvm::StringRef nameOrPath);

/// Where "local" is: $XDG_CONFIG_HOME/commute/local.json, or
/// ~/.config/commute/local.json.
std::string getLocalTargetPath();

} // namespace commute::target

#endif // COMMUTE_TARGET_TARGET_H
