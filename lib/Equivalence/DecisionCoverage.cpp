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
#include "llvm/Support/raw_ostream.h"

#include <compare>
#include <limits>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

namespace {
/// The kinds of ops that decide something.
enum class Decision { None, Comparison, Conjunction, Disjunction };
} // namespace

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
  switch (op.getFunction()) {
  case MapFunction::Equal:
  case MapFunction::NotEqual:
  case MapFunction::Less:
  case MapFunction::LessEqual:
  case MapFunction::Greater:
  case MapFunction::GreaterEqual:
    return isOfIntegers && !isOfTruth ? Decision::Comparison : Decision::None;
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

void DecisionCoverage::noteComparison(Outcomes &outcomes, const FieldTensor &a,
                                      const FieldTensor &b) {
  size_t countA = a.elements.size(), countB = b.elements.size();
  if (countA != countB && countA != 1 && countB != 1) {
    // Operands that are broadcast along different dims: tables of positions,
    // which are no decisions about one number.
    outcomes.isBelow = outcomes.isEqual = outcomes.isAbove = true;
    return;
  }
  for (size_t index = 0; index < std::max(countA, countB); ++index) {
    uint64_t difference = a.elements[countA == 1 ? 0 : index] -
                          b.elements[countB == 1 ? 0 : index];
    outcomes.isEqual |= difference == 0;
    outcomes.isAbove |= difference == 1;
    outcomes.isBelow |= difference == ~uint64_t(0);
    outcomes.isFar |= difference != 0;
  }
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
                            ArrayRef<RankValues> results) {
  auto map = dyn_cast<tp::MapOp>(op);
  Decision decision = map ? getDecision(map) : Decision::None;
  if (decision == Decision::None)
    return;
  Outcomes &outcomes = noted[op];
  llvm::SmallPtrSet<const FieldTensor *, 4> seen;
  for (size_t rank = 0; rank < results.front().size(); ++rank) {
    if (!seen.insert(results.front()[rank].get()).second)
      continue;
    if (decision == Decision::Comparison) {
      noteComparison(outcomes, *operands[0][rank], *operands[1][rank]);
    } else {
      noteTruth(outcomes, 0, *operands[0][rank]);
      noteTruth(outcomes, 1, *operands[1][rank]);
      noteTruth(outcomes, 2, *results.front()[rank]);
    }
  }
}

//===----------------------------------------------------------------------===//
// What was missed
//===----------------------------------------------------------------------===//

bool DecisionCoverage::hasMissed(MapFunction function,
                                 const Outcomes &outcomes) {
  switch (function) {
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

using ValueNumbers = DenseMap<Value, unsigned>;

/// Numbers the values of programs, so that equal computations of equal operands
/// have equal numbers.
class ValueNumbering {
public:
  ValueNumbers number(func::FuncOp function) {
    ValueNumbers known;
    for (BlockArgument argument : function.getArguments())
      known[argument] = argument.getArgNumber();
    next = std::max(next, function.getNumArguments());
    unsigned numEffects = 0;
    for (Operation &op : function.getBody().front()) {
      SmallVector<unsigned, 4> operands;
      for (Value operand : op.getOperands())
        operands.push_back(known.lookup(operand));
      // Two calls of an operator with effects are two values.
      if (!isMemoryEffectFree(&op))
        operands.push_back(numEffects++);
      unsigned kind = ops.getFunction(&op);
      unsigned first = next;
      if (unsigned *same = ops.lookup(kind, operands)) {
        first = *same;
      } else {
        ops.note(kind, operands, first);
        next += op.getNumResults();
      }
      for (auto [index, result] : llvm::enumerate(op.getResults()))
        known[result] = first + index;
    }
    return known;
  }

private:
  OpNumbering ops;
  unsigned next = 0;
};

/// Where a comparison of a value with a constant changes: between two integers,
/// or at one. Comparisons of one value at one limit decide the same.
struct Limit {
  unsigned value;
  bool isPoint;
  /// The point, or the integer above the change.
  int64_t position;

  auto operator<=>(const Limit &) const = default;
};
} // namespace

static std::optional<int64_t> getConstant(Value value) {
  auto constant = value.getDefiningOp<tp::ConstantOp>();
  auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : nullptr;
  if (!number || number.getType().isInteger(1))
    return std::nullopt;
  return number.getValue().getSExtValue();
}

/// Returns nullopt if the op compares no integer with a constant.
static std::optional<Limit> findLimit(tp::MapOp op,
                                      const ValueNumbers &numbers) {
  if (getDecision(op) != Decision::Comparison)
    return std::nullopt;
  Value value = op.getOperand(0);
  std::optional<int64_t> number = getConstant(op.getOperand(1));
  bool isSwapped = !number;
  if (isSwapped) {
    value = op.getOperand(1);
    number = getConstant(op.getOperand(0));
  }
  if (!number || *number == std::numeric_limits<int64_t>::max())
    return std::nullopt;
  auto above = [&](bool isAbove) {
    return Limit{numbers.lookup(value), false, *number + isAbove};
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
    return Limit{numbers.lookup(value), true, *number};
  default:
    return std::nullopt;
  }
}

std::optional<std::string>
DecisionCoverage::describeMissed(func::FuncOp first,
                                 func::FuncOp second) const {
  auto isMissed = [&](Operation &op) {
    auto known = noted.find(&op);
    return known != noted.end() &&
           hasMissed(cast<tp::MapOp>(op).getFunction(), known->second);
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
      bool compares = getDecision(map) == Decision::Comparison;
      std::optional<Limit> limit = findLimit(map, numbers[side]);
      if (limit && limits.contains(*limit))
        continue;
      // Draws bring what is computed from single elements to its limits.
      Source least = compares ? Source::Many : Source::Element;
      if (std::max(sources.get(map.getOperand(0)),
                   sources.get(map.getOperand(1))) < least)
        continue;
      std::string text;
      llvm::raw_string_ostream os(text);
      os << "the programs are equal for all integers that were drawn, but no "
            "draw ";
      StringRef program = side == 0 ? "first" : "second";
      if (compares) {
        os << "brought a comparison that only the " << program
           << " program makes to both sides of its limit";
        if (limit)
          os << ", " << limit->position;
      } else {
        os << "made conditions that only the " << program << " program joins "
           << (getDecision(map) == Decision::Conjunction ? "true" : "false")
           << " at once";
      }
      os << ": " << report::describeLocation(op.getLoc());
      return text;
    }
  }
  return std::nullopt;
}
