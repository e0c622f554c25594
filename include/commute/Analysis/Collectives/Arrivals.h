//===- Arrivals.h - values that are used before they arrive -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_COLLECTIVES_ARRIVALS_H
#define COMMUTE_ANALYSIS_COLLECTIVES_ARRIVALS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace commute::analysis {

/// The first op that uses the elements of a value before they have arrived.
struct EarlyRead {
  mlir::Operation *reader;
  /// The result of the asynchronous op, or the input that the program waits
  /// for. The op may use a view of it.
  mlir::Value pending;
};

/// What a program uses before it has waited for it. The result of an
/// asynchronous op is *pending* until the program waits for it, or for any view
/// of it: as in PyTorch, a wait is for the memory, so everything that comes
/// after the wait may use the value, through the result of the wait or not.
/// Taking a view of a pending value is no use of its elements; whatever uses
/// the view is.
class Arrivals {
public:
  /// `pendingInputs` are the inputs that are pending when the program starts:
  /// torch.compile lets a graph wait for a collective that started before it.
  /// Inputs that the program waits for before any other use are pending
  /// without being listed. With `ignoresUnusedWaits`, a wait whose result
  /// nothing uses does not count, as if it had been erased.
  explicit Arrivals(mlir::func::FuncOp function,
                    const llvm::BitVector &pendingInputs = {},
                    bool ignoresUnusedWaits = false);

  /// In program order, one for each pending value.
  llvm::ArrayRef<EarlyRead> getEarlyReads() const { return earlyReads; }
  /// Returns what is still pending in the memory of an output when the program
  /// returns; null if the output is there.
  mlir::Value getPendingOutput(unsigned index) const;
  /// Inputs that the program waits for before any other use.
  const llvm::BitVector &getAwaitedInputs() const { return awaitedInputs; }

private:
  /// The values whose memory a value shares: usually the value itself, or the
  /// value that it is a view of.
  using Owners = llvm::SmallVector<mlir::Value, 1>;

  Owners getOwners(mlir::Value value) const;
  void shareMemory(mlir::Operation *op);
  void read(mlir::Operation *op);
  void start(mlir::Operation *op);
  void wait(mlir::Operation *op, mlir::Value awaited);

  /// Only of values that share the memory of others.
  llvm::DenseMap<mlir::Value, Owners> ownersOf;
  /// By owner, the result that has not arrived.
  llvm::DenseMap<mlir::Value, mlir::Value> pending;
  llvm::DenseSet<mlir::Value> usedInputs;
  llvm::DenseSet<mlir::Value> readEarly;
  std::vector<EarlyRead> earlyReads;
  llvm::SmallVector<mlir::Value> pendingOutputs;
  llvm::BitVector awaitedInputs;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_COLLECTIVES_ARRIVALS_H
