//===- Indexing.h - reading writes through indices --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_INDEXING_H
#define COMMUTE_LIB_VOCABULARY_INDEXING_H

#include "NodeReader.h"

namespace commute::vocabulary {

/// Returns true for a tensor of integers that are not truth values. The value
/// may be null.
bool isIndex(mlir::Value value);

/// Returns the elements of `input` that `indices` may refer to: along all dims
/// but `dim`, only as many as there are indices. Returns null if that is
/// unknown.
mlir::Value narrow(NodeReader &reader, mlir::Value input, mlir::Value indices,
                   std::optional<int64_t> dim);

/// Makes a scatter into `self` the node's result.
mlir::LogicalResult setScatter(NodeReader &reader, mlir::Value self,
                               mlir::Value index, mlir::Value updates,
                               int64_t dim, bool accumulates,
                               bool wrapsNegative = false);

/// Writes whole rows along `dim`. `updates` contains them in the order of
/// `indices`, which has rank 1.
mlir::LogicalResult setScatteredRows(NodeReader &reader, mlir::Value self,
                                     mlir::Value indices, mlir::Value updates,
                                     int64_t dim, bool accumulates,
                                     bool wrapsNegative = false);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_INDEXING_H
