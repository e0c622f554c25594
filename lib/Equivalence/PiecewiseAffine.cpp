//===- PiecewiseAffine.cpp - integers that follow from positions ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PiecewiseAffine.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

static constexpr size_t maxPieces = 64;
/// Intermediate results do not overflow: sums and products of 64-bit numbers
/// fit in 128 bits.
using Wide = __int128;
static constexpr Wide limit = Wide(1) << 62;

static bool fits(Wide number) { return -limit < number && number < limit; }

static Wide divideFloor(Wide a, Wide b) {
  Wide quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
static Wide divideCeil(Wide a, Wide b) { return -divideFloor(-a, b); }

namespace {
/// constant + step * i.
struct Line {
  Wide constant;
  Wide step;

  Line(Wide constant, Wide step = 0) : constant(constant), step(step) {}
  Line(const PiecewiseAffine::Piece &piece)
      : constant(piece.constant), step(piece.step) {}
  Wide at(Wide index) const { return constant + step * index; }
};
} // namespace

/// Collects pieces in ascending order. A failure is permanent.
class PiecewiseAffine::Builder {
public:
  void add(int64_t begin, int64_t end, Line line) {
    if (begin >= end || hasFailed)
      return;
    if (!fits(line.constant) || !fits(line.step) || !fits(line.at(begin)) ||
        !fits(line.at(end - 1))) {
      hasFailed = true;
      return;
    }
    bool isSingle = end - begin == 1;
    if (isSingle)
      line = Line(line.at(begin));
    Piece piece{begin, static_cast<int64_t>(line.constant),
                static_cast<int64_t>(line.step)};
    int64_t previous = result.size;
    assert(begin == previous && "a gap between pieces");
    result.size = end;
    if (result.pieces.empty()) {
      result.pieces.push_back(piece);
      return;
    }
    Piece &last = result.pieces.back();
    Wide lastElement = Line(last).at(previous - 1);
    // A single element lies on many lines.
    bool isLastSingle = previous - last.begin == 1;
    if (Line(last).at(begin) == line.at(begin) &&
        (isSingle || last.step == piece.step))
      return;
    if (isLastSingle && line.at(previous - 1) == lastElement) {
      last = {last.begin, piece.constant, piece.step};
      return;
    }
    if (isLastSingle && isSingle) {
      Wide step = line.at(begin) - lastElement;
      Line joined(lastElement - step * (previous - 1), step);
      if (fits(joined.constant) && fits(joined.step)) {
        last = {last.begin, static_cast<int64_t>(joined.constant),
                static_cast<int64_t>(joined.step)};
        return;
      }
    }
    hasFailed |= result.pieces.size() == maxPieces;
    result.pieces.push_back(piece);
  }

  /// Appends the signs of the elements of `line`, starting at `begin`.
  template <typename Visit>
  static void forEachSign(int64_t begin, int64_t end, const Line &line,
                          Visit visit) {
    auto getSign = [](Wide number) { return (number > 0) - (number < 0); };
    if (line.step == 0) {
      visit(begin, end, getSign(line.constant));
      return;
    }
    // Returns the first index at or after the root.
    Wide root = line.step > 0 ? divideCeil(-line.constant, line.step)
                              : divideCeil(line.constant, -line.step);
    auto clamp = [&](Wide index) {
      return static_cast<int64_t>(std::clamp<Wide>(index, begin, end));
    };
    int before = line.step > 0 ? -1 : 1;
    Wide behind = line.at(root) == 0 ? root + 1 : root;
    visit(begin, clamp(root), before);
    visit(clamp(root), clamp(behind), 0);
    visit(clamp(behind), end, -before);
  }

  bool hasFailed = false;
  PiecewiseAffine result;
};

std::optional<PiecewiseAffine>
PiecewiseAffine::get(int64_t size, int64_t constant, int64_t step) {
  assert(size > 0 && "a sequence without elements");
  Builder builder;
  builder.add(0, size, {constant, size == 1 ? 0 : step});
  if (builder.hasFailed)
    return std::nullopt;
  return builder.result;
}

int64_t PiecewiseAffine::at(int64_t index) const {
  assert(index >= 0 && index < size && "no such element");
  auto next =
      llvm::upper_bound(pieces, index, [](int64_t value, const Piece &piece) {
        return value < piece.begin;
      });
  return static_cast<int64_t>(Line(*std::prev(next)).at(index));
}

std::pair<int64_t, int64_t> PiecewiseAffine::getRange() const {
  int64_t low = at(0), high = low;
  for (size_t number = 0; number < pieces.size(); ++number) {
    for (int64_t index : {pieces[number].begin, getEnd(number) - 1}) {
      low = std::min(low, at(index));
      high = std::max(high, at(index));
    }
  }
  return {low, high};
}

std::optional<int64_t> PiecewiseAffine::getSum() const {
  Wide sum = 0;
  for (size_t number = 0; number < pieces.size(); ++number) {
    int64_t begin = pieces[number].begin, end = getEnd(number);
    Wide own = (Wide(at(begin)) + at(end - 1)) * (end - begin) / 2;
    if (!fits(own))
      return std::nullopt;
    sum += own;
    if (!fits(sum))
      return std::nullopt;
  }
  return static_cast<int64_t>(sum);
}

PiecewiseAffine PiecewiseAffine::repeat(int64_t count) const {
  assert(isConstant() && "elements differ");
  PiecewiseAffine result = *this;
  result.size = count;
  return result;
}

std::optional<PiecewiseAffine>
PiecewiseAffine::slice(int64_t start, int64_t step, int64_t count) const {
  std::optional<PiecewiseAffine> indices = get(count, start, step);
  if (!indices)
    return std::nullopt;
  return take(*indices);
}

std::optional<PiecewiseAffine>
PiecewiseAffine::concat(llvm::ArrayRef<PiecewiseAffine> parts) {
  Builder builder;
  for (const PiecewiseAffine &part : parts) {
    int64_t start = builder.result.size;
    for (auto [number, piece] : llvm::enumerate(part.pieces)) {
      builder.add(
          start + piece.begin, start + part.getEnd(number),
          {Wide(piece.constant) - Wide(piece.step) * start, piece.step});
    }
    if (builder.hasFailed)
      return std::nullopt;
  }
  return builder.result;
}

std::optional<PiecewiseAffine> PiecewiseAffine::getPrefixSums() const {
  Builder builder;
  Wide sum = 0;
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    int64_t end = getEnd(number);
    // The sum of positions is quadratic, so it is a line only for few
    // positions.
    if (piece.step != 0) {
      if (end - piece.begin > static_cast<int64_t>(maxPieces))
        return std::nullopt;
      for (int64_t index = piece.begin; index < end; ++index)
        builder.add(index, index + 1, sum += Line(piece).at(index));
    } else {
      builder.add(piece.begin, end,
                  {sum - Wide(piece.constant) * (Wide(piece.begin) - 1),
                   piece.constant});
      sum += Wide(piece.constant) * (end - piece.begin);
    }
    if (builder.hasFailed || !fits(sum))
      return std::nullopt;
  }
  return builder.result;
}

std::optional<PiecewiseAffine>
PiecewiseAffine::take(const PiecewiseAffine &indices) const {
  auto [low, high] = indices.getRange();
  if (low < 0 || high >= size)
    return std::nullopt;
  Builder builder;
  for (auto [number, piece] : llvm::enumerate(indices.pieces)) {
    Line line(piece);
    int64_t end = indices.getEnd(number);
    for (int64_t index = piece.begin; index < end && !builder.hasFailed;) {
      auto position = static_cast<int64_t>(line.at(index));
      auto next = llvm::upper_bound(pieces, position,
                                    [](int64_t value, const Piece &piece) {
                                      return value < piece.begin;
                                    });
      const Piece &own = *std::prev(next);
      // As long as the indices stay in that piece.
      Wide until = end;
      if (line.step > 0 && next != pieces.end())
        until = divideCeil(next->begin - line.constant, line.step);
      else if (line.step < 0)
        until = divideFloor(line.constant - own.begin, -line.step) + 1;
      auto stop = static_cast<int64_t>(std::min<Wide>(until, end));
      builder.add(
          index, stop,
          {own.constant + own.step * line.constant, own.step * line.step});
      index = stop;
    }
  }
  if (builder.hasFailed)
    return std::nullopt;
  return builder.result;
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

std::optional<PiecewiseAffine>
PiecewiseAffine::map(MapFunction function,
                     llvm::ArrayRef<PiecewiseAffine> operands, bool areTruths) {
  int64_t size = operands.front().size;
  assert(llvm::all_of(operands,
                      [&](const PiecewiseAffine &operand) {
                        return operand.size == size;
                      }) &&
         "operands of different sizes");
  Builder builder;
  // For a range in which all operands are lines.
  auto mapLines = [&](int64_t begin, int64_t end, llvm::ArrayRef<Line> lines) {
    const Line &a = lines.front(), &b = lines.back();
    bool isNumber = begin + 1 == end;
    auto forEachSign = [&](const Line &line, auto visit) {
      Builder::forEachSign(begin, end, line, visit);
    };
    switch (function) {
    case MapFunction::Add:
    case MapFunction::Sub: {
      if (areTruths)
        return false;
      int sign = function == MapFunction::Add ? 1 : -1;
      builder.add(begin, end,
                  {a.constant + sign * b.constant, a.step + sign * b.step});
      return true;
    }
    case MapFunction::Mul: {
      if (areTruths)
        return false;
      if (isNumber) {
        builder.add(begin, end, a.at(begin) * b.at(begin));
        return true;
      }
      if (a.step != 0 && b.step != 0)
        return false;
      const Line &line = a.step != 0 ? a : b;
      Wide factor = (a.step != 0 ? b : a).constant;
      builder.add(begin, end, {line.constant * factor, line.step * factor});
      return true;
    }
    case MapFunction::Neg:
      builder.add(begin, end, {-a.constant, -a.step});
      return true;
    case MapFunction::Maximum:
    case MapFunction::Minimum: {
      bool takesLarger = function == MapFunction::Maximum;
      forEachSign({a.constant - b.constant, a.step - b.step},
                  [&](int64_t from, int64_t to, int sign) {
                    builder.add(from, to, (sign > 0) == takesLarger ? a : b);
                  });
      return true;
    }
    case MapFunction::Relu:
      forEachSign(a, [&](int64_t from, int64_t to, int sign) {
        builder.add(from, to, sign > 0 ? a : Line(0));
      });
      return true;
    case MapFunction::Abs:
      forEachSign(a, [&](int64_t from, int64_t to, int sign) {
        builder.add(from, to, sign < 0 ? Line(-a.constant, -a.step) : a);
      });
      return true;
    case MapFunction::Sign:
      forEachSign(a, [&](int64_t from, int64_t to, int sign) {
        builder.add(from, to, Line(sign));
      });
      return true;
    case MapFunction::Round:
    case MapFunction::Floor:
    case MapFunction::Ceil:
      builder.add(begin, end, a);
      return true;
    case MapFunction::FloorDiv:
    case MapFunction::Remainder: {
      Wide divisor = b.constant;
      if (b.step != 0 || divisor < 1)
        return false;
      for (int64_t index = begin; index < end && !builder.hasFailed;) {
        Wide quotient = divideFloor(a.at(index), divisor);
        Wide until = end;
        if (a.step > 0)
          until = divideCeil((quotient + 1) * divisor - a.constant, a.step);
        else if (a.step < 0)
          until = divideFloor(a.constant - quotient * divisor, -a.step) + 1;
        auto stop = static_cast<int64_t>(std::min<Wide>(until, end));
        builder.add(index, stop,
                    function == MapFunction::FloorDiv
                        ? Line(quotient)
                        : Line(a.constant - quotient * divisor, a.step));
        index = stop;
      }
      return true;
    }
    case MapFunction::Select:
      forEachSign(a, [&](int64_t from, int64_t to, int sign) {
        builder.add(from, to, sign != 0 ? lines[1] : b);
      });
      return true;
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define COMPARISON(Name, Mirrored, IfBelow, IfEqual, IfAbove, Aten)            \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
      forEachSign({a.constant - b.constant, a.step - b.step},
                  [&](int64_t from, int64_t to, int sign) {
                    bool isTrue = tp::getComparison(function)->holds(sign);
                    builder.add(from, to, Line(isTrue));
                  });
      return true;
    case MapFunction::LogicalAnd:
    case MapFunction::LogicalOr:
    case MapFunction::BitwiseAnd:
    case MapFunction::BitwiseOr:
    case MapFunction::BitwiseXor: {
      // Truth values are 0 and 1, so two of them may still form one line.
      if (!areTruths)
        return false;
      forEachSign(a, [&](int64_t from, int64_t to, int x) {
        Builder::forEachSign(
            from, to, b, [&](int64_t low, int64_t high, int y) {
              bool isTrue = function == MapFunction::BitwiseXor ? x != y
                            : function == MapFunction::LogicalAnd ||
                                    function == MapFunction::BitwiseAnd
                                ? x && y
                                : x || y;
              builder.add(low, high, Line(isTrue));
            });
      });
      return true;
    }
    case MapFunction::LogicalNot:
    case MapFunction::BitwiseNot:
      if (!areTruths)
        return false;
      builder.add(begin, end, {1 - a.constant, -a.step});
      return true;
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
    case MapFunction::Div:
    case MapFunction::Pow:
    case MapFunction::Log:
    case MapFunction::Sqrt:
    case MapFunction::Rsqrt:
    case MapFunction::Reciprocal:
    case MapFunction::Silu:
    case MapFunction::IsNan:
    case MapFunction::IsOne:
    case MapFunction::Weight:
      // For lines, the result is not a line in general.
      return false;
    }
    llvm_unreachable("a scalar function that is not listed");
  };
  llvm::SmallVector<const Piece *, 3> current;
  for (const PiecewiseAffine &operand : operands)
    current.push_back(operand.pieces.begin());
  for (int64_t begin = 0; begin < size;) {
    int64_t end = size;
    llvm::SmallVector<Line, 3> lines;
    for (auto [piece, operand] : llvm::zip_equal(current, operands)) {
      lines.push_back(*piece);
      if (piece + 1 != operand.pieces.end())
        end = std::min(end, (piece + 1)->begin);
    }
    if (!mapLines(begin, end, lines) || builder.hasFailed)
      return std::nullopt;
    for (auto [piece, operand] : llvm::zip_equal(current, operands))
      if (piece + 1 != operand.pieces.end() && (piece + 1)->begin == end)
        ++piece;
    begin = end;
  }
  return builder.result;
}
