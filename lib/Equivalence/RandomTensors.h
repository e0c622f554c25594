//===- RandomTensors.h - tensors without structure --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_RANDOMTENSORS_H
#define COMMUTE_LIB_EQUIVALENCE_RANDOMTENSORS_H

#include "commute/Equivalence/FieldAlgebra.h"

namespace commute::equivalence {

/// Returns a random tensor, keyed by `key`, and by `place` for what all rounds
/// have in common, whose only structure is that
/// elements may repeat (see EvaluationContext). An element depends on its index
/// in the real tensor, not on the sample. If memory is insufficient, returns
/// null and sets the context's problem. `cells` are runs of indices by dim, one
/// of which is drawn apart in each round that does so; if there are none, each
/// index is one.
std::shared_ptr<FieldTensor>
makeRandom(llvm::ArrayRef<SampledDim> dims, mlir::Type type, uint64_t key,
           uint64_t place, EvaluationContext &context, const IntegerPool &pool,
           IntegerPool::Drawing drawing,
           llvm::ArrayRef<const IndexSample *> cells = {});

/// Returns the tensor on other samples of the same dims: the element at an
/// index is the one at the next index at which `tensor` has one. If memory is
/// insufficient, returns null and sets the context's problem.
FieldValue repeatElements(const FieldTensor &tensor,
                          llvm::ArrayRef<SampledDim> dims,
                          EvaluationContext &context);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_RANDOMTENSORS_H
