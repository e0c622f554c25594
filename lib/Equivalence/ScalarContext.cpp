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
  if (ordersByKeys) {
    double first = getSortKey(a), second = getSortKey(b);
    return first < second ? -1 : first > second;
  }
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
  Range range;
  if (ranges.empty())
    return range;
  if (auto known = ranges.find(element); known != ranges.end())
    range = known->second;
  if (auto known = ranges.find(PrimeField::negate(element));
      known != ranges.end()) {
    range.least = std::max(range.least, -known->second.most);
    range.most = std::min(range.most, -known->second.least);
  }
  return range;
}

void ScalarContext::noteRange(uint64_t element, Range range) {
  Range &known = ranges[element];
  known.least = std::max(known.least, range.least);
  known.most = std::min(known.most, range.most);
}

std::optional<double>
ScalarContext::dropBounded(std::vector<uint64_t> &members) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::optional<uint64_t> extreme;
  double number = -infinity;
  std::vector<uint64_t> unknowns;
  for (uint64_t member : members) {
    std::optional<double> known = getKnownNumber(member);
    if (!known || std::isnan(*known)) {
      unknowns.push_back(member);
      continue;
    }
    if (*known > number || !extreme) {
      number = *known;
      extreme = member;
    }
  }
  if (!extreme)
    return std::nullopt;
  std::erase_if(unknowns, [&](uint64_t member) {
    double most = getRange(member).most;
    return most <= number && most < infinity;
  });
  double least = -infinity;
  for (uint64_t member : unknowns)
    least = std::max(least, getRange(member).least);
  members = std::move(unknowns);
  // No unknown is always beyond the number. Minus infinity bounds nothing.
  if (!members.empty() && least >= number)
    return std::nullopt;
  members.insert(llvm::upper_bound(members, *extreme), *extreme);
  return number;
}

void ScalarContext::dropMinima(std::vector<uint64_t> &members) const {
  if (members.size() < 2)
    return;
  std::vector<uint64_t> kept;
  for (uint64_t member : members) {
    uint64_t opposite = PrimeField::negate(member);
    llvm::ArrayRef<uint64_t> own = maxima.getMembers(opposite);
    bool isMinimum =
        own.size() > 1 && llvm::any_of(own, [&](uint64_t element) {
          return llvm::binary_search(members, PrimeField::negate(element));
        });
    if (!isMinimum)
      kept.push_back(member);
  }
  members = std::move(kept);
}

uint64_t ScalarContext::getExtreme(llvm::ArrayRef<uint64_t> elements,
                                   bool isMaximum) {
  if (!isMaximum) {
    std::vector<uint64_t> opposites;
    for (uint64_t element : elements)
      opposites.push_back(PrimeField::negate(element));
    return PrimeField::negate(getExtreme(opposites, true));
  }
  std::vector<uint64_t> members = maxima.getAllMembers(elements);
  if (ordersByKeys) {
    chosen = true;
    return *llvm::max_element(members, [&](uint64_t a, uint64_t b) {
      return getSortKey(a) < getSortKey(b);
    });
  }
  dropMinima(members);
  std::optional<double> number = dropBounded(members);
  if (number && members.size() == 1)
    return members.front();
  chosen = true;
  Range range;
  if (number)
    range.least = *number;
  for (uint64_t member : members)
    range.least = std::max(range.least, getRange(member).least);
  auto isPaired = [&](uint64_t member) {
    return llvm::binary_search(members, PrimeField::negate(member));
  };
  // Other members are numbers, of which there is at most one.
  bool isMagnitude =
      llvm::any_of(llvm::ArrayRef(members).take_front(2), [&](uint64_t member) {
        return member != 0 && isPaired(member);
      });
  uint64_t result = maxima.join(std::move(members));
  if (isMagnitude) {
    range.least = std::max(range.least, 0.0);
    magnitudes.note(result);
  }
  if (range != Range())
    noteRange(result, range);
  if (!llvm::is_contained(elements, result))
    logarithms.noteMaximum(result);
  return result;
}

uint64_t ScalarContext::getAbsolute(uint64_t a) {
  if (std::optional<double> known = getKnownNumber(a))
    return *known < 0 ? PrimeField::negate(a) : a;
  Range range = getRange(a);
  if (range.least >= 0)
    return a;
  if (range.most <= 0)
    return PrimeField::negate(a);
  // In the other models, the choice of a program that compares with zero.
  chosen = bounded = true;
  uint64_t twice = PrimeField::add(a, a);
  switch (choices) {
  case Choices::Symbolic:
    break;
  case Choices::SymbolicBounds:
  case Choices::Sampled:
    return PrimeField::subtract(a, PrimeField::multiply(isLess(a, 0), twice));
  case Choices::SymbolicClosedBounds:
    return PrimeField::subtract(PrimeField::multiply(isLess(0, a), twice), a);
  }
  return getExtreme({a, PrimeField::negate(a)}, /*isMaximum=*/true);
}

void ScalarContext::noteMagnitude(uint64_t element, uint64_t number) {
  // Only numbers that are exact.
  std::optional<double> known = PrimeField::toFraction(number);
  if (!known)
    return;
  double most = std::abs(*known);
  noteRange(element, {-most, most});
}

void ScalarContext::noteProduct(uint64_t a, uint64_t b, uint64_t result) {
  if (magnitudes.isEmpty())
    return;
  std::optional<Magnitudes::Form> form = magnitudes.find(b);
  if (!form) {
    form = magnitudes.find(a);
    std::swap(a, b);
  }
  if (!form)
    return;
  if (getKnownNumber(a)) {
    form->factor = PrimeField::multiply(form->factor, a);
    magnitudes.noteForm(result, *form);
  } else if (form->isInverse && boundsMagnitude(form->maximum, a)) {
    noteMagnitude(result, form->factor);
  }
}

void ScalarContext::noteQuotient(uint64_t a, uint64_t b, uint64_t result) {
  if (magnitudes.isEmpty() || b == 0)
    return;
  std::optional<Magnitudes::Form> form = magnitudes.find(b);
  if (form && form->factor != 0) {
    if (!form->isInverse && boundsMagnitude(form->maximum, a)) {
      noteMagnitude(result, PrimeField::invert(form->factor));
    } else if (getKnownNumber(a)) {
      form->factor = PrimeField::multiply(a, PrimeField::invert(form->factor));
      form->isInverse = !form->isInverse;
      magnitudes.noteForm(result, *form);
    }
    return;
  }
  form = magnitudes.find(a);
  if (!form || !getKnownNumber(b))
    return;
  form->factor = PrimeField::multiply(form->factor, PrimeField::invert(b));
  magnitudes.noteForm(result, *form);
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
  auto isOpposite = [&](uint64_t element, uint64_t member) {
    return isBelow ? isMinimumOf(element, member)
                   : maxima.contains(element, member);
  };
  if (isOpposite(a, b))
    return b;
  if (isOpposite(b, a))
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
  // A maximum is where its largest member is.
  for (bool isMinimum : {false, true}) {
    uint64_t maximum = isMinimum ? PrimeField::negate(element) : element;
    llvm::ArrayRef<uint64_t> known = maxima.getMembers(maximum);
    if (known.size() < 2)
      continue;
    double most = -std::numeric_limits<double>::infinity();
    for (uint64_t member : std::vector<uint64_t>(known))
      most = std::max(most, getSortKey(member));
    return isMinimum ? -most : most;
  }
  // On both sides of a program's constants, near zero and far away.
  // Opposite elements have opposite orders.
  uint64_t opposite = PrimeField::negate(element);
  bool isSwapped = opposite < element;
  uint64_t random =
      PrimeField::mix(isSwapped ? opposite : element, sortKey + seed);
  // Elements have 61 bits, whatever the modulus.
  double unit = static_cast<double>(random >> 8) * 0x1p-52 - 1;
  if (isSwapped)
    unit = -unit;
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
