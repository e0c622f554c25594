//===- SizeAssumption.h - what a user assumes of sizes ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_SIZEASSUMPTION_H
#define COMMUTE_DIALECT_SIZEASSUMPTION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <string>

namespace commute::tp {

/// One fact about symbolic sizes, as `--assume`, the sidecar and the module's
/// attribute `tp.assumptions` state it: a comparison with a number of a symbol,
/// or of a product of symbols modulo a number.
struct SizeAssumption {
  enum class Kind { MultipleOf, Equal, AtLeast, AtMost };

  Kind kind = Kind::MultipleOf;
  /// The symbols that are multiplied, in ascending order; one alone but for
  /// MultipleOf.
  llvm::SmallVector<std::string, 1> symbols;
  int64_t number = 1;
  /// As it was written.
  std::string text;
};

/// Reads "s0 % 8 == 0", "s0 * s1 % 8 == 0", "s0 == 4096", "s0 >= 16" (or <=, >,
/// <). The error says which forms there are.
llvm::Expected<SizeAssumption> parseSizeAssumption(llvm::StringRef text);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SIZEASSUMPTION_H
