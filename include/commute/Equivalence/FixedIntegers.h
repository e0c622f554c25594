//===- FixedIntegers.h - integers for which programs differ -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_FIXEDINTEGERS_H
#define COMMUTE_EQUIVALENCE_FIXEDINTEGERS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace commute::equivalence {

/// An integer of an input for which programs differ.
struct FixedInteger {
  unsigned argument;
  /// Which of the tensors that ranks hold of the input; replicated inputs have
  /// one.
  int64_t tensor;
  /// Where the integer is in that tensor. Along a dim of which not all indices
  /// are listed, those up to the next one that is have the same number.
  std::vector<int64_t> indices;
  int64_t number;
};

/// The integers of whole tensors, of which some are listed.
class FixedIntegers {
public:
  explicit FixedIntegers(llvm::ArrayRef<FixedInteger> listed);

  /// Returns the integer at `indices` of a tensor of an input; nullopt if none
  /// is listed there.
  std::optional<int64_t> lookup(unsigned argument, int64_t tensor,
                                llvm::ArrayRef<int64_t> indices) const;

private:
  /// The listed indices along each dim, and the numbers.
  struct Tensor {
    std::vector<std::set<int64_t>> indices;
    std::map<std::vector<int64_t>, int64_t> numbers;
  };
  std::map<std::pair<unsigned, int64_t>, Tensor> tensors;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_FIXEDINTEGERS_H
