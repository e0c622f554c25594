//===- ReturnedMemory.h - values that callers may write into ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_RETURNEDMEMORY_H
#define COMMUTE_ANALYSIS_RETURNEDMEMORY_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseSet.h"

namespace commute::analysis {

/// The values of a program whose memory it may return. A caller that writes
/// into one output does not expect another one to change, so two of these
/// values must not become one.
class ReturnedMemory {
public:
  explicit ReturnedMemory(mlir::Region &region);

  bool contains(mlir::Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<mlir::Value> values;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_RETURNEDMEMORY_H
