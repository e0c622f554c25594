//===- Tensor.h - dense tensors in memory -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_TENSOR_H
#define COMMUTE_RUNTIME_TENSOR_H

#include "commute/Dialect/Evaluation.h"
#include "commute/Dialect/StridedWalk.h"
#include "commute/Runtime/ElementKind.h"

#include "llvm/Support/Error.h"

namespace commute::runtime {

/// A tensor whose elements are dense in row-major order. Views share its
/// memory, which may also be a mapped file.
class Tensor : public tp::AlgebraTensor {
public:
  /// Creates a tensor with the elements at `data`, whose owner it shares.
  Tensor(llvm::ArrayRef<int64_t> sizes, mlir::Type elementType,
         std::shared_ptr<const std::byte> data);
  /// Allocates uninitialized memory, aligned to 64 bytes.
  static std::shared_ptr<Tensor> allocate(llvm::ArrayRef<int64_t> sizes,
                                          mlir::Type elementType);

  ElementKind getKind() const { return kind; }
  size_t getNumBytes() const {
    return getNumElements() * runtime::getNumBytes(kind);
  }
  const std::byte *getData() const { return data.get(); }
  const std::shared_ptr<const std::byte> &getSharedData() const { return data; }
  /// Access for filling a tensor returned by `allocate`.
  std::byte *getMutableData() { return const_cast<std::byte *>(data.get()); }
  template <typename Element>
  const Element *getDataAs() const {
    assert(sizeof(Element) == runtime::getNumBytes(kind) &&
           "elements of another size");
    return reinterpret_cast<const Element *>(data.get());
  }
  template <typename Element>
  Element *getMutableDataAs() {
    assert(sizeof(Element) == runtime::getNumBytes(kind) &&
           "elements of another size");
    return reinterpret_cast<Element *>(getMutableData());
  }

private:
  ElementKind kind;
  std::shared_ptr<const std::byte> data;
};

using TensorValue = std::shared_ptr<const Tensor>;

inline const Tensor &asTensor(const tp::AlgebraValue &value) {
  return static_cast<const Tensor &>(*value);
}

using tp::getNumElements;
/// Returns an error if a tensor does not fit in this machine's memory.
/// Otherwise the system would kill the process when the memory is touched.
llvm::Error checkMemory(llvm::ArrayRef<int64_t> sizes, mlir::Type elementType);
/// Returns, for example, "[2, 4]".
std::string formatSizes(llvm::ArrayRef<int64_t> sizes);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_TENSOR_H
