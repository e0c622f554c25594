//===- PositionFunctions.cpp - scalar functions of positions ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PositionFinder.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// Returns the sum of two affine expressions, the second of which is multiplied
/// by `factor`; nullopt if a number does not fit in 64 bits.
static std::optional<AffinePosition>
add(const AffinePosition &a, const AffinePosition &b, int64_t factor) {
  AffinePosition result = a;
  auto addTo = [&](int64_t &sum, int64_t term) {
    int64_t product;
    return !llvm::MulOverflow(term, factor, product) &&
           !llvm::AddOverflow(sum, product, sum);
  };
  if (!addTo(result.constant, b.constant))
    return std::nullopt;
  for (auto [sum, term] : llvm::zip_equal(result.coefficients, b.coefficients))
    if (!addTo(sum, term))
      return std::nullopt;
  return result;
}

/// Returns the number that all elements are; nullopt if it is not known.
static std::optional<int64_t> getNumber(const PositionForm &form) {
  if (form.candidates.size() != 1 || !form.candidates[0].isConstant() ||
      form.hasUnknown || form.hasDerived)
    return std::nullopt;
  return form.candidates[0].constant;
}

std::optional<PositionForm::Condition>
PositionFinder::getCondition(MapFunction function,
                             ArrayRef<PositionForm> operands) {
  using Condition = PositionForm::Condition;
  const std::optional<Condition> &first = operands[0].condition;
  if (function == MapFunction::LogicalNot ||
      function == MapFunction::BitwiseNot)
    return first ? std::optional(Condition{first->argument,
                                           first->elements.getComplement()})
                 : std::nullopt;
  const std::optional<Condition> &second = operands[1].condition;
  bool isAnd = function == MapFunction::LogicalAnd ||
               function == MapFunction::BitwiseAnd;
  if (isAnd || function == MapFunction::LogicalOr ||
      function == MapFunction::BitwiseOr) {
    if (!first || !second || first->argument != second->argument)
      return std::nullopt;
    return Condition{first->argument,
                     isAnd ? first->elements.intersect(second->elements)
                           : first->elements.unite(second->elements)};
  }
  // Comparisons of a function of the input with a number.
  bool isMirrored = !operands[0].input;
  const std::optional<InputFunction> &input =
      operands[isMirrored ? 1 : 0].input;
  std::optional<int64_t> number = getNumber(operands[isMirrored ? 0 : 1]);
  if (!input || !number || *number == std::numeric_limits<int64_t>::max())
    return std::nullopt;
  std::optional<tp::Comparison> comparison = tp::getComparison(function);
  if (comparison && isMirrored)
    comparison = tp::getComparison(comparison->mirrored);
  if (!comparison)
    return std::nullopt;
  const IntegerUnion all = IntegerUnion::getAll();
  IntegerUnion numbers;
  if (comparison->ifBelow)
    numbers = numbers.unite({all.getFirst(), *number});
  if (comparison->ifEqual)
    numbers = numbers.unite({*number, *number + 1});
  if (comparison->ifAbove)
    numbers = numbers.unite({*number + 1, all.getEnd()});
  std::optional<IntegerUnion> elements = input->getPreimage(numbers);
  return elements ? std::optional(Condition{input->argument, *elements})
                  : std::nullopt;
}

std::optional<InputFunction>
PositionFinder::selectByInput(ArrayRef<PositionForm> operands) {
  const std::optional<PositionForm::Condition> &condition =
      operands[0].condition;
  if (!condition)
    return std::nullopt;
  for (bool isFirst : {true, false}) {
    const std::optional<InputFunction> &input = operands[isFirst ? 1 : 2].input;
    std::optional<int64_t> number = getNumber(operands[isFirst ? 2 : 1]);
    if (input && number && input->argument == condition->argument)
      return input->except(isFirst ? condition->elements.getComplement()
                                   : condition->elements,
                           *number);
  }
  return std::nullopt;
}

std::optional<PositionForm> PositionFinder::divide(tp::MapOp op,
                                                   const PositionForm &a,
                                                   const PositionForm &b) {
  std::optional<int64_t> number = getNumber(b);
  if (!number || *number < 1)
    return std::nullopt;
  int64_t divisor = *number;
  bool isQuotient = op.getFunction() == MapFunction::FloorDiv;
  if (a.hasUnknown && a.varies.none()) {
    for (int64_t number : {divisor, 2 * divisor, -divisor})
      listener.onNumber(number);
    if (!isQuotient || !a.input)
      return std::nullopt;
    PositionForm quotient = derive(op);
    quotient.input = a.input->dividedBy(divisor);
    return quotient;
  }
  if (a.hasUnknown || a.hasDerived)
    return std::nullopt;
  ArrayRef<int64_t> sizes = getType(op.getResult()).getShape();
  PositionForm result = getConstants(op.getResult(), {});
  result.varies = a.varies;
  for (const AffinePosition &candidate : a.candidates) {
    auto range = candidate.getRange(sizes);
    if (!range)
      return std::nullopt;
    int64_t first = llvm::divideFloorSigned(range->first, divisor);
    int64_t last = llvm::divideFloorSigned(range->second, divisor);
    if (last - first > static_cast<int64_t>(maxCandidates) ||
        result.candidates.size() > maxCandidates)
      return std::nullopt;
    for (int64_t quotient = first; quotient <= last; ++quotient) {
      PositionForm own = getConstants(op.getResult(), {});
      own.candidates.push_back(candidate);
      PositionForm border = getConstants(op.getResult(), quotient * divisor);
      own.varies = a.varies;
      compare(op.getResult(), own, border);
      AffinePosition value =
          isQuotient ? getConstants(op.getResult(), quotient).candidates.front()
                     : candidate;
      if (!isQuotient)
        value.constant -= quotient * divisor;
      if (!llvm::is_contained(result.candidates, value))
        result.candidates.push_back(value);
    }
  }
  return result;
}

PositionForm PositionFinder::evaluateMap(tp::MapOp op) {
  Value result = op.getResult();
  auto type = getType(result);
  SmallVector<PositionForm, 3> operands;
  for (Value operand : op.getOperands()) {
    if (!isFollowed(operand)) {
      // For floats: truth values that are unknown numbers, or another integer.
      PositionForm form = getUnknown(result);
      for (Value other : op.getOperands())
        if (isFollowed(other))
          form.varies |= broadcast(other, type).varies;
      return form;
    }
    operands.push_back(broadcast(operand, type));
  }
  auto combine = [&](int64_t factor) -> std::optional<PositionForm> {
    const PositionForm &a = operands[0], &b = operands[1];
    if (a.candidates.size() * b.candidates.size() > maxCandidates)
      return std::nullopt;
    PositionForm form = unite(a, b);
    form.candidates.clear();
    for (const AffinePosition &x : a.candidates)
      for (const AffinePosition &y : b.candidates) {
        std::optional<AffinePosition> sum = add(x, y, factor);
        if (!sum)
          return std::nullopt;
        if (!llvm::is_contained(form.candidates, *sum))
          form.candidates.push_back(*sum);
      }
    if (std::optional<int64_t> number = getNumber(b); a.input && number)
      form.input = a.input->plus(factor * *number);
    else if (number = getNumber(a); b.input && factor == 1 && number)
      form.input = b.input->plus(*number);
    return form;
  };
  auto scale = [&](const PositionForm &form,
                   const PositionForm &by) -> std::optional<PositionForm> {
    if (by.hasUnknown || by.hasDerived ||
        by.candidates.size() * form.candidates.size() > maxCandidates)
      return std::nullopt;
    PositionForm scaled = unite(form, by);
    scaled.candidates.clear();
    for (const AffinePosition &factor : by.candidates) {
      if (!factor.isConstant())
        return std::nullopt;
      for (const AffinePosition &candidate : form.candidates) {
        AffinePosition zero{0, SmallVector<int64_t, 4>(type.getRank(), 0)};
        std::optional<AffinePosition> product =
            add(zero, candidate, factor.constant);
        if (!product)
          return std::nullopt;
        if (!llvm::is_contained(scaled.candidates, *product))
          scaled.candidates.push_back(*product);
      }
    }
    if (std::optional<int64_t> number = getNumber(by); form.input && number)
      scaled.input = form.input->times(*number);
    return scaled;
  };
  auto asTruth = [&](PositionForm form) {
    PositionForm truth = getConstants(result, {0, 1});
    truth.hasUnknown = form.hasUnknown;
    truth.varies = std::move(form.varies);
    // Narrower integers may have wrapped around.
    if (llvm::none_of(op.getOperands(), [](Value operand) {
          unsigned width = getType(operand).getElementTypeBitWidth();
          return width > 1 && width < 32;
        }))
      truth.condition = getCondition(op.getFunction(), operands);
    return truth;
  };
  PositionForm zero = getConstants(result, 0);
  bool isTruth = type.getElementType().isInteger(1);
  std::optional<PositionForm> form;
  switch (op.getFunction()) {
  case MapFunction::Add:
    form = isTruth ? asTruth(unite(operands[0], operands[1])) : combine(1);
    break;
  case MapFunction::Sub:
    form = isTruth ? asTruth(unite(operands[0], operands[1])) : combine(-1);
    break;
  case MapFunction::Neg:
    form = scale(operands[0], getConstants(result, -1));
    break;
  case MapFunction::Mul:
    if (isTruth)
      return asTruth(unite(operands[0], operands[1]));
    form = scale(operands[0], operands[1]);
    if (!form)
      form = scale(operands[1], operands[0]);
    break;
  case MapFunction::Maximum:
  case MapFunction::Minimum:
    compare(result, operands[0], operands[1]);
    form = unite(operands[0], operands[1]);
    break;
  case MapFunction::Relu:
    compare(result, operands[0], zero);
    form = unite(operands[0], zero);
    break;
  case MapFunction::Abs:
    compare(result, operands[0], zero);
    if (std::optional<PositionForm> negated =
            scale(operands[0], getConstants(result, -1)))
      form = unite(operands[0], *negated);
    break;
  case MapFunction::Sign: {
    compare(result, operands[0], zero);
    PositionForm signs = getConstants(result, {-1, 0, 1});
    signs.varies = operands[0].varies;
    // Unknown values determine which candidate it is.
    signs.hasUnknown = operands[0].hasUnknown;
    signs.hasDerived = operands[0].hasDerived;
    form = signs;
    break;
  }
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    form = operands[0];
    break;
  case MapFunction::FloorDiv:
  case MapFunction::Remainder:
    form = divide(op, operands[0], operands[1]);
    break;
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define COMPARISON(Name, Mirrored, IfBelow, IfEqual, IfAbove, Aten)            \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
    compare(result, operands[0], operands[1]);
    return asTruth(unite(operands[0], operands[1]));
  case MapFunction::LogicalAnd:
  case MapFunction::LogicalOr:
  case MapFunction::LogicalNot: {
    PositionForm all = operands[0];
    for (auto [operand, own] : llvm::zip_equal(op.getOperands(), operands)) {
      // Returns true if an integer is zero.
      if (!getType(operand).getElementType().isInteger(1))
        compare(result, own, zero);
      all = unite(all, own);
    }
    return asTruth(std::move(all));
  }
  case MapFunction::BitwiseAnd:
  case MapFunction::BitwiseOr:
  case MapFunction::BitwiseXor:
  case MapFunction::BitwiseNot:
    if (isTruth)
      return asTruth(operands.size() == 2 ? unite(operands[0], operands[1])
                                          : operands[0]);
    break;
  case MapFunction::Select: {
    form = unite(operands[1], operands[2]);
    form->varies |= operands[0].varies;
    form->hasUnknown |= operands[0].hasUnknown && form->candidates.size() > 1;
    form->input = selectByInput(operands);
    break;
  }
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
    // Only the operands of the value are known.
    break;
  }
  if (!form || form->candidates.size() > maxCandidates)
    return derive(op);
  return *form;
}
