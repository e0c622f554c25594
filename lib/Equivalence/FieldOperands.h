//===- FieldOperands.h - operands as tensors of the field -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_FIELDOPERANDS_H
#define COMMUTE_LIB_EQUIVALENCE_FIELDOPERANDS_H

#include "commute/Equivalence/FieldAlgebra.h"

namespace commute::equivalence {

/// All operands of a FieldAlgebra are its own tensors.
inline const FieldTensor &get(const tp::AlgebraValue &value) {
  return static_cast<const FieldTensor &>(*value);
}

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_FIELDOPERANDS_H
