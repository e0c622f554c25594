//===- PiecewiseAffine.h - integers that follow from positions --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_PIECEWISEAFFINE_H
#define COMMUTE_LIB_EQUIVALENCE_PIECEWISEAFFINE_H

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace commute::equivalence {

/// An exact sequence of integers that consists of a few evenly spaced pieces:
/// positions, shifted positions, or the positions below a number. Operations
/// take time proportional to the number of pieces, not of integers. They return
/// nullopt if the result has too many pieces, is not of this form, or has
/// elements that do not fit in 62 bits.
class PiecewiseAffine {
public:
  /// The integers from `begin` to the next piece: at index i, `constant + step
  /// * i`.
  struct Piece {
    int64_t begin;
    int64_t constant;
    int64_t step;

    bool operator==(const Piece &) const = default;
  };

  /// Returns a sequence of `size` elements, at least one.
  static std::optional<PiecewiseAffine> get(int64_t size, int64_t constant,
                                            int64_t step = 0);

  int64_t getSize() const { return size; }
  llvm::ArrayRef<Piece> getPieces() const { return pieces; }
  int64_t at(int64_t index) const;
  /// Whether all elements are equal.
  bool isConstant() const { return isAffine() && pieces.front().step == 0; }
  bool isAffine() const { return pieces.size() == 1; }
  /// The smallest and the largest element.
  std::pair<int64_t, int64_t> getRange() const;
  /// The sum of all elements.
  std::optional<int64_t> getSum() const;

  /// Extends a constant sequence to the number of elements needed.
  PiecewiseAffine repeat(int64_t count) const;
  /// Selects the elements `start + i * step` for i below `count`.
  std::optional<PiecewiseAffine> slice(int64_t start, int64_t step,
                                       int64_t count) const;
  static std::optional<PiecewiseAffine>
  concat(llvm::ArrayRef<PiecewiseAffine> parts);
  /// Returns prefix sums: element i is the sum of the elements 0 to i.
  std::optional<PiecewiseAffine> getPrefixSums() const;
  /// Returns a lookup: element i is element `indices[i]`; nullopt if an index
  /// is out of range.
  std::optional<PiecewiseAffine> take(const PiecewiseAffine &indices) const;
  /// Applies a scalar function to sequences of one size. Truth values are 0 and
  /// 1. With `areTruths`, the operands are truth values.
  static std::optional<PiecewiseAffine>
  map(tp::MapFunction function, llvm::ArrayRef<PiecewiseAffine> operands,
      bool areTruths);

private:
  class Builder;

  /// The index after a piece.
  int64_t getEnd(size_t number) const {
    return number + 1 < pieces.size() ? pieces[number + 1].begin : size;
  }

  int64_t size = 0;
  llvm::SmallVector<Piece, 2> pieces;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_PIECEWISEAFFINE_H
