//===- Transport.cpp - how tensors get from rank to rank --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Transport.h"

using namespace commute::runtime;

char PeerFailure::ID = 0;

void PeerFailure::log(llvm::raw_ostream &os) const {
  os << "another rank failed";
}

std::error_code PeerFailure::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

std::string CollectiveCall::describe() const {
  std::string text = operation;
  if (!operand.empty())
    text += " of " + operand;
  text += " in group " + formatSizes(members);
  if (!place.empty())
    text += " at " + place;
  return text;
}

std::string commute::runtime::describeMismatch(int64_t rank,
                                               const CollectiveCall &call,
                                               int64_t otherRank,
                                               const CollectiveCall &other) {
  return "mismatched collectives: rank " + std::to_string(rank) + " runs " +
         call.describe() + ", but rank " + std::to_string(otherRank) +
         " runs " + other.describe();
}
