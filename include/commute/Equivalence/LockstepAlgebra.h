//===- LockstepAlgebra.h - what one rank sends and receives -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_LOCKSTEPALGEBRA_H
#define COMMUTE_EQUIVALENCE_LOCKSTEPALGEBRA_H

#include "commute/Dialect/Evaluation.h"
#include "commute/Dialect/TPDialect.h"

namespace commute::equivalence {

/// Evaluates one op on one rank. An evaluation ends at an exchange that is not
/// complete; whoever evaluates all ranks then delivers what they have sent, and
/// evaluates the op again.
class LockstepAlgebra : public tp::Algebra {
public:
  /// The values that one rank sends in its n-th exchange of the current op, and
  /// the values that it receives once all ranks have sent.
  struct Exchange {
    tp::GroupAttr group;
    llvm::SmallVector<tp::AlgebraValue> toMembers;
    llvm::SmallVector<tp::AlgebraValue> fromMembers;
    bool isComplete = false;
  };

  explicit LockstepAlgebra(int64_t rank) : rank(rank) {}

  /// Restarts the evaluation of an op, with the exchanges known so far.
  void restart() {
    nextExchange = 0;
    waiting = false;
  }
  void clearExchanges() { exchanges.clear(); }
  llvm::SmallVectorImpl<Exchange> &getExchanges() { return exchanges; }
  /// True if the evaluation stopped at an incomplete exchange.
  bool isWaiting() const { return waiting; }

  mlir::FailureOr<mlir::SmallVector<tp::AlgebraValue>>
  exchange(mlir::Operation *op, tp::GroupAttr group,
           mlir::ArrayRef<tp::AlgebraValue> toMembers) override;
  mlir::FailureOr<int64_t> getPosition(tp::GroupAttr group) override;

protected:
  int64_t rank;

private:
  llvm::SmallVector<Exchange> exchanges;
  size_t nextExchange = 0;
  bool waiting = false;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_LOCKSTEPALGEBRA_H
