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
/// null and sets the context's problem.
std::shared_ptr<FieldTensor>
makeRandom(llvm::ArrayRef<SampledDim> dims, mlir::Type type, uint64_t key,
           uint64_t place, EvaluationContext &context, const IntegerPool &pool,
           IntegerPool::Drawing drawing);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_RANDOMTENSORS_H
