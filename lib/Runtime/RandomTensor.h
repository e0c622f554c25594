//===- RandomTensor.h - random tensors and their blocks ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_RANDOMTENSOR_H
#define COMMUTE_LIB_RUNTIME_RANDOMTENSOR_H

#include "commute/Runtime/Tensor.h"

namespace commute::runtime {

/// A random tensor. Each element is a function of its position, so that ranks
/// can create their blocks without creating the whole tensor.
struct RandomTensor {
  uint64_t seed = 0;
  /// Index of the input, and of the tensor among those of the input.
  uint64_t argument = 0;
  uint64_t instance = 0;
  /// Standard deviation of floats, and exclusive upper bound of integers.
  double scale = 1;
  int64_t integerBound = 2;

  /// Returns the block of `sizes` elements that starts at `starts`.
  TensorValue generate(llvm::ArrayRef<int64_t> wholeSizes,
                       llvm::ArrayRef<int64_t> starts,
                       llvm::ArrayRef<int64_t> sizes,
                       mlir::Type elementType) const;
};

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_RANDOMTENSOR_H
