//===- PointToPoint.h - messages between two ranks --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_POINTTOPOINT_H
#define COMMUTE_LIB_REFINEMENT_POINTTOPOINT_H

#include "commute/Dialect/TPDialect.h"

#include "llvm/Support/Error.h"

namespace commute::refinement {

/// One message that an op sends or receives.
struct Transfer {
  bool isSend;
  /// The position of the other rank in the group.
  int64_t peer;
  std::string group;
  /// The operand that is sent, or that states the type of what is received.
  unsigned operand;
  /// The result that completes the transfer.
  unsigned result;
};

/// Returns true for PyTorch's point-to-point operators (isend, irecv,
/// batch_p2p_ops).
bool isPointToPoint(mlir::Operation *op);
/// Returns the messages of such an op. The error says which argument is not
/// understood.
llvm::Expected<std::vector<Transfer>> getTransfers(tp::CallOp call);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_POINTTOPOINT_H
