//===- RankClasses.cpp - ranks that stand for others ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/RankClasses.h"

#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {

/// By index in the world, the index of the rank's representative.
using RankMap = std::vector<unsigned>;

/// How the programs use a group.
enum class Use { None, Reductions, Positions };

struct KnownGroup {
  tp::GroupAttr group;
  Use use = Use::None;
};

class ClassFinder {
public:
  ClassFinder(func::FuncOp first, func::FuncOp second, ArrayRef<int64_t> world,
              uint64_t seed);
  RankMap find() const;

private:
  void noteUses(func::FuncOp function);
  unsigned getIndex(int64_t rank) const { return indexOf.lookup(rank); }
  /// Returns true if ranks in one group are represented by ranks in one group,
  /// in the same order.
  bool keeps(const KnownGroup &known, const RankMap &map) const;
  /// Ranks that no group connects with the first ones behave like these.
  std::optional<RankMap> mapComponents() const;
  /// A few members of each group of an axis represent the others.
  RankMap mapMembers(const KnownGroup &known) const;

  ArrayRef<int64_t> world;
  uint64_t seed;
  llvm::DenseMap<int64_t, unsigned> indexOf;
  SmallVector<KnownGroup> groups;
  bool coversWorld = true;
};

} // namespace

/// As many members are evaluated as indices of a cell, including its ends.
static constexpr int64_t numMembers = 6;

ClassFinder::ClassFinder(func::FuncOp first, func::FuncOp second,
                         ArrayRef<int64_t> world, uint64_t seed)
    : world(world), seed(seed) {
  for (auto [index, rank] : llvm::enumerate(world))
    indexOf[rank] = index;
  for (func::FuncOp function : {first, second})
    for (tp::GroupAttr group :
         analysis::getGroups(function->getParentOfType<ModuleOp>())) {
      if (llvm::any_of(groups, [&](const KnownGroup &known) {
            return known.group.hasSameMembers(group);
          }))
        continue;
      groups.push_back({group});
      // A rank outside of a group may hold parts of values of its members.
      coversWorld &= group.getRanks().size() == world.size();
    }
  noteUses(first);
  noteUses(second);
}

void ClassFinder::noteUses(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    auto grouped = dyn_cast<tp::GroupOpInterface>(op);
    Use use = grouped && !grouped.dependsOnPositions() ? Use::Reductions
                                                       : Use::Positions;
    for (NamedAttribute attribute : op.getAttrs()) {
      auto group = dyn_cast<tp::GroupAttr>(attribute.getValue());
      if (!group)
        continue;
      for (KnownGroup &known : groups)
        if (known.group.hasSameMembers(group))
          known.use = std::max(known.use, use);
    }
  }
}

bool ClassFinder::keeps(const KnownGroup &known, const RankMap &map) const {
  for (int64_t number = 0; number < known.group.getNumGroups(); ++number) {
    ArrayRef<int64_t> members = known.group.getMembers(number);
    ArrayRef<int64_t> images =
        known.group.getMembersAround(world[map[getIndex(members.front())]]);
    for (auto [member, image] : llvm::zip_equal(members, images))
      if (map[getIndex(member)] != getIndex(image))
        return false;
  }
  return true;
}

std::optional<RankMap> ClassFinder::mapComponents() const {
  llvm::IntEqClasses joined(world.size());
  for (const KnownGroup &known : groups)
    for (int64_t number = 0; number < known.group.getNumGroups(); ++number) {
      ArrayRef<int64_t> members = known.group.getMembers(number);
      for (int64_t member : members)
        joined.join(getIndex(members.front()), getIndex(member));
    }
  joined.compress();
  std::vector<SmallVector<unsigned>> components(joined.getNumClasses());
  for (unsigned index = 0; index < world.size(); ++index)
    components[joined[index]].push_back(index);
  RankMap map(world.size());
  for (const SmallVector<unsigned> &component : components) {
    if (component.size() != components.front().size())
      return std::nullopt;
    for (auto [index, image] : llvm::zip_equal(component, components.front()))
      map[index] = image;
  }
  return map;
}

RankMap ClassFinder::mapMembers(const KnownGroup &known) const {
  int64_t size = known.group.getSize();
  // Members that exchange nothing are equivalent.
  int64_t count = known.use == Use::None ? 1 : numMembers;
  uint64_t state = PrimeField::mix(size, seed);
  auto draw = [&](int64_t bound) {
    state = PrimeField::mix(1, state);
    return static_cast<int64_t>(state % static_cast<uint64_t>(bound));
  };
  SmallVector<int64_t> chosen = {0};
  while (static_cast<int64_t>(chosen.size()) < count)
    if (int64_t position = draw(size); !llvm::is_contained(chosen, position))
      chosen.push_back(position);
  // The number of ranks that each one represents is random as well.
  SmallVector<int64_t> imageOf(size);
  for (int64_t position = 0; position < size; ++position)
    imageOf[position] =
        llvm::is_contained(chosen, position) ? position : chosen[draw(count)];
  RankMap map(world.size());
  for (int64_t number = 0; number < known.group.getNumGroups(); ++number) {
    ArrayRef<int64_t> members = known.group.getMembers(number);
    for (auto [position, member] : llvm::enumerate(members))
      map[getIndex(member)] = getIndex(members[imageOf[position]]);
  }
  return map;
}

RankMap ClassFinder::find() const {
  RankMap map(world.size());
  for (unsigned index = 0; index < world.size(); ++index)
    map[index] = index;
  // Check each pair of groups.
  constexpr size_t maxGroups = 32;
  if (!coversWorld || groups.empty() || groups.size() > maxGroups)
    return map;
  auto compose = [&](const RankMap &next) {
    for (unsigned &image : map)
      image = next[image];
  };
  if (std::optional<RankMap> components = mapComponents())
    if (llvm::all_of(groups, [&](const KnownGroup &known) {
          return keeps(known, *components);
        }))
      compose(*components);
  for (const KnownGroup &known : groups) {
    if (known.use == Use::Positions || known.group.getSize() <= numMembers)
      continue;
    RankMap members = mapMembers(known);
    if (llvm::all_of(groups, [&](const KnownGroup &other) {
          return &other == &known || keeps(other, members);
        }))
      compose(members);
  }
  return map;
}

RankClasses::RankClasses(ArrayRef<int64_t> world) : representatives(world) {
  for (auto [index, rank] : llvm::enumerate(world))
    classOf[rank] = index;
}

RankClasses RankClasses::find(func::FuncOp first, func::FuncOp second,
                              ArrayRef<int64_t> world, uint64_t seed) {
  RankMap map = ClassFinder(first, second, world, seed).find();
  SmallVector<int64_t> representatives;
  for (auto [index, image] : llvm::enumerate(map))
    if (index == image)
      representatives.push_back(world[index]);
  RankClasses classes(representatives);
  for (auto [index, image] : llvm::enumerate(map))
    classes.classOf[world[index]] = classes.classOf.lookup(world[image]);
  return classes;
}
