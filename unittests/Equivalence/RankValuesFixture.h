//===- RankValuesFixture.h - values given by their elements -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_EQUIVALENCE_RANKVALUESFIXTURE_H
#define COMMUTE_UNITTESTS_EQUIVALENCE_RANKVALUESFIXTURE_H

#include "commute/Equivalence/LockstepEvaluator.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

namespace commute::equivalence {

/// A fixture of tests about values of one dim.
class RankValuesFixture : public testing::Test {
protected:
  using RankElements = std::vector<std::vector<uint64_t>>;

  /// A value by the elements of each rank, f32 unless stated; of two rows if
  /// these are stored once.
  RankValues makeValues(const RankElements &ranks, mlir::Type type = {},
                        bool isRepeated = false) {
    RankValues values;
    for (const std::vector<uint64_t> &elements : ranks) {
      auto size = static_cast<int64_t>(elements.size());
      llvm::SmallVector<SampledDim> dims;
      if (isRepeated)
        dims.push_back({samples.getFull(2), /*isUniform=*/true});
      dims.push_back({samples.getFull(size)});
      auto tensor = std::make_shared<FieldTensor>(dims, type ? type : f32);
      tensor->elements = elements;
      values.push_back(tensor);
    }
    return values;
  }

  mlir::MLIRContext context;
  IndexSamples samples;
  mlir::Type f32 = mlir::Float32Type::get(&context);
  mlir::Type i64 = mlir::IntegerType::get(&context, 64);
  mlir::Type i1 = mlir::IntegerType::get(&context, 1);
};

} // namespace commute::equivalence

#endif // COMMUTE_UNITTESTS_EQUIVALENCE_RANKVALUESFIXTURE_H
