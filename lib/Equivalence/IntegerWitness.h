//===- IntegerWitness.h - integers for which programs differ ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_INTEGERWITNESS_H
#define COMMUTE_LIB_EQUIVALENCE_INTEGERWITNESS_H

#include "ProgramComparison.h"

namespace commute::equivalence {

/// Returns the indices of an element in the order of storage.
std::vector<int64_t> getIndices(llvm::ArrayRef<SampledDim> dims,
                                size_t element);

/// Returns the integers of a witness for inputs that are evaluated at other
/// samples: an index has the integer of the next one of the witness.
InputGenerator::FixedNumbers getFixed(llvm::ArrayRef<FixedInteger> witness);

/// Finds integers for which two lifted programs differ, which differ for
/// unknown weights.
///
/// A difference that is linear in the weights of each integer is the sum of the
/// differences for each of its numbers, so it remains for one of them: one
/// integer after the other is fixed where it does. If it remains for none, or
/// the search takes too long, nothing is found.
class IntegerWitness {
public:
  /// Returns the integers that an input may have.
  using Legal = llvm::function_ref<IntegerUnion(unsigned)>;

  /// `comparison` has found that the programs differ.
  IntegerWitness(ProgramComparison &comparison, mlir::func::FuncOp first,
                 mlir::func::FuncOp second, Legal legal,
                 const ProofBudget &budget, uint64_t seed)
      : comparison(comparison), functions{first, second}, legal(legal),
        budget(budget), seed(seed) {}

  std::optional<std::vector<FixedInteger>> find();

private:
  /// The element of a tensor of an input, in the order of storage.
  struct Place {
    unsigned argument;
    int64_t tensor;
    size_t element;

    auto operator<=>(const Place &) const = default;
  };

  /// Returns the numbers of an input's range that are evaluated; none if the
  /// input is not an integer.
  std::vector<int64_t> getNumbers(unsigned argument) const;
  /// Compares with the integers that are fixed so far.
  std::vector<Difference> compare();

  ProgramComparison &comparison;
  mlir::func::FuncOp functions[2];
  Legal legal;
  const ProofBudget &budget;
  uint64_t seed;
  std::map<Place, int64_t> fixed;
  /// The elements that were asked for, and where they are.
  std::map<Place, std::vector<int64_t>> places;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_INTEGERWITNESS_H
