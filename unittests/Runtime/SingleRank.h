//===- SingleRank.h - a rank that has no peers ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_RUNTIME_SINGLERANK_H
#define COMMUTE_UNITTESTS_RUNTIME_SINGLERANK_H

#include "commute/Runtime/Transport.h"

#include "llvm/ADT/STLExtras.h"

namespace commute::test {

/// Of a group of one: there is nobody to send to.
class NoTransfer : public runtime::Transfer {
public:
  llvm::Error send(size_t, runtime::TensorValue) override {
    return llvm::createStringError("no such member");
  }
  llvm::Expected<Arrival> receive() override {
    return llvm::createStringError("no such member");
  }
  llvm::Error finish() override { return llvm::Error::success(); }
};

/// Rank 0 of groups of one: what it sends comes back. With `peerFails`, it
/// learns of a failure elsewhere as soon as it asks.
class SingleRank : public runtime::Transport {
public:
  explicit SingleRank(bool peerFails = false) : peerFails(peerFails) {}

  int64_t getRank() const override { return 0; }
  llvm::Expected<std::unique_ptr<runtime::Transfer>>
  start(const runtime::CollectiveCall &call, mlir::Type, size_t,
        bool) override {
    lastCall = call;
    return std::make_unique<NoTransfer>();
  }
  llvm::Error checkPeers() override {
    if (peerFails)
      return llvm::make_error<runtime::PeerFailure>();
    return llvm::Error::success();
  }

  runtime::CollectiveCall lastCall;

private:
  bool peerFails;
};

/// A tensor of these elements.
template <typename Element>
runtime::TensorValue makeTensor(llvm::ArrayRef<int64_t> sizes, mlir::Type type,
                                llvm::ArrayRef<Element> elements) {
  auto tensor = runtime::Tensor::allocate(sizes, type);
  llvm::copy(elements, tensor->getMutableDataAs<Element>());
  return tensor;
}

template <typename Element>
std::vector<Element> getElements(const runtime::Tensor &tensor) {
  const auto *data = tensor.getDataAs<Element>();
  return std::vector<Element>(data, data + tensor.getNumElements());
}

} // namespace commute::test

#endif // COMMUTE_UNITTESTS_RUNTIME_SINGLERANK_H
