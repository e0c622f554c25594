//===- DecisionCoverage.cpp - outcomes that drawn integers had --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DecisionCoverage.h"

#include "FieldFunctions.h"
#include "OpNumbering.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <compare>
#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

namespace {
/// The kinds of ops that decide something.
enum class Decision {
  None,
  /// Of integers.
  Comparison,
  /// Of floats, which may be made of integers.
  ComparisonOfFloats,
  Conjunction,
  Disjunction,
  /// Whether a result fits into a narrow integer.
  Arithmetic
};
} // namespace

static bool isComparison(Decision decision) {
  return decision == Decision::Comparison ||
         decision == Decision::ComparisonOfFloats;
}

static Type getElementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static Decision getDecision(tp::MapOp op) {
  bool isOfTruth = llvm::all_of(op.getOperands(), [](Value operand) {
    return isTruthType(getElementType(operand));
  });
  bool isOfIntegers = llvm::none_of(op.getOperands(), [](Value operand) {
    return isFieldType(getElementType(operand));
  });
  auto type = dyn_cast<IntegerType>(getElementType(op.getResult()));
  switch (op.getFunction()) {
  case MapFunction::Add:
  case MapFunction::Sub:
  case MapFunction::Mul:
    return type && type.getWidth() > 1 && type.getWidth() <= 16 && isOfIntegers
               ? Decision::Arithmetic
               : Decision::None;
  case MapFunction::Equal:
  case MapFunction::NotEqual:
  case MapFunction::Less:
  case MapFunction::LessEqual:
  case MapFunction::Greater:
  case MapFunction::GreaterEqual:
    return isOfTruth      ? Decision::None
           : isOfIntegers ? Decision::Comparison
                          : Decision::ComparisonOfFloats;
  case MapFunction::LogicalAnd:
  case MapFunction::BitwiseAnd:
    return isOfTruth ? Decision::Conjunction : Decision::None;
  case MapFunction::LogicalOr:
  case MapFunction::BitwiseOr:
    return isOfTruth ? Decision::Disjunction : Decision::None;
  default:
    return Decision::None;
  }
}

/// Visits the pairs of elements of two operands. Returns false if they are
/// broadcast along different dims: these are tables of positions, which decide
/// nothing about one number.
template <typename Visitor>
static bool forEachPair(const FieldTensor &a, const FieldTensor &b,
                        Visitor visit) {
  size_t countA = a.elements.size(), countB = b.elements.size();
  if (countA != 1 && countB != 1 && a.getCounts() != b.getCounts())
    return false;
  // One element beside none are no pair.
  for (size_t index = 0; index < (countA == 1 ? countB : countA); ++index)
    visit(a.elements[countA == 1 ? 0 : index],
          b.elements[countB == 1 ? 0 : index]);
  return true;
}

void DecisionCoverage::noteComparison(Outcomes &outcomes, const FieldTensor &a,
                                      const FieldTensor &b) {
  if (!forEachPair(a, b, [&](uint64_t x, uint64_t y) {
        uint64_t difference = x - y;
        outcomes.isEqual |= difference == 0;
        outcomes.isAbove |= difference == 1;
        outcomes.isBelow |= difference == ~uint64_t(0);
        outcomes.isFar |= difference != 0;
      }))
    outcomes.isBelow = outcomes.isEqual = outcomes.isAbove = outcomes.isFar =
        true;
}

void DecisionCoverage::noteNumbers(Outcomes &outcomes, const FieldTensor &a,
                                   const FieldTensor &b,
                                   const ScalarContext &scalars) {
  if (outcomes.isUnknown)
    return;
  auto noteDifference = [&](double difference) {
    auto above = outcomes.differences.lower_bound(difference);
    if (above != outcomes.differences.end()) {
      if (*above == difference)
        return;
      outcomes.step = std::min(outcomes.step, *above - difference);
    }
    if (above != outcomes.differences.begin())
      outcomes.step = std::min(outcomes.step, difference - *std::prev(above));
    if (outcomes.differences.size() < maxDifferences)
      outcomes.differences.insert(above, difference);
  };
  bool areAlongSameDims = forEachPair(a, b, [&](uint64_t x, uint64_t y) {
    if (outcomes.isUnknown)
      return;
    std::optional<double> first = scalars.getKnownNumber(x);
    std::optional<double> second = scalars.getKnownNumber(y);
    if (first && second && std::isfinite(*first) && std::isfinite(*second))
      noteDifference(*first - *second);
    else
      outcomes.isUnknown = true;
  });
  outcomes.isUnknown |= !areAlongSameDims;
}

void DecisionCoverage::noteArithmetic(Outcomes &outcomes, MapFunction function,
                                      const FieldTensor &a,
                                      const FieldTensor &b,
                                      const FieldTensor &result) {
  size_t index = 0;
  if (outcomes.isWrapped)
    return;
  bool areAlongSameDims = forEachPair(a, b, [&](uint64_t x, uint64_t y) {
    uint64_t exact = function == MapFunction::Add   ? x + y
                     : function == MapFunction::Sub ? x - y
                                                    : x * y;
    if (index < result.elements.size())
      outcomes.isWrapped |= result.elements[index] != exact;
    ++index;
  });
  outcomes.isWrapped |= !areAlongSameDims;
}

void DecisionCoverage::noteTruth(Outcomes &outcomes, unsigned index,
                                 const FieldTensor &values) {
  for (uint64_t element : values.elements) {
    // Unknown truth values stand for both.
    outcomes.isTrue[index] |= element != 0;
    outcomes.isFalse[index] |= element != 1;
  }
}

void DecisionCoverage::note(Operation *op, ArrayRef<RankValues> operands,
                            ArrayRef<RankValues> results,
                            const ScalarContext &scalars) {
  auto map = dyn_cast<tp::MapOp>(op);
  Decision decision = map ? getDecision(map) : Decision::None;
  if (decision == Decision::None)
    return;
  Outcomes &outcomes = noted[op];
  llvm::SmallPtrSet<const FieldTensor *, 4> seen;
  for (size_t rank = 0; rank < results.front().size(); ++rank) {
    if (!seen.insert(results.front()[rank].get()).second)
      continue;
    const FieldTensor &a = *operands[0][rank], &b = *operands[1][rank];
    const FieldTensor &result = *results.front()[rank];
    switch (decision) {
    case Decision::None:
      break;
    case Decision::Comparison:
      noteComparison(outcomes, a, b);
      break;
    case Decision::ComparisonOfFloats:
      noteNumbers(outcomes, a, b, scalars);
      break;
    case Decision::Conjunction:
    case Decision::Disjunction:
      noteTruth(outcomes, 0, a);
      noteTruth(outcomes, 1, b);
      noteTruth(outcomes, 2, result);
      break;
    case Decision::Arithmetic:
      noteArithmetic(outcomes, map.getFunction(), a, b, result);
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// What was missed
//===----------------------------------------------------------------------===//

bool DecisionCoverage::hasMissedNumbers(MapFunction function,
                                        const Outcomes &outcomes) {
  const std::set<double> &met = outcomes.differences;
  if (outcomes.isUnknown || met.empty())
    return false;
  if (function == MapFunction::Equal || function == MapFunction::NotEqual)
    return !met.contains(0) || met.size() == 1;
  bool isEqualBelow =
      function == MapFunction::LessEqual || function == MapFunction::Greater;
  auto above = isEqualBelow ? met.upper_bound(0) : met.lower_bound(0);
  if (above == met.begin() || above == met.end())
    return true;
  // Are the two numbers next to the limit neighbours? Differences of doubles
  // are rounded.
  constexpr double slack = 1 + 1e-6;
  return *above - *std::prev(above) > outcomes.step * slack;
}

bool DecisionCoverage::hasMissed(tp::MapOp op, const Outcomes &outcomes) {
  switch (getDecision(op)) {
  case Decision::ComparisonOfFloats:
    return hasMissedNumbers(op.getFunction(), outcomes);
  case Decision::Arithmetic:
    return !outcomes.isWrapped;
  default:
    break;
  }
  switch (op.getFunction()) {
  case MapFunction::Less:
  case MapFunction::GreaterEqual:
    return !outcomes.isBelow || !outcomes.isEqual;
  case MapFunction::LessEqual:
  case MapFunction::Greater:
    return !outcomes.isEqual || !outcomes.isAbove;
  case MapFunction::Equal:
  case MapFunction::NotEqual:
    return !outcomes.isEqual || !outcomes.isFar;
  case MapFunction::LogicalAnd:
  case MapFunction::BitwiseAnd:
    return outcomes.isTrue[0] && outcomes.isTrue[1] && !outcomes.isTrue[2];
  case MapFunction::LogicalOr:
  case MapFunction::BitwiseOr:
    return outcomes.isFalse[0] && outcomes.isFalse[1] && !outcomes.isFalse[2];
  default:
    return false;
  }
}

namespace {
/// What an integer or truth value is computed from.
enum class Source {
  /// Constants and positions.
  Fixed,
  /// One element of each of some values that are drawn.
  Element,
  /// Many elements.
  Many
};

/// Maps every value of a program to its source.
class Sources {
public:
  explicit Sources(func::FuncOp function) {
    for (Operation &op : function.getBody().front()) {
      Source source = isMemoryEffectFree(&op) ? Source::Fixed : Source::Element;
      for (Value operand : op.getOperands())
        source = std::max(source, get(operand));
      if (source == Source::Element && op.getNumOperands() > 0 &&
          !isa<tp::MapOp, tp::CastOp, tp::ReindexOpInterface, tp::CallOp>(op))
        source = Source::Many;
      for (Value result : op.getResults())
        sources[result] = source;
    }
  }
  Source get(Value value) const {
    auto known = sources.find(value);
    return known == sources.end() ? Source::Element : known->second;
  }

private:
  DenseMap<Value, Source> sources;
};

/// Where a comparison of a value with a constant changes: just below a number,
/// at it, or just above it. Comparisons of one value at one limit decide the
/// same.
struct Limit {
  enum class Side { Below, At, Above };
  unsigned value;
  Side side;
  /// The constant: an integer, or the bits of a double.
  int64_t number;

  auto operator<=>(const Limit &) const = default;
};
} // namespace

/// Returns the number that a value is compared with; null if it is none.
static TypedAttr getComparedNumber(Value value) {
  auto constant = value.getDefiningOp<tp::ConstantOp>();
  bool isNumber = constant && !constant.getValue().getType().isInteger(1);
  return isNumber ? constant.getValue() : TypedAttr();
}

/// Returns nullopt if the op compares nothing with a constant.
static std::optional<Limit> findLimit(tp::MapOp op,
                                      const ValueNumbers &numbers) {
  Decision decision = getDecision(op);
  if (!isComparison(decision))
    return std::nullopt;
  Value value = op.getOperand(0);
  TypedAttr constant = getComparedNumber(op.getOperand(1));
  bool isSwapped = !constant;
  if (isSwapped) {
    value = op.getOperand(1);
    constant = getComparedNumber(op.getOperand(0));
  }
  if (!constant)
    return std::nullopt;
  auto real = dyn_cast<FloatAttr>(constant);
  int64_t number = real ? llvm::bit_cast<int64_t>(real.getValueAsDouble())
                        : cast<IntegerAttr>(constant).getValue().getSExtValue();
  auto above = [&](bool isAbove) {
    // Below an integer is above its predecessor.
    if (isAbove && decision == Decision::Comparison &&
        number != std::numeric_limits<int64_t>::max())
      return Limit{numbers.lookup(value), Limit::Side::Below, number + 1};
    return Limit{numbers.lookup(value),
                 isAbove ? Limit::Side::Above : Limit::Side::Below, number};
  };
  switch (op.getFunction()) {
  case MapFunction::Less:
  case MapFunction::GreaterEqual:
    return above(isSwapped);
  case MapFunction::LessEqual:
  case MapFunction::Greater:
    return above(!isSwapped);
  case MapFunction::Equal:
  case MapFunction::NotEqual:
    return Limit{numbers.lookup(value), Limit::Side::At, number};
  default:
    return std::nullopt;
  }
}

std::optional<DecisionCoverage::Missed>
DecisionCoverage::findMissed(func::FuncOp first, func::FuncOp second,
                             bool isOfArithmetic) const {
  auto isMissed = [&](Operation &op) {
    auto known = noted.find(&op);
    if (known == noted.end())
      return false;
    auto map = cast<tp::MapOp>(op);
    return (getDecision(map) == Decision::Arithmetic) == isOfArithmetic &&
           hasMissed(map, known->second);
  };
  if (llvm::none_of(first.getBody().front(), isMissed) &&
      llvm::none_of(second.getBody().front(), isMissed))
    return std::nullopt;
  ValueNumbering numbering;
  func::FuncOp functions[] = {first, second};
  ValueNumbers numbers[] = {numbering.number(first), numbering.number(second)};
  for (unsigned side : {0, 1}) {
    // What the other program decides.
    DenseSet<unsigned> values;
    std::set<Limit> limits;
    for (Operation &op : functions[1 - side].getBody().front())
      if (auto map = dyn_cast<tp::MapOp>(op)) {
        values.insert(numbers[1 - side].lookup(map.getResult()));
        if (std::optional<Limit> limit = findLimit(map, numbers[1 - side]))
          limits.insert(*limit);
      }
    Sources sources(functions[side]);
    for (Operation &op : functions[side].getBody().front()) {
      // A decision that both programs make has one outcome in both.
      if (!isMissed(op) || shared.contains(&op) ||
          values.contains(numbers[side].lookup(op.getResult(0))))
        continue;
      auto map = cast<tp::MapOp>(op);
      std::optional<Limit> limit = findLimit(map, numbers[side]);
      if (limit && limits.contains(*limit))
        continue;
      // Draws bring what is computed from single elements to its limits.
      Source least =
          isComparison(getDecision(map)) ? Source::Many : Source::Element;
      if (std::max(sources.get(map.getOperand(0)),
                   sources.get(map.getOperand(1))) < least)
        continue;
      return Missed{map, side == 0 ? "first" : "second"};
    }
  }
  return std::nullopt;
}

/// Prints the number that one of the operands is; nothing if none is.
static void printLimit(tp::MapOp op, llvm::raw_ostream &os) {
  for (Value operand : op.getOperands()) {
    TypedAttr number = getComparedNumber(operand);
    if (auto real = dyn_cast_or_null<FloatAttr>(number))
      os << ", " << llvm::format("%g", real.getValueAsDouble());
    else if (number)
      os << ", " << cast<IntegerAttr>(number).getValue().getSExtValue();
  }
}

std::optional<std::string>
DecisionCoverage::describeMissed(func::FuncOp first,
                                 func::FuncOp second) const {
  std::optional<Missed> missed =
      findMissed(first, second, /*isOfArithmetic=*/false);
  if (!missed)
    return std::nullopt;
  Decision decision = getDecision(missed->op);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "the programs are equal for all integers that were drawn, but no draw ";
  if (isComparison(decision)) {
    os << "brought a comparison that only the " << missed->program
       << " program makes to both sides of its limit";
    printLimit(missed->op, os);
  } else {
    os << "made conditions that only the " << missed->program
       << " program joins "
       << (decision == Decision::Conjunction ? "true" : "false") << " at once";
  }
  os << ": " << report::describeLocation(missed->op.getLoc());
  return text;
}

std::optional<std::string>
DecisionCoverage::describeUnwrapped(func::FuncOp first,
                                    func::FuncOp second) const {
  std::optional<Missed> missed =
      findMissed(first, second, /*isOfArithmetic=*/true);
  if (!missed)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream(text)
      << "no draw made the result of "
      << tp::stringifyMapFunction(missed->op.getFunction())
      << " too large for its "
      << getElementType(missed->op.getResult()).getIntOrFloatBitWidth()
      << " bits, which only the " << missed->program
      << " program computes: a difference where it wraps around may be "
         "missed: "
      << report::describeLocation(missed->op.getLoc());
  return text;
}
