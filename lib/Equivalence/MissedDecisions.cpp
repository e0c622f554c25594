//===- MissedDecisions.cpp - outcomes that no draw had ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Which decisions that only one of two programs makes had not all of their
// outcomes in the rounds that DecisionCoverage recorded.
//
//===----------------------------------------------------------------------===//

#include "DecisionCoverage.h"
#include "Decisions.h"
#include "OpNumbering.h"

#include "commute/Report/RemarkCollector.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <compare>
#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

bool DecisionCoverage::hasMissedNumbers(const tp::Comparison &comparison,
                                        const Outcomes &outcomes) {
  const std::set<double> &met = outcomes.differences;
  if (outcomes.isUnknown || met.empty())
    return false;
  if (comparison.changesBelow() && comparison.changesAbove())
    return !met.contains(0) || met.size() == 1;
  auto above =
      comparison.changesAbove() ? met.upper_bound(0) : met.lower_bound(0);
  if (above == met.begin() || above == met.end())
    return true;
  // Are the two numbers next to the limit neighbours? Differences of doubles
  // are rounded.
  constexpr double slack = 1 + 1e-6;
  return *above - *std::prev(above) > outcomes.step * slack;
}

bool DecisionCoverage::hasMissedOutcomes(tp::MapOp op,
                                         const Outcomes &outcomes) {
  switch (getDecision(op)) {
  case Decision::None:
    return false;
  case Decision::Comparison: {
    auto comparison = *tp::getComparison(op.getFunction());
    if (comparison.changesBelow() && comparison.changesAbove())
      return !outcomes.isEqual || !outcomes.isFar;
    return !outcomes.isEqual ||
           !(comparison.changesBelow() ? outcomes.isBelow : outcomes.isAbove);
  }
  case Decision::ComparisonOfFloats:
    return hasMissedNumbers(*tp::getComparison(op.getFunction()), outcomes);
  case Decision::Conjunction:
    return outcomes.isTrue[0] && outcomes.isTrue[1] && !outcomes.isTrue[2];
  case Decision::Disjunction:
    return outcomes.isFalse[0] && outcomes.isFalse[1] && !outcomes.isFalse[2];
  case Decision::Arithmetic:
    return !outcomes.isWrapped;
  }
  llvm_unreachable("a decision that is not listed");
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
  auto comparison = tp::getComparison(op.getFunction());
  if (!isComparison(decision))
    return std::nullopt;
  Value value = op.getOperand(0);
  TypedAttr constant = getComparedNumber(op.getOperand(1));
  if (!constant) {
    value = op.getOperand(1);
    constant = getComparedNumber(op.getOperand(0));
    comparison = tp::getComparison(comparison->mirrored);
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
  if (comparison->changesBelow() && comparison->changesAbove())
    return Limit{numbers.lookup(value), Limit::Side::At, number};
  return above(comparison->changesAbove());
}

std::optional<DecisionCoverage::Missed>
DecisionCoverage::findMissed(func::FuncOp first, func::FuncOp second,
                             Question question) const {
  auto isMissed = [&](Operation &op) {
    auto known = noted.find(&op);
    if (known == noted.end())
      return false;
    auto map = dyn_cast<tp::MapOp>(op);
    bool isOfArithmetic = map && getDecision(map) == Decision::Arithmetic;
    if (isOfArithmetic != (question == Question::Arithmetic))
      return false;
    const Outcomes &outcomes = known->second;
    return (question != Question::Arithmetic &&
            outcomes.elements.hasMissed()) ||
           (question != Question::Elements && map &&
            hasMissedOutcomes(map, outcomes));
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
      if (isa<tp::ReduceOp>(op)) {
        values.insert(numbers[1 - side].lookup(op.getResult(0)));
      } else if (auto map = dyn_cast<tp::MapOp>(op)) {
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
      StringRef program = side == 0 ? "first" : "second";
      auto map = dyn_cast<tp::MapOp>(op);
      if (!map) {
        if (sources.get(op.getOperand(0)) != Source::Fixed)
          return Missed{&op, program};
        continue;
      }
      std::optional<Limit> limit = findLimit(map, numbers[side]);
      if (limit && limits.contains(*limit))
        continue;
      // Draws bring what is computed from single elements to its limits.
      Source least =
          isComparison(getDecision(map)) ? Source::Many : Source::Element;
      if (std::max(sources.get(map.getOperand(0)),
                   sources.get(map.getOperand(1))) < least)
        continue;
      return Missed{&op, program};
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
  std::optional<Missed> missed = findMissed(first, second, Question::Decisions);
  if (!missed)
    return std::nullopt;
  auto map = dyn_cast<tp::MapOp>(missed->op);
  Decision decision = map ? getDecision(map) : Decision::None;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "the programs are equal for all integers that were drawn, but no draw ";
  if (!map || !hasMissedOutcomes(map, noted.find(missed->op)->second)) {
    os << "made one of the elements alone decide "
       << (map ? "whether a count reaches its limit"
               : "which element is the extreme one")
       << ", in an op that only the " << missed->program << " program has";
    if (map)
      printLimit(map, os);
  } else if (isComparison(decision)) {
    os << "brought a comparison that only the " << missed->program
       << " program makes to both sides of its limit";
    printLimit(map, os);
  } else {
    os << "made conditions that only the " << missed->program
       << " program joins "
       << (decision == Decision::Conjunction ? "true" : "false") << " at once";
  }
  os << ": " << report::describeLocation(missed->op->getLoc());
  return text;
}

bool DecisionCoverage::hasMissedElements(func::FuncOp first,
                                         func::FuncOp second) const {
  return findMissed(first, second, Question::Elements).has_value();
}

std::optional<std::string>
DecisionCoverage::describeUnwrapped(func::FuncOp first,
                                    func::FuncOp second) const {
  std::optional<Missed> missed =
      findMissed(first, second, Question::Arithmetic);
  if (!missed)
    return std::nullopt;
  auto map = cast<tp::MapOp>(missed->op);
  std::string text;
  llvm::raw_string_ostream(text)
      << "no draw made the result of "
      << tp::stringifyMapFunction(map.getFunction()) << " too large for its "
      << getElementTypeOrSelf(map.getResult()).getIntOrFloatBitWidth()
      << " bits, which only the " << missed->program
      << " program computes: a difference where it wraps around may be "
         "missed: "
      << report::describeLocation(missed->op->getLoc());
  return text;
}
