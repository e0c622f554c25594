//===- SymbolicSizes.cpp - what is known of symbolic sizes ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Sizes/SymbolicSizes.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/Support/CheckedArithmetic.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::SizeAssumption;

using Assumptions = ArrayRef<const SizeAssumption *>;

/// Divisors above this say no more than those below it: groups are small.
static int64_t multiplyDivisors(int64_t a, int64_t b) {
  return llvm::checkedMul(a, b).value_or(std::max(a, b));
}

static int64_t getCommonMultiple(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  return multiplyDivisors(a / std::gcd(a, b), b);
}

namespace {
/// The largest number that is known to divide an expression; 0 divides nothing
/// but 0.
class KnownDivisor {
public:
  KnownDivisor(ArrayRef<StringAttr> names, Assumptions assumptions)
      : names(names), assumptions(assumptions) {}

  int64_t get(AffineExpr expression) const {
    if (std::optional<int64_t> constant = tp::getConstant(expression))
      return *constant == std::numeric_limits<int64_t>::min()
                 ? 1
                 : std::abs(*constant);
    if (std::optional<tp::Monomial> product = tp::getMonomial(expression))
      return getOfProduct(*product);
    auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
    if (!binary)
      return 1;
    int64_t lhs = get(binary.getLHS());
    std::optional<int64_t> by = tp::getConstant(binary.getRHS());
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return std::gcd(lhs, get(binary.getRHS()));
    case AffineExprKind::Mul:
      return multiplyDivisors(lhs, get(binary.getRHS()));
    case AffineExprKind::Mod:
      return by && *by > 0 ? std::gcd(lhs, *by) : 1;
    case AffineExprKind::FloorDiv:
    case AffineExprKind::CeilDiv:
      return by && *by > 0 && lhs % *by == 0 ? lhs / *by : 1;
    default:
      return 1;
    }
  }

private:
  int64_t getOfProduct(const tp::Monomial &product) const {
    if (product.coefficient == std::numeric_limits<int64_t>::min())
      return 1;
    SmallVector<std::string> symbols;
    int64_t divisor = std::abs(product.coefficient);
    for (unsigned position : product.symbols) {
      StringRef name =
          position < names.size() ? names[position].getValue() : StringRef();
      symbols.push_back(name.str());
      int64_t own = 1;
      for (const SizeAssumption *assumption : assumptions)
        if (assumption->symbols.size() == 1 &&
            assumption->symbols.front() == name &&
            (assumption->kind == SizeAssumption::Kind::MultipleOf ||
             assumption->kind == SizeAssumption::Kind::Equal))
          own = getCommonMultiple(own, assumption->number);
      divisor = multiplyDivisors(divisor, own);
    }
    llvm::sort(symbols);
    // An assumption about a product says nothing about its factors, so its
    // divisor cannot be multiplied with theirs; take the least common multiple.
    for (const SizeAssumption *assumption : assumptions)
      if (assumption->symbols.size() > 1 &&
          std::includes(symbols.begin(), symbols.end(),
                        assumption->symbols.begin(), assumption->symbols.end()))
        divisor = getCommonMultiple(
            divisor, multiplyDivisors(std::abs(product.coefficient),
                                      assumption->number));
    return divisor;
  }

  ArrayRef<StringAttr> names;
  Assumptions assumptions;
};
} // namespace

llvm::Expected<SymbolicSizes> SymbolicSizes::resolve(ModuleOp module) {
  SymbolicSizes result;
  if (auto stated =
          module->getAttrOfType<ArrayAttr>(tp::TPDialect::assumptionsAttrName))
    for (StringAttr text : stated.getAsRange<StringAttr>()) {
      llvm::Expected<SizeAssumption> assumption =
          tp::parseSizeAssumption(text.getValue());
      if (!assumption)
        return assumption.takeError();
      result.assumptions.push_back(std::move(*assumption));
    }
  if (auto hints = module->getAttrOfType<DictionaryAttr>(
          tp::TPDialect::symbolHintsAttrName))
    for (NamedAttribute hint : hints)
      if (auto value = dyn_cast<IntegerAttr>(hint.getValue()))
        result.valuesAtCapture[hint.getName().getValue()] = value.getInt();
  if (llvm::Error error = result.checkConsistency())
    return std::move(error);
  return result;
}

std::optional<int64_t> SymbolicSizes::findValue(StringRef symbol,
                                                int64_t start) const {
  int64_t step = 1;
  int64_t lowest = start;
  int64_t highest = std::numeric_limits<int64_t>::max();
  for (const SizeAssumption &assumption : assumptions) {
    if (assumption.symbols.size() > 1 || assumption.symbols.front() != symbol)
      continue;
    switch (assumption.kind) {
    case SizeAssumption::Kind::MultipleOf:
      step = getCommonMultiple(step, assumption.number);
      break;
    case SizeAssumption::Kind::Equal:
      lowest = std::max(lowest, assumption.number);
      highest = std::min(highest, assumption.number);
      break;
    case SizeAssumption::Kind::AtLeast:
      lowest = std::max(lowest, assumption.number);
      break;
    case SizeAssumption::Kind::AtMost:
      highest = std::min(highest, assumption.number);
      break;
    }
  }
  std::optional<int64_t> value = llvm::checkedAdd(lowest, step - 1);
  if (!value || *value / step * step > highest)
    return std::nullopt;
  return *value / step * step;
}

llvm::Error SymbolicSizes::checkConsistency() const {
  for (const SizeAssumption &assumption : assumptions)
    for (const std::string &symbol : assumption.symbols)
      if (!findValue(symbol, 0))
        return llvm::createStringError("no value of " + symbol +
                                       " satisfies all assumptions about it "
                                       "('" +
                                       assumption.text + "')");
  return llvm::Error::success();
}

bool SymbolicSizes::knows(StringRef symbol) const {
  return valuesAtCapture.contains(symbol) ||
         llvm::any_of(assumptions, [&](const SizeAssumption &assumption) {
           return llvm::is_contained(assumption.symbols, symbol);
         });
}

int64_t SymbolicSizes::getExample(StringRef symbol) const {
  // A data-dependent size has no value at capture; use an arbitrary one.
  constexpr int64_t anySize = 16;
  auto known = valuesAtCapture.find(symbol);
  int64_t start = known == valuesAtCapture.end() ? anySize : known->second;
  if (std::optional<int64_t> value = findValue(symbol, start))
    return *value;
  // Otherwise a smaller value satisfies the assumptions; checkConsistency
  // ensured that one exists.
  return findValue(symbol, 1).value_or(0);
}

Divisibility SymbolicSizes::isDivisible(RankedTensorType type, unsigned dim,
                                        int64_t divisor) const {
  tp::SymbolSpace space(type.getContext());
  tp::Sizes sizes = space.getSizes(type);
  return isDivisible(sizes[dim], space.getNames(), divisor);
}

Divisibility SymbolicSizes::isDivisible(const tp::Size &size,
                                        ArrayRef<StringAttr> names,
                                        int64_t divisor) const {
  if (!size)
    return {};
  if (std::optional<int64_t> constant = tp::getConstant(size))
    return {*constant % divisor == 0 ? Divisibility::Proved
                                     : Divisibility::Refuted,
            {}};
  auto holds = [&](Assumptions made) {
    return KnownDivisor(names, made).get(size.getSymbolic()) % divisor == 0;
  };
  if (holds({}))
    return {Divisibility::Proved, {}};
  SmallVector<const SizeAssumption *> needed;
  for (const SizeAssumption &assumption : assumptions)
    needed.push_back(&assumption);
  if (!holds(needed))
    return {};
  // Drop the assumptions that the proof does not need.
  for (size_t index = needed.size(); index-- > 0;) {
    const SizeAssumption *candidate = needed[index];
    needed.erase(needed.begin() + index);
    if (!holds(needed))
      needed.insert(needed.begin() + index, candidate);
  }
  Divisibility result{Divisibility::Assumed, {}};
  for (const SizeAssumption *assumption : needed)
    result.assumptions.push_back(assumption->text);
  return result;
}
