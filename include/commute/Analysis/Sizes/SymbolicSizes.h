//===- SymbolicSizes.h - what is known of symbolic sizes --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Determines whether a size can be divided into equal pieces: proven from its
// expression, assumed by the user, or unknown.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_SIZES_SYMBOLICSIZES_H
#define COMMUTE_ANALYSIS_SIZES_SYMBOLICSIZES_H

#include "commute/Dialect/SizeAssumption.h"
#include "commute/Dialect/SymbolicSize.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace commute::analysis {

/// The answer to "is this size divisible by N?".
struct Divisibility {
  enum Answer {
    /// For all values of the symbols.
    Proved,
    /// If the assumptions below hold.
    Assumed,
    /// Certainly not.
    Refuted,
    Unknown
  };
  Answer answer = Unknown;
  /// The assumptions that the answer needs, as the user wrote them.
  llvm::SmallVector<std::string, 1> assumptions;

  bool holds() const { return answer == Proved || answer == Assumed; }
};

/// The statements of a module about its symbolic sizes: the assumptions in its
/// attribute `tp.assumptions`, and the values at capture.
class SymbolicSizes {
public:
  /// Returns an error that names assumptions that are ill-formed or contradict
  /// each other.
  static llvm::Expected<SymbolicSizes> resolve(mlir::ModuleOp module);

  /// Determines whether the size of dim `dim` of a tensor is a multiple of
  /// `divisor`, which is at least 1.
  Divisibility isDivisible(mlir::RankedTensorType type, unsigned dim,
                           int64_t divisor) const;
  /// The same for a size over symbols with these names.
  Divisibility isDivisible(const tp::Size &size,
                           llvm::ArrayRef<mlir::StringAttr> names,
                           int64_t divisor) const;

  llvm::ArrayRef<tp::SizeAssumption> getAssumptions() const {
    return assumptions;
  }
  /// Returns true if anything is stated about a symbol.
  bool knows(llvm::StringRef symbol) const;
  /// Returns a value that a symbol may have: the one at capture, or else the
  /// next one that fulfils the assumptions about that symbol alone.
  int64_t getExample(llvm::StringRef symbol) const;
  /// Returns the smallest value from `start` on that fulfils the assumptions
  /// about a symbol alone, or nullopt.
  std::optional<int64_t> getValueFrom(llvm::StringRef symbol,
                                      int64_t start) const {
    return findValue(symbol, start);
  }

private:
  llvm::Error checkConsistency() const;
  /// Returns the smallest value from `start` on that fulfils the assumptions
  /// about `symbol` alone, or nullopt.
  std::optional<int64_t> findValue(llvm::StringRef symbol, int64_t start) const;

  std::vector<tp::SizeAssumption> assumptions;
  llvm::StringMap<int64_t> valuesAtCapture;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_SIZES_SYMBOLICSIZES_H
