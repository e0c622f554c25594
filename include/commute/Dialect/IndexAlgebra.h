//===- IndexAlgebra.h - how ops rearrange elements --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A reindexing op defines once, in terms of these primitives, where the
// elements of its result come from. Each analysis implements them for its own
// index maps.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_INDEXALGEBRA_H
#define COMMUTE_DIALECT_INDEXALGEBRA_H

#include "commute/Dialect/SymbolicSize.h"

namespace commute::tp {

class IndexAlgebra {
public:
  /// The number by which the algebra identifies an index map.
  enum class Map : unsigned {};

  virtual ~IndexAlgebra();

  /// The same elements in row-major order, with new sizes.
  virtual Map reshape(Map input, llvm::ArrayRef<Size> sizes) = 0;
  /// Dim i of the result is dim `permutation[i]` of the input.
  virtual Map permute(Map input, llvm::ArrayRef<int64_t> permutation) = 0;
  /// `size` indices of one dim, starting at `start`, `step` apart.
  virtual Map slice(Map input, unsigned dim, const Size &start, int64_t step,
                    const Size &size) = 0;
  virtual Map concat(llvm::ArrayRef<Map> inputs, unsigned dim) = 0;
  /// Repetition along dims of size 1 and new leading dims.
  virtual Map broadcast(Map input, llvm::ArrayRef<Size> sizes) = 0;
};

} // namespace commute::tp

#endif // COMMUTE_DIALECT_INDEXALGEBRA_H
