//===- RandomTensor.h - random tensors and blocks of them -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_RANDOMTENSOR_H
#define COMMUTE_LIB_RUNTIME_RANDOMTENSOR_H

#include "commute/Runtime/Tensor.h"

namespace commute::runtime {

/// A random tensor, of which each element is known by its position alone, so
/// that ranks can make their blocks of it without the whole.
struct RandomTensor {
  uint64_t seed = 0;
  /// Number of the input, and which of its tensors it is.
  uint64_t argument = 0;
  uint64_t instance = 0;
  /// Floats have this standard deviation, integers are below this bound.
  double scale = 1;
  int64_t integerBound = 2;

  /// The block of `sizes` elements that begins at `starts`.
  TensorValue generate(llvm::ArrayRef<int64_t> wholeSizes,
                       llvm::ArrayRef<int64_t> starts,
                       llvm::ArrayRef<int64_t> sizes,
                       mlir::Type elementType) const;
};

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_RANDOMTENSOR_H
