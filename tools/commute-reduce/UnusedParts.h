//===- UnusedParts.h - removes what a reduced module does not use ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTEREDUCE_UNUSEDPARTS_H
#define COMMUTE_TOOLS_COMMUTEREDUCE_UNUSEDPARTS_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace commute::reduce {

/// The dialects of modules that can be reduced.
mlir::DialectRegistry getDialects();

/// The files on the command line of mlir-reduce; empty where there is none.
struct ReductionFiles {
  std::string input;
  std::string output;
  /// The script that says whether a module is interesting, by an exit code
  /// other than 0.
  std::string test;

  static ReductionFiles find(int argc, char **argv);
};

/// Reduces the output further as long as the script finds it interesting, and
/// prints what was done since the input. Does nothing without output and test.
mlir::LogicalResult removeUnusedParts(const ReductionFiles &files);

} // namespace commute::reduce

#endif // COMMUTE_TOOLS_COMMUTEREDUCE_UNUSEDPARTS_H
