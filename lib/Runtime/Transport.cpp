//===- Transport.cpp - communication between ranks --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Transport.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute::runtime;

char PeerFailure::ID = 0;

void PeerFailure::log(llvm::raw_ostream &os) const {
  os << "another rank failed";
}

std::error_code PeerFailure::convertToErrorCode() const {
  return llvm::inconvertibleErrorCode();
}

llvm::Expected<SmallVector<TensorValue>>
Transport::exchange(const CollectiveCall &call,
                    ArrayRef<TensorValue> toMembers) {
  Type elementType;
  for (const TensorValue &tensor : toMembers)
    if (tensor)
      elementType = tensor->getElementType();
  llvm::Expected<std::unique_ptr<Transfer>> transfer =
      start(call, elementType, /*numTensors=*/1, /*overlaps=*/false);
  if (!transfer)
    return transfer.takeError();
  size_t own = llvm::find(call.members, getRank()) - call.members.begin();
  SmallVector<TensorValue> received(toMembers.size());
  for (auto [position, tensor] : llvm::enumerate(toMembers)) {
    if (position == own)
      received[own] = tensor;
    else if (llvm::Error error = (*transfer)->send(position, tensor))
      return std::move(error);
  }
  for (size_t count = 1; count < toMembers.size(); ++count) {
    llvm::Expected<Transfer::Arrival> arrival = (*transfer)->receive();
    if (!arrival)
      return arrival.takeError();
    received[arrival->position] = std::move(arrival->tensor);
  }
  if (llvm::Error error = (*transfer)->finish())
    return std::move(error);
  return received;
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
