//===- IndexAlgebra.h - how ops rearrange elements --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A reindexing op states where the elements of its result come from once, in
// these primitives. An analysis implements them over index maps of its own.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_INDEXALGEBRA_H
#define COMMUTE_DIALECT_INDEXALGEBRA_H

#include "commute/Dialect/SymbolicSize.h"

namespace commute::tp {

class IndexAlgebra {
public:
  /// An index map, by a number that the algebra gives it.
  enum class Map : unsigned {};

  virtual ~IndexAlgebra();

  /// The same elements in row-major order, under other sizes.
  virtual Map reshape(Map input, llvm::ArrayRef<Size> sizes) = 0;
  /// Dim i of the result is dim `permutation[i]` of the input.
  virtual Map permute(Map input, llvm::ArrayRef<int64_t> permutation) = 0;
  /// `size` indices of one dim, from `start` on, `step` apart.
  virtual Map slice(Map input, unsigned dim, const Size &start, int64_t step,
                    const Size &size) = 0;
  virtual Map concat(llvm::ArrayRef<Map> inputs, unsigned dim) = 0;
  /// Dims of size 1, and new leading dims, repeated.
  virtual Map broadcast(Map input, llvm::ArrayRef<Size> sizes) = 0;
};

} // namespace commute::tp

#endif // COMMUTE_DIALECT_INDEXALGEBRA_H
