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

/// How products of different shapes fill a device. Its units compute one tile
/// of a result at a time, so the last wave of tiles may leave units idle.
struct MatmulTiles {
  /// Elements of a tile. Tiles of twice as many are used where those waste
  /// less.
  double elements = 0;
  /// Tiles that a device computes at a time.
  double units = 0;
  /// The rate is proportional to the fraction of units that are busy to the
  /// power of this: less than 1, because kernels also split contractions.
  double exponent = 1;
  std::string source;

  /// Returns the fraction of its rate that a device reaches for a product with
  /// so many elements.
  double getOccupancy(double resultElements) const;
};

/// What a fused op of a collective with products takes in addition to its
/// transfers and products.
struct FusedOpCosts {
  /// For each chunk: signals between ranks, launches.
  Quantity stepOverheadSeconds;
  /// Fraction of the memory bandwidth that its products reach while transfers
  /// go on.
  Quantity memoryEfficiency;
};

/// How far off predictions are: standard deviations of the logarithm of
/// predicted over measured time, each of all ops of a kind.
struct Uncertainty {
  double products = 0;
  /// Kernels without products.
  double memory = 0;
  double collectives = 0;
  /// Of the ratio of a fused op to the ops that it replaces.
  double fusedOps = 0;
  std::string source;
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
  std::optional<MatmulTiles> matmulTiles;
  /// By the collective that is fused. If a kind is missing, the transfer
  /// overhead and the memory efficiency hold.
  std::map<tp::CommunicationKind, FusedOpCosts> fusedOps;
  /// Unknown for targets that were not compared with measurements.
  std::optional<Uncertainty> uncertainty;
  CollectiveModel collectives;
  std::optional<Network> network;
  /// Whether programs are compiled into kernels of several ops, as by Inductor,
  /// or run op by op.
  bool fusesElementwise = false;

  /// Returns the peak rate of matrix products of these elements: that of the
  /// element type, or else that of the next wider float type with a rate, or
  /// else the vector rate.
  double getMatmulRate(mlir::Type elementType) const;
  /// Returns the time of a product of `flops` operations, without overhead. Its
  /// result has `resultElements` elements; 0 for many.
  double getMatmulSeconds(double flops, mlir::Type elementType,
                          double resultElements = 0) const;
  /// Returns the time for memory traffic of `bytes` bytes.
  double getMemorySeconds(double bytes) const;
  /// Returns the gain, as a fraction of the time after, from which on fusing a
  /// collective with products is more likely to pay than not by a clear
  /// margin: what follows from the uncertainty, or 5 % where that is unknown.
  double getFusionMargin() const;

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
/// followed by ":compiled", for programs whose ops are fused into common
/// kernels, or by ":eager", for those that run op by op. Without either, it is
/// what the file says, or else compiled. The error for an unknown name lists
/// the known names.
llvm::Expected<Target> loadTarget(llvm::StringRef nameOrPath);

/// Returns the path of "local": $XDG_CONFIG_HOME/commute/local.json, or
/// ~/.config/commute/local.json.
std::string getLocalTargetPath();

} // namespace commute::target

#endif // COMMUTE_TARGET_TARGET_H
