//===- PositionNumbers.cpp - numbers that indices meet ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Thresholds.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

std::optional<std::pair<int64_t, int64_t>>
AffinePosition::getRange(ArrayRef<int64_t> sizes) const {
  int64_t low = constant, high = constant;
  for (auto [k, size] : llvm::zip_equal(coefficients, sizes)) {
    int64_t reach, &end = k < 0 ? low : high;
    if (llvm::MulOverflow(k, std::max<int64_t>(size - 1, 0), reach) ||
        llvm::AddOverflow(end, reach, end))
      return std::nullopt;
  }
  return std::pair(low, high);
}

std::optional<int64_t> InputFunction::evaluate(int64_t element) const {
  for (const Exception &exception : exceptions)
    if (exception.elements.contains(element))
      return exception.number;
  int64_t numerator;
  if (llvm::MulOverflow(factor, element, numerator) ||
      llvm::AddOverflow(numerator, offset, numerator))
    return std::nullopt;
  return llvm::divideFloorSigned(numerator, divisor);
}

std::optional<int64_t> InputFunction::findLeast(int64_t least) const {
  int64_t numerator;
  if (llvm::MulOverflow(least, divisor, numerator) ||
      llvm::SubOverflow(numerator, offset, numerator))
    return std::nullopt;
  return llvm::divideCeilSigned(numerator, factor);
}

std::optional<InputFunction> InputFunction::plus(int64_t number) const {
  InputFunction result = *this;
  int64_t term;
  if (llvm::MulOverflow(number, divisor, term) ||
      llvm::AddOverflow(offset, term, result.offset))
    return std::nullopt;
  for (Exception &exception : result.exceptions)
    if (llvm::AddOverflow(exception.number, number, exception.number))
      return std::nullopt;
  return result;
}

std::optional<InputFunction> InputFunction::times(int64_t number) const {
  InputFunction result = *this;
  if (number < 1 || divisor != 1 ||
      llvm::MulOverflow(factor, number, result.factor) ||
      llvm::MulOverflow(offset, number, result.offset))
    return std::nullopt;
  for (Exception &exception : result.exceptions)
    if (llvm::MulOverflow(exception.number, number, exception.number))
      return std::nullopt;
  return result;
}

std::optional<InputFunction> InputFunction::dividedBy(int64_t number) const {
  InputFunction result = *this;
  if (number < 1 || llvm::MulOverflow(divisor, number, result.divisor))
    return std::nullopt;
  for (Exception &exception : result.exceptions)
    exception.number = llvm::divideFloorSigned(exception.number, number);
  return result;
}

InputFunction InputFunction::except(const IntegerUnion &elements,
                                    int64_t number) const {
  InputFunction result = *this;
  IntegerUnion others = elements.getComplement();
  for (Exception &exception : result.exceptions)
    exception.elements = exception.elements.intersect(others);
  result.exceptions.push_back({elements, number});
  llvm::erase_if(result.exceptions, [](const Exception &exception) {
    return exception.elements.isEmpty();
  });
  return result;
}

std::optional<IntegerUnion>
InputFunction::getPreimage(const IntegerUnion &numbers) const {
  const IntegerUnion all = IntegerUnion::getAll();
  IntegerUnion result;
  for (auto [low, high] : numbers.getIntervals()) {
    // No number is beyond the ends of the set of all integers.
    std::optional<int64_t> first = low == all.getFirst() ? low : findLeast(low);
    std::optional<int64_t> end = high == all.getEnd() ? high : findLeast(high);
    if (!first || !end)
      return std::nullopt;
    result = result.unite({*first, *end});
  }
  for (const Exception &exception : exceptions)
    result = numbers.contains(exception.number)
                 ? result.unite(exception.elements)
                 : result.intersect(exception.elements.getComplement());
  return result;
}

PositionForm PositionFinder::getConstants(Value value,
                                          ArrayRef<int64_t> numbers) {
  PositionForm form;
  int64_t rank = getType(value).getRank();
  for (int64_t number : numbers)
    form.candidates.push_back({number, SmallVector<int64_t, 4>(rank, 0)});
  form.varies.resize(rank);
  return form;
}

PositionForm PositionFinder::getUnknown(Value value) {
  PositionForm form = getConstants(value, 0);
  form.hasUnknown = true;
  return form;
}

const PositionForm &PositionFinder::get(Value value) {
  auto [it, isNew] = forms.try_emplace(value);
  if (isNew)
    it->second = isFollowed(value) ? getUnknown(value) : PositionForm();
  return it->second;
}

void PositionFinder::keepVarying(Value value, const PositionForm &form) {
  for (unsigned dim : form.varies.set_bits())
    listener.onUnknownUse(value, dim);
}

PositionForm PositionFinder::unite(const PositionForm &a,
                                   const PositionForm &b) {
  PositionForm result = a;
  for (const AffinePosition &candidate : b.candidates)
    if (!llvm::is_contained(result.candidates, candidate))
      result.candidates.push_back(candidate);
  result.hasUnknown |= b.hasUnknown;
  result.hasDerived |= b.hasDerived;
  result.varies |= b.varies;
  result.input.reset();
  result.condition.reset();
  return result;
}

PositionForm PositionFinder::broadcast(Value operand, RankedTensorType type) {
  PositionForm form = get(operand);
  auto own = getType(operand);
  unsigned rank = type.getRank(), shift = rank - own.getRank();
  for (AffinePosition &candidate : form.candidates) {
    SmallVector<int64_t, 4> coefficients(rank, 0);
    for (unsigned dim = 0; dim < own.getRank(); ++dim)
      if (own.getDimSize(dim) != 1)
        coefficients[dim + shift] = candidate.coefficients[dim];
    candidate.coefficients = std::move(coefficients);
  }
  llvm::SmallBitVector varies(rank);
  for (unsigned dim : form.varies.set_bits())
    varies.set(dim + shift);
  form.varies = std::move(varies);
  return form;
}

namespace {
/// Two dims whose indices are the digits of one of a merged dim, and the
/// coefficient of that.
struct Digits {
  unsigned major, minor;
  int64_t coefficient;
};
} // namespace

static std::optional<Digits>
findDigits(ArrayRef<std::pair<unsigned, int64_t>> terms,
           ArrayRef<int64_t> sizes) {
  for (auto [major, minor] : {std::pair(0, 1), std::pair(1, 0)}) {
    int64_t merged;
    if (!llvm::MulOverflow(terms[minor].second, sizes[terms[minor].first],
                           merged) &&
        terms[major].second == merged)
      return Digits{terms[major].first, terms[minor].first,
                    terms[minor].second};
  }
  return std::nullopt;
}

void PositionFinder::compare(Value value, const PositionForm &a,
                             const PositionForm &b) {
  bool hasUnknown = a.hasUnknown || b.hasUnknown;
  if (a.candidates.size() * b.candidates.size() > maxPairs) {
    keepVarying(value, a);
    keepVarying(value, b);
    return;
  }
  ArrayRef<int64_t> sizes = getType(value).getShape();
  for (const AffinePosition &x : a.candidates)
    for (const AffinePosition &y : b.candidates) {
      SmallVector<std::pair<unsigned, int64_t>> terms;
      for (unsigned dim = 0; dim < sizes.size(); ++dim)
        if (int64_t k = x.coefficients[dim] - y.coefficients[dim];
            k != 0 && sizes[dim] > 1)
          terms.push_back({dim, k});
      int64_t constant =
          static_cast<int64_t>(static_cast<uint64_t>(x.constant) -
                               static_cast<uint64_t>(y.constant));
      if (terms.empty()) {
        if (hasUnknown) {
          listener.onNumber(constant);
          listener.onNumber(-static_cast<uint64_t>(constant));
        }
        continue;
      }
      if (a.hasDerived || b.hasDerived || terms.size() > 2) {
        for (auto [dim, k] : terms)
          listener.onUnknownUse(value, dim);
      } else if (hasUnknown) {
        for (auto [dim, k] : terms)
          listener.onMetByUnknown(value, dim);
      } else if (terms.size() == 1) {
        // The sign changes at one place; equality may hold at one index.
        auto [dim, k] = terms.front();
        if (constant == std::numeric_limits<int64_t>::min())
          continue;
        int64_t root = llvm::divideFloorSigned(-constant, k);
        listener.onCut(value, dim, root);
        listener.onCut(value, dim, root + 1);
        listener.onCut(value, dim, root + 2);
      } else if (auto digits = findDigits(terms, sizes)) {
        // The index of the merged dim at which the sign changes.
        auto [major, minor, k] = *digits;
        if (constant == std::numeric_limits<int64_t>::min())
          continue;
        int64_t root = llvm::divideFloorSigned(-constant, k);
        for (int64_t index : {root, root + 1}) {
          int64_t high = llvm::divideFloorSigned(index, sizes[minor]);
          int64_t low = index - high * sizes[minor];
          for (int64_t next : {0, 1}) {
            listener.onCut(value, major, high + next);
            listener.onCut(value, minor, low + next);
          }
        }
      } else {
        listener.onDiagonal(value, terms[0].first, value, terms[1].first,
                            terms[0].second, terms[1].second, constant);
      }
    }
}

PositionForm PositionFinder::derive(Operation *op) {
  Value result = op->getResult(0);
  PositionForm form = getConstants(result, 0);
  form.hasDerived = true;
  for (Value operand : op->getOperands()) {
    if (!isFollowed(operand))
      continue;
    const PositionForm &own = get(operand);
    form.hasUnknown |= own.hasUnknown;
    keepVarying(operand, own);
  }
  return form;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Returns true if all integers of a form are in the range of a type.
static bool fits(const PositionForm &form, ArrayRef<int64_t> sizes,
                 IntegerType type) {
  if (type.getWidth() >= 32)
    return true;
  int64_t limit = int64_t(1) << (type.getWidth() - !type.isUnsigned());
  for (const AffinePosition &candidate : form.candidates) {
    auto range = candidate.getRange(sizes);
    if (!range || range->first < (type.isUnsigned() ? 0 : -limit) ||
        range->second >= limit)
      return false;
  }
  return !form.hasDerived;
}

void PositionFinder::visit(Operation *op) {
  if (auto triangular = dyn_cast<tp::TriangularOp>(op)) {
    unsigned last = getType(triangular.getResult()).getRank() - 1;
    // column - row is compared with the diagonal.
    listener.onDiagonal(triangular.getResult(), last, triangular.getResult(),
                        last - 1, 1, -1,
                        -static_cast<int64_t>(triangular.getDiagonal()));
    if (isFollowed(triangular.getResult())) {
      PositionForm form = unite(get(triangular.getInput()),
                                getConstants(triangular.getResult(), 0));
      form.varies.set(last);
      form.varies.set(last - 1);
      forms[triangular.getResult()] = std::move(form);
    }
    return;
  }
  if (auto indexing = dyn_cast<tp::IndexingOpInterface>(op))
    visitIndexing(indexing);
  if (auto map = dyn_cast<tp::MapOp>(op)) {
    if (!isFollowed(map.getResult()))
      return;
    PositionForm form = evaluateMap(map);
    auto type = cast<IntegerType>(getType(map.getResult()).getElementType());
    // Arithmetic in narrow types wraps around.
    if (type.getWidth() > 1 && !form.hasUnknown &&
        !fits(form, getType(map.getResult()).getShape(), type))
      form = derive(op);
    forms[map.getResult()] = std::move(form);
    return;
  }
  if (op->getNumResults() == 0 || !llvm::any_of(op->getResults(), isFollowed))
    return;
  // Opaque ops and uninitialized memory.
  if (!isMemoryEffectFree(op))
    return;
  Value result = op->getResult(0);
  PositionForm form =
      TypeSwitch<Operation *, PositionForm>(op)
          .Case([&](tp::ConstantOp constant) {
            auto number = dyn_cast<IntegerAttr>(constant.getValue());
            if (!number)
              return getUnknown(result);
            return getConstants(result, number.getType().isInteger(1)
                                            ? number.getValue().getBoolValue()
                                            : number.getValue().getSExtValue());
          })
          .Case([&](tp::IotaOp iota) {
            auto start = dyn_cast<IntegerAttr>(iota.getStart());
            auto step = dyn_cast<IntegerAttr>(iota.getStep());
            if (!start || !step)
              return getUnknown(result);
            PositionForm form = getConstants(result, start.getInt());
            form.candidates[0].coefficients[0] = step.getInt();
            form.varies.set(0);
            return form;
          })
          .Case([&](tp::CastOp cast) {
            auto from = dyn_cast<IntegerType>(
                getType(cast.getInput()).getElementType());
            auto to = mlir::cast<IntegerType>(getType(result).getElementType());
            if (!from)
              return getUnknown(result);
            const PositionForm own = get(cast.getInput());
            if (to.getWidth() == 1) {
              compare(result, own, getConstants(result, 0));
              PositionForm truth = getConstants(result, {0, 1});
              truth.hasUnknown = own.hasUnknown;
              truth.varies = own.varies;
              return truth;
            }
            if (own.hasUnknown && to.getWidth() < 32) {
              // Where it wraps around.
              int64_t limit = int64_t(1) << to.getWidth();
              for (int64_t number : {limit, limit / 2, -limit / 2})
                listener.onNumber(number);
              PositionForm form = own;
              form.input.reset();
              return form;
            }
            if (!fits(own, getType(result).getShape(), to))
              return derive(op);
            PositionForm form = own;
            form.condition.reset();
            return form;
          })
          .Case([&](tp::TakeOp take) { return evaluateTake(take); })
          .Case([&](tp::RowwiseOp rowwise) {
            const PositionForm own = get(rowwise.getInput());
            auto dim = static_cast<unsigned>(rowwise.getDim());
            bool isNumber = own.candidates.size() == 1 &&
                            own.candidates[0].isConstant() && !own.hasDerived;
            // Prefix sums of equal numbers, or of external integers.
            if (rowwise.getFunction() == tp::RowFunction::CumulativeSum &&
                isNumber && own.varies.none()) {
              if (own.hasUnknown)
                return getUnknown(result);
              PositionForm form = own;
              form.candidates[0].coefficients[dim] = own.candidates[0].constant;
              form.varies.set(dim);
              return form;
            }
            return derive(op);
          })
          .Case([&](tp::ReduceOp reduce) {
            const PositionForm &own = get(reduce.getInput());
            bool keepsVarying = false;
            for (unsigned dim : own.varies.set_bits())
              keepsVarying |= !llvm::is_contained(reduce.getDims(),
                                                  static_cast<int64_t>(dim));
            if (keepsVarying)
              return derive(op);
            PositionForm form = getConstants(result, 0);
            form.hasDerived = true;
            form.hasUnknown = own.hasUnknown;
            return form;
          })
          .Case([&](tp::AllReduceOp reduce) {
            const PositionForm &own = get(reduce.getInput());
            if (own.varies.any())
              return derive(op);
            PositionForm form = getConstants(result, 0);
            form.hasDerived = !own.hasUnknown;
            form.hasUnknown = own.hasUnknown;
            return form;
          })
          .Default([&](Operation *) { return moveDims(op); });
  forms[result] = std::move(form);
}

void PositionFinder::visit(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (isFollowed(argument)) {
      PositionForm form = getUnknown(argument);
      form.input = InputFunction{argument.getArgNumber()};
      forms[argument] = std::move(form);
    }
  for (Operation &op : function.getBody().front()) {
    TypeSwitch<Operation *>(&op).Case<tp::AttentionOp, tp::AttentionBackwardOp>(
        [&](auto attention) {
          auto getLength = [](Value value) {
            return static_cast<unsigned>(getType(value).getRank() - 2);
          };
          Value key = attention.getKey(), query = attention.getQuery();
          if (attention.getIsCausal())
            listener.onDiagonal(key, getLength(key), query, getLength(query), 1,
                                -1, 0);
        });
    // Rows are compared with offsets.
    if (auto grouped = dyn_cast<tp::GroupedMatmulOp>(op);
        grouped && get(grouped.getOffsets()).hasUnknown)
      listener.onMetByUnknown(grouped.getLhs(),
                              grouped.groupsContraction() ? 1 : 0);
    visit(&op);
  }
}

PositionNumbers::PositionNumbers(func::FuncOp function,
                                 PositionListener &listener)
    : function(function), listener(listener),
      positions(std::make_unique<PositionFinder>(listener)) {
  positions->visit(function);
  ThresholdFinder thresholds(*positions, listener);
  thresholds.visit(function);
  hasComputedIndices = thresholds.foundComputedIndices();
}

PositionNumbers::~PositionNumbers() = default;

void PositionNumbers::visitTables() {
  if (hasComputedIndices)
    ThresholdFinder(*positions, listener).visit(function);
}
