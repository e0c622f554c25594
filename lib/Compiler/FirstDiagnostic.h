//===- FirstDiagnostic.h - MLIR's first message as an error -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_FIRSTDIAGNOSTIC_H
#define COMMUTE_LIB_COMPILER_FIRSTDIAGNOSTIC_H

#include "mlir/IR/Diagnostics.h"

namespace commute::compiler {

/// Captures the diagnostics of a context during its lifetime. Keeps the first
/// one, with line and column if they are known, and prints none.
class FirstDiagnostic {
public:
  explicit FirstDiagnostic(mlir::MLIRContext *context)
      : handler(context, [this](mlir::Diagnostic &diagnostic) {
          note(diagnostic);
          return mlir::success();
        }) {}

  const std::string &getMessage() const { return message; }

private:
  void note(mlir::Diagnostic &diagnostic) {
    if (!message.empty())
      return;
    llvm::raw_string_ostream os(message);
    if (auto place =
            mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation()))
      os << place.getLine() << ':' << place.getColumn() << ": ";
    os << diagnostic;
  }

  std::string message;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_FIRSTDIAGNOSTIC_H
