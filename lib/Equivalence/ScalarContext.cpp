//===- ScalarContext.cpp - choices and unknowns of an evaluation *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/ScalarContext.h"

#include "FieldFunctions.h"
#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace commute::equivalence;

//===----------------------------------------------------------------------===//
// FreeSemilattice
//===----------------------------------------------------------------------===//

llvm::ArrayRef<uint64_t>
FreeSemilattice::getMembers(const uint64_t &element) const {
  auto known = membersOf.find(element);
  return known == membersOf.end() ? llvm::ArrayRef(element)
                                  : llvm::ArrayRef(known->second);
}

std::vector<uint64_t>
FreeSemilattice::getAllMembers(llvm::ArrayRef<uint64_t> elements) const {
  std::vector<uint64_t> all;
  for (const uint64_t &element : elements)
    llvm::append_range(all, getMembers(element));
  llvm::sort(all);
  all.erase(llvm::unique(all), all.end());
  return all;
}

uint64_t FreeSemilattice::join(std::vector<uint64_t> members) {
  if (members.size() == 1)
    return members.front();
  uint64_t result = key;
  for (uint64_t member : members)
    result = PrimeField::mix(member, result);
  membersOf.try_emplace(result, std::move(members));
  return result;
}

//===----------------------------------------------------------------------===//
// ScalarContext
//===----------------------------------------------------------------------===//

namespace {
/// The difference of two elements, which determines both orders of them.
struct Distance {
  Distance(uint64_t a, uint64_t b) : value(PrimeField::subtract(b, a)) {
    uint64_t opposite = PrimeField::negate(value);
    isSwapped = opposite < value;
    if (isSwapped)
      value = opposite;
  }
  uint64_t value;
  bool isSwapped;
};
} // namespace

static constexpr uint64_t equalKey = 0x510e527fade682d1;
static constexpr uint64_t lessKey = 0x9b05688c2b3e6c1f;
static constexpr uint64_t positiveKey = 0x1b873593cc9e2d51;
static constexpr uint64_t nanKey = 0x1f83d9abfb41bd6b;
static constexpr uint64_t bitKey = 0x5be0cd19137e2179;
static constexpr uint64_t sortKey = 0xcbbb9d5dc1059ed8;

/// Any share of the bits differs from the others.
static constexpr unsigned anyShare = 0;
static constexpr unsigned numShifts = 8;

unsigned ScalarContext::getShift() const {
  static constexpr unsigned shifts[numShifts] = {1, 1, anyShare, 1,
                                                 4, 1, 6,        anyShare};
  return shifts[seed % numShifts];
}

bool ScalarContext::drawBit(uint64_t random) const {
  // In some rounds, nearly all bits are equal, so that counts, and whether any
  // or all of many hold, take both outcomes. In others, any share of the bits
  // differs, so that each count is as likely as any other.
  unsigned shift = getShift();
  uint64_t share = shift == anyShare
                       ? PrimeField::mix(bitKey, seed) >> 8 & 0xffffffff
                       : (uint64_t(1) << 32) >> shift;
  bool isRare = (random >> 8 & 0xffffffff) < share;
  return (seed / numShifts) % 2 == 0 ? isRare : !isRare;
}

uint64_t ScalarContext::drawTruth(uint64_t content) {
  chosen = true;
  uint64_t unknown = PrimeField::mix(content, bitKey + seed);
  if (choices != Choices::Sampled)
    return unknown;
  noteSampled();
  return drawBit(unknown);
}

std::optional<double> ScalarContext::getKnownNumber(uint64_t element) const {
  if (std::optional<double> noted = getNotedNumber(element))
    return noted;
  return PrimeField::toFraction(element);
}

std::optional<double> ScalarContext::getNumber(uint64_t element) const {
  if (std::optional<double> known = getKnownNumber(element))
    return known;
  if (auto drawn = drawnNumbers.find(element); drawn != drawnNumbers.end())
    return drawn->second;
  return std::nullopt;
}

int ScalarContext::drawOrder(uint64_t a, uint64_t b) {
  Distance distance(a, b);
  auto [known, isNew] = orders.try_emplace(distance.value);
  if (!isNew)
    return distance.isSwapped ? -known->second : known->second;
  uint64_t equality = PrimeField::mix(distance.value, equalKey);
  bool isEqual = drawTruth(equality) != 0;
  // Otherwise at most a quarter of all would be above, as many as below.
  if (getShift() == anyShare)
    isEqual &= (equality >> 8) % 16 == 0;
  // Draw the order that is met first, as that of a number and an unknown, so
  // that nearly all of many unknowns may be above the number.
  std::optional<double> first = getNumber(a), second = getNumber(b);
  bool isAbove = drawTruth(PrimeField::mix(distance.value, lessKey)) != 0;
  int order = isEqual ? 0 : isAbove == second.has_value() ? 1 : -1;
  if (first.has_value() != second.has_value()) {
    // Facts already known about an unknown limit its value.
    double number = first ? *first : *second;
    uint64_t unknown = first ? b : a;
    Range &range = drawnRanges[unknown];
    bool isDrawn = number > range.least && number < range.most;
    int orderOfUnknown = isDrawn                ? (first ? -order : order)
                         : number >= range.most ? -1
                                                : 1;
    if (orderOfUnknown == 0)
      drawnNumbers.try_emplace(unknown, number);
    else if (isDrawn)
      (orderOfUnknown < 0 ? range.most : range.least) = number;
    order = first ? -orderOfUnknown : orderOfUnknown;
  }
  known->second = distance.isSwapped ? -order : order;
  return order;
}

uint64_t ScalarContext::isEqual(uint64_t a, uint64_t b) {
  if (a == b)
    return 1;
  std::optional<double> first = getNumber(a), second = getNumber(b);
  if (first && second)
    return *first == *second;
  if (choices == Choices::Sampled)
    return drawOrder(a, b) == 0;
  return drawTruth(PrimeField::mix(Distance(a, b).value, equalKey));
}

uint64_t ScalarContext::isLess(uint64_t a, uint64_t b) {
  if (a == b)
    return 0;
  std::optional<double> first = getNumber(a), second = getNumber(b);
  if (first && second)
    return *first < *second;
  if (choices == Choices::Sampled)
    return drawOrder(a, b) < 0;
  // Exactly one of a < b, a == b and b < a holds, so the three add up to 1.
  Distance distance(a, b);
  uint64_t less = drawTruth(PrimeField::mix(distance.value, lessKey));
  return distance.isSwapped ? PrimeField::subtract(
                                  PrimeField::subtract(1, isEqual(a, b)), less)
                            : less;
}

uint64_t ScalarContext::isPositiveWhole(uint64_t a) {
  if (std::optional<double> known = getKnownNumber(a))
    return *known > 0;
  constexpr uint64_t small = uint64_t(1) << 45;
  if (hasFixedNumbers && (a < small || PrimeField::negate(a) < small))
    return a != 0 && a < small;
  // Either a or 1 - a is above zero.
  uint64_t other = PrimeField::subtract(1, a);
  uint64_t unknown =
      drawTruth(PrimeField::mix(std::min(a, other), positiveKey));
  return a < other ? unknown : PrimeField::subtract(1, unknown);
}

uint64_t ScalarContext::isWholeEqual(uint64_t a, uint64_t b) {
  if (choices == Choices::Sampled)
    return isEqual(a, b);
  // Above -1 but not above 0.
  uint64_t distance = PrimeField::subtract(b, a);
  return PrimeField::subtract(isPositiveWhole(PrimeField::add(distance, 1)),
                              isPositiveWhole(distance));
}

uint64_t ScalarContext::isWholeLess(uint64_t a, uint64_t b) {
  return choices == Choices::Sampled
             ? isLess(a, b)
             : isPositiveWhole(PrimeField::subtract(b, a));
}

bool ScalarContext::areAlike(uint64_t a, uint64_t b) const {
  if (a == b || orders.empty())
    return a == b;
  auto drawn = orders.find(Distance(a, b).value);
  if (drawn != orders.end() && drawn->second == 0)
    return true;
  std::optional<double> first = getNumber(a), second = getNumber(b);
  return first && second && *first == *second;
}

bool ScalarContext::isNegative(uint64_t element) const {
  if (std::optional<double> known = getKnownNumber(element))
    return *known < 0;
  auto opposite = numbers.find(PrimeField::negate(element));
  return opposite != numbers.end() && opposite->second > 0;
}

uint64_t ScalarContext::isNan(uint64_t a) {
  return drawTruth(PrimeField::mix(a, nanKey));
}

ScalarContext::Range ScalarContext::getRange(uint64_t element) const {
  auto known = ranges.find(element);
  return known == ranges.end() ? Range() : known->second;
}

void ScalarContext::noteRange(uint64_t element, Range range) {
  Range &known = ranges[element];
  known.least = std::max(known.least, range.least);
  known.most = std::min(known.most, range.most);
}

std::optional<double> ScalarContext::dropBounded(std::vector<uint64_t> &members,
                                                 bool isMaximum) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // Minima are maxima of the opposite numbers.
  std::optional<uint64_t> extreme;
  double number = -infinity;
  std::vector<uint64_t> unknowns;
  for (uint64_t member : members) {
    std::optional<double> known = getKnownNumber(member);
    if (!known || std::isnan(*known)) {
      unknowns.push_back(member);
      continue;
    }
    double own = isMaximum ? *known : -*known;
    if (own > number || !extreme) {
      number = own;
      extreme = member;
    }
  }
  if (!extreme)
    return std::nullopt;
  std::erase_if(unknowns, [&](uint64_t member) {
    double outer = getRange(member).getOuter(isMaximum);
    return outer <= number && outer < infinity;
  });
  double inner = -infinity;
  for (uint64_t member : unknowns)
    inner = std::max(inner, getRange(member).getInner(isMaximum));
  members = std::move(unknowns);
  // No unknown is always beyond the number. Minus infinity bounds nothing.
  if (!members.empty() && inner >= number)
    return std::nullopt;
  members.insert(llvm::upper_bound(members, *extreme), *extreme);
  return isMaximum ? number : -number;
}

uint64_t ScalarContext::getExtreme(llvm::ArrayRef<uint64_t> elements,
                                   bool isMaximum) {
  FreeSemilattice &extremes = isMaximum ? maxima : minima;
  std::vector<uint64_t> members = extremes.getAllMembers(elements);
  std::optional<double> number = dropBounded(members, isMaximum);
  if (number && members.size() == 1)
    return members.front();
  chosen = true;
  Range range;
  if (number)
    (isMaximum ? range.least : range.most) = *number;
  for (uint64_t member : members) {
    Range own = getRange(member);
    if (isMaximum)
      range.least = std::max(range.least, own.least);
    else
      range.most = std::min(range.most, own.most);
  }
  uint64_t result = extremes.join(std::move(members));
  if (range != Range())
    noteRange(result, range);
  if (isMaximum && !llvm::is_contained(elements, result))
    logarithms.noteMaximum(result);
  return result;
}

uint64_t ScalarContext::bound(uint64_t a, uint64_t b, bool isBelow) {
  if (choices != Choices::Sampled)
    return findBound(a, b, isBelow);
  // A bound does not change after it is drawn, whatever is learned about both
  // elements later.
  uint64_t key = PrimeField::mix(
      std::min(a, b), PrimeField::mix(std::max(a, b), isBelow ? 1 : 2));
  auto known = drawnBounds.find(key);
  if (known != drawnBounds.end())
    return known->second;
  uint64_t result = findBound(a, b, isBelow);
  drawnBounds.try_emplace(key, result);
  return result;
}

uint64_t ScalarContext::findBound(uint64_t a, uint64_t b, bool isBelow) {
  if (getNumber(a))
    std::swap(a, b);
  std::optional<double> known = getNumber(b);
  if (!known)
    return boundUnknown(a, b, isBelow);
  double number = *known;
  Range range = getRange(a);
  if (std::optional<double> other = getNumber(a))
    range = {*other, *other};
  // The value is already on one side of the bound.
  if (isBelow ? range.least >= number : range.most <= number)
    return a;
  if (isBelow ? range.most <= number : range.least >= number)
    return b;
  uint64_t result = boundUnknown(a, b, isBelow);
  (isBelow ? range.least : range.most) = number;
  // An operand that was selected by a draw keeps the facts known about it.
  if (result != a && result != b)
    noteRange(result, range);
  return result;
}

uint64_t ScalarContext::boundUnknown(uint64_t a, uint64_t b, bool isBelow) {
  chosen = true;
  bounded |= constants.contains(a) || constants.contains(b);
  // The minimum of b and of the maximum of b and others is b.
  const FreeSemilattice &others = isBelow ? minima : maxima;
  if (others.contains(a, b))
    return b;
  if (others.contains(b, a))
    return a;
  if (constants.contains(a))
    std::swap(a, b);
  // If none of the values is a bound, the order is as good as unknown.
  if (choices == Choices::Symbolic || !constants.contains(b) ||
      constants.contains(a))
    return getExtreme({a, b}, isBelow);
  uint64_t isKept;
  if (choices == Choices::SymbolicClosedBounds)
    isKept = PrimeField::subtract(1, isBelow ? isLess(a, b) : isLess(b, a));
  else
    isKept = isBelow ? isLess(b, a) : isLess(a, b);
  return PrimeField::add(
      b, PrimeField::multiply(isKept, PrimeField::subtract(a, b)));
}

double ScalarContext::getSortKey(uint64_t element) {
  // Outcomes of comparisons are not used, because one program may sort before
  // it compares, and the other afterwards.
  if (std::optional<double> number = getKnownNumber(element))
    return std::isnan(*number) ? std::numeric_limits<double>::infinity()
                               : *number;
  noteSampled();
  sorted = true;
  // On both sides of a program's constants, near zero and far away.
  uint64_t random = PrimeField::mix(element, sortKey + seed);
  // Elements have 61 bits, whatever the modulus.
  double unit = static_cast<double>(random >> 8) * 0x1p-52 - 1;
  return unit / (1.0 + 0x1p-20 - std::abs(unit));
}

uint64_t ScalarContext::getElement(double number) {
  auto [known, isNew] =
      elements.try_emplace(std::bit_cast<uint64_t>(number), 0);
  if (isNew)
    known->second = PrimeField::fromDouble(number);
  return known->second;
}

bool ScalarContext::toBit(uint64_t truth) {
  if (truth <= 1)
    return truth == 1;
  noteSampled();
  // A truth value and its negation are opposite bits. Draw the one that is met
  // first.
  uint64_t opposite = PrimeField::subtract(1, truth);
  bool isNegated = opposite < truth;
  auto [bit, isNew] = bits.try_emplace(isNegated ? opposite : truth);
  if (isNew) {
    uint64_t random = PrimeField::mix(truth, bitKey ^ seed);
    bool isRare = static_cast<uint32_t>(random) < rareShare;
    bit->second = (usual != isRare) != isNegated;
  }
  return bit->second != isNegated;
}

void ScalarContext::beginOp(size_t numElements, size_t numRanks) {
  // Counts of bits, and whether any, all or exactly one of them hold, must take
  // every outcome. Drawing the probability for each op, and not for each round,
  // allows two ops of a round to take different outcomes.
  uint64_t random = PrimeField::mix(++numOps, bitKey + seed);
  usual = random & 1;
  auto getLog = [](size_t count) {
    return std::clamp(llvm::Log2_64_Ceil(count), 1u, 32u);
  };
  constexpr uint64_t all = uint64_t(1) << 32;
  switch ((random >> 1) % 8) {
  case 0:
    rareShare = 0;
    break;
  case 1:
  case 2:
    rareShare = all / 2;
    break;
  case 3:
  case 4:
    // Every count occurs as often as any other.
    rareShare = (random >> 8) % all;
    break;
  case 5:
    rareShare = all >> getLog(std::max<size_t>(numElements, 1));
    break;
  default:
    rareShare =
        all >> (1 + (random >> 8) %
                        getLog(std::max<size_t>(numElements * numRanks, 1)));
  }
}

int64_t ScalarContext::drawInteger(uint64_t content, mlir::Type type) const {
  uint64_t choice = PrimeField::mix(content, bitKey + 2 * seed + 1);
  return static_cast<int64_t>(
      pool.draw(choice, content,
                IntegerPool::choose(seed, bitKey, /*isListed=*/false), type));
}
