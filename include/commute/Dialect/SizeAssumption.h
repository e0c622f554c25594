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

/// A fact about symbolic sizes, as stated by `--assume`, the sidecar and the
/// module's attribute `tp.assumptions`: a comparison of a symbol with a number,
/// or the divisibility of a product of symbols by a number.
struct SizeAssumption {
  enum class Kind { MultipleOf, Equal, AtLeast, AtMost };

  Kind kind = Kind::MultipleOf;
  /// The multiplied symbols, in ascending order; a single one unless the kind
  /// is MultipleOf.
  llvm::SmallVector<std::string, 1> symbols;
  int64_t number = 1;
  /// The assumption as the user wrote it.
  std::string text;
};

/// Parses "s0 % 8 == 0", "s0 * s1 % 8 == 0", "s0 == 4096" or "s0 >= 16" (or <=,
/// >, <). The error lists the legal forms.
llvm::Expected<SizeAssumption> parseSizeAssumption(llvm::StringRef text);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SIZEASSUMPTION_H
