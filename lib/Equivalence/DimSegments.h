//===- DimSegments.h - what slices leave of a dim ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_DIMSEGMENTS_H
#define COMMUTE_LIB_EQUIVALENCE_DIMSEGMENTS_H

#include "DimClasses.h"

#include <optional>

namespace commute::equivalence {

/// Dims that are cut at places which no common unit counts: a table of 8192
/// rows of which 1000 are read, the last token of a sequence. All places where
/// a dim is cut, by whichever op of either program, divide it into segments;
/// each gets a size of its own, so that what lies before, in and after a piece,
/// and what two pieces share, stays as it was.
class DimSegments {
public:
  using Id = DimClasses::Id;

  explicit DimSegments(DimClasses &classes) : classes(classes) {}

  /// `part` is what a slice takes of `whole` from `start` on, or what a concat
  /// puts there. Returns the number of the cut.
  unsigned addCut(Id whole, Id part, int64_t start);
  /// To be called when all cuts are known.
  void divide();
  /// A dim that is also a product of others has its size from them: one segment
  /// takes what is left. To be called when sizes are chosen; false where they
  /// do not fit.
  bool settle();
  /// nullopt where sizes stay.
  std::optional<int64_t> getNewStart(unsigned cut);

private:
  struct Cut {
    Id whole;
    Id part;
    int64_t start;
  };
  struct Dim {
    Id whole;
    std::vector<int64_t> starts;
    std::vector<Id> segments;
  };

  bool hasFreeAtom(Id id);
  void divide(Dim &dim, llvm::ArrayRef<unsigned> numbers);
  bool settle(const Dim &dim);

  DimClasses &classes;
  std::vector<Cut> cuts;
  std::vector<Dim> dims;
  /// By cut: the index of its dim; none where sizes stay.
  std::vector<std::optional<unsigned>> dimOfCut;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DIMSEGMENTS_H
