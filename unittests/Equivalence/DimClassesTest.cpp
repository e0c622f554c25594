//===- DimClassesTest.cpp - dims that belong together ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DimClasses.h"

#include "gtest/gtest.h"

using commute::equivalence::DimClasses;
using Id = DimClasses::Id;

namespace {

/// Sizes of the atoms of an extent, from major to minor.
std::vector<int64_t> getAtomSizes(DimClasses &classes, Id id) {
  std::vector<int64_t> sizes;
  for (Id atom : classes.getAtoms(id))
    sizes.push_back(classes.getSize(atom));
  return sizes;
}

/// Whether any, and whether all atoms of an extent are fixed.
bool isAnyFixed(DimClasses &classes, Id id) {
  return llvm::any_of(classes.getAtoms(id),
                      [&](Id atom) { return classes.isFixed(atom); });
}
bool isFixed(DimClasses &classes, Id id) {
  return llvm::all_of(classes.getAtoms(id),
                      [&](Id atom) { return classes.isFixed(atom); });
}

using Sizes = std::vector<int64_t>;

TEST(DimClassesTest, UnitedExtentsAreOne) {
  DimClasses classes;
  Id a = classes.add(64), b = classes.add(64), c = classes.add(64);
  classes.unite(a, b);
  EXPECT_TRUE(classes.areUnited(a, b));
  EXPECT_FALSE(classes.areUnited(a, c));
  classes.fix(b);
  EXPECT_TRUE(isFixed(classes, a));
  EXPECT_FALSE(isFixed(classes, c));
}

TEST(DimClassesTest, SingleExtentsAreFixed) {
  DimClasses classes;
  Id fixed = classes.add(8, /*isFixed=*/true), free = classes.add(8);
  EXPECT_TRUE(isFixed(classes, classes.add(1)));
  EXPECT_TRUE(isFixed(classes, classes.add(0)));
  EXPECT_FALSE(isFixed(classes, free));
  classes.unite(free, fixed);
  EXPECT_TRUE(isFixed(classes, free));
}

TEST(DimClassesTest, ProductsOfEqualFactorsAreUnitedOneByOne) {
  DimClasses classes;
  Id a = classes.add(6), b = classes.add(10);
  Id c = classes.add(6), d = classes.add(10);
  Id first = classes.add(60), second = classes.add(60);
  classes.unite(first, classes.addProduct({a, b}));
  classes.unite(second, classes.addProduct({c, d}));
  classes.unite(first, second);
  EXPECT_TRUE(classes.areUnited(a, c));
  EXPECT_TRUE(classes.areUnited(b, d));
  EXPECT_FALSE(classes.areUnited(a, b));
}

TEST(DimClassesTest, FactorsAreDividedWhereTheyFit) {
  // [4, 6] against [2, 12]: both are [2, 2, 6].
  DimClasses classes;
  Id four = classes.add(4), six = classes.add(6);
  Id two = classes.add(2), twelve = classes.add(12);
  classes.unite(classes.addProduct({four, six}),
                classes.addProduct({two, twelve}));
  EXPECT_EQ(getAtomSizes(classes, four), (Sizes{2, 2}));
  EXPECT_EQ(getAtomSizes(classes, twelve), (Sizes{2, 6}));
  EXPECT_FALSE(isAnyFixed(classes, twelve));
}

TEST(DimClassesTest, DivisionKeepsWhatIsFixed) {
  DimClasses classes;
  Id fixed = classes.add(8, /*isFixed=*/true), free = classes.add(3);
  Id two = classes.add(2), twelve = classes.add(12);
  classes.unite(classes.addProduct({fixed, free}),
                classes.addProduct({two, twelve}));
  EXPECT_TRUE(isFixed(classes, fixed));
  EXPECT_TRUE(isFixed(classes, two));
  EXPECT_FALSE(isFixed(classes, free));
}

TEST(DimClassesTest, FactorsThatDoNotFitAreFixed) {
  // [4, 9] against [6, 6]: neither divides the other.
  DimClasses classes;
  Id four = classes.add(4), nine = classes.add(9);
  Id first = classes.add(6), second = classes.add(6);
  classes.unite(classes.addProduct({four, nine}),
                classes.addProduct({first, second}));
  for (Id id : {four, nine, first, second})
    EXPECT_TRUE(isFixed(classes, id));
}

TEST(DimClassesTest, ExtentsOfOtherSizesAreFixed) {
  DimClasses classes;
  Id a = classes.add(6), b = classes.add(8);
  classes.unite(a, b);
  EXPECT_TRUE(isFixed(classes, a));
  EXPECT_TRUE(isFixed(classes, b));
}

TEST(DimClassesTest, SingleFactorsAreSkipped) {
  DimClasses classes;
  Id one = classes.add(1), eight = classes.add(8);
  Id other = classes.add(8), last = classes.add(1);
  classes.unite(classes.addProduct({one, eight}),
                classes.addProduct({other, last}));
  EXPECT_TRUE(classes.areUnited(eight, other));
}

TEST(DimClassesTest, PartsOfAtomsAreWhatTheyAre) {
  DimClasses classes;
  Id whole = classes.add(6144), part = classes.add(1024);
  std::optional<DimClasses::Part> aligned =
      classes.alignPart(whole, part, 4096, 1);
  ASSERT_TRUE(aligned);
  EXPECT_TRUE(classes.areUnited(aligned->whole, whole));
  EXPECT_TRUE(classes.areUnited(aligned->part, part));
  EXPECT_EQ(aligned->start, 4096);
}

TEST(DimClassesTest, PartsOfProductsAreAlignedAlongTheMajorFactor) {
  // Heads of width 128: 8 of 48, from the 32nd on.
  DimClasses classes;
  Id whole = classes.add(6144), part = classes.add(1024);
  Id heads = classes.add(8), width = classes.add(128);
  classes.unite(part, classes.addProduct({heads, width}));
  std::optional<DimClasses::Part> aligned =
      classes.alignPart(whole, part, 4096, 1);
  ASSERT_TRUE(aligned);
  EXPECT_EQ(getAtomSizes(classes, whole), (Sizes{48, 128}));
  EXPECT_EQ(classes.getSize(aligned->whole), 48);
  EXPECT_TRUE(classes.areUnited(aligned->part, heads));
  EXPECT_EQ(aligned->start, 32);
  EXPECT_FALSE(isAnyFixed(classes, whole));
}

TEST(DimClassesTest, BlocksOfMajorFactorsLeaveNothingToAlign) {
  // The rows that one of eight ranks gets of what all gather.
  DimClasses classes;
  Id whole = classes.add(512), part = classes.add(64);
  Id ranks = classes.add(8, /*isFixed=*/true), rows = classes.add(64);
  classes.unite(whole, classes.addProduct({ranks, rows}));
  std::optional<DimClasses::Part> aligned =
      classes.alignPart(whole, part, 128, 1);
  ASSERT_TRUE(aligned);
  EXPECT_TRUE(aligned->isOneBlock);
  EXPECT_TRUE(classes.areUnited(part, rows));
  EXPECT_FALSE(isAnyFixed(classes, part));
}

TEST(DimClassesTest, BlocksOfSeveralMajorFactorsKeepTheMinorOne) {
  DimClasses classes;
  Id whole = classes.add(512), part = classes.add(64);
  Id groups = classes.add(2), ranks = classes.add(4), rows = classes.add(64);
  classes.unite(whole, classes.addProduct({groups, ranks, rows}));
  std::optional<DimClasses::Part> aligned =
      classes.alignPart(whole, part, 320, 1);
  ASSERT_TRUE(aligned);
  EXPECT_TRUE(aligned->isOneBlock);
  EXPECT_EQ(getAtomSizes(classes, whole), (Sizes{2, 4, 64}));
  EXPECT_EQ(getAtomSizes(classes, part), (Sizes{64}));
  EXPECT_FALSE(isAnyFixed(classes, whole));
}

TEST(DimClassesTest, PartsAcrossFactorsAreFixed) {
  DimClasses classes;
  Id whole = classes.add(64), part = classes.add(20);
  Id ranks = classes.add(4), rows = classes.add(16);
  classes.unite(whole, classes.addProduct({ranks, rows}));
  EXPECT_FALSE(classes.alignPart(whole, part, 10, 1));
  EXPECT_TRUE(isFixed(classes, whole));
  EXPECT_TRUE(isFixed(classes, part));
}

TEST(DimClassesTest, StepsAreAMinorFactor) {
  DimClasses classes;
  Id whole = classes.add(128), odd = classes.add(64);
  std::optional<DimClasses::Part> aligned = classes.alignPart(whole, odd, 1, 2);
  ASSERT_TRUE(aligned);
  EXPECT_EQ(getAtomSizes(classes, whole), (Sizes{64, 2}));
  EXPECT_EQ(classes.getSize(aligned->whole), 64);
  EXPECT_EQ(aligned->start, 0);
  EXPECT_FALSE(classes.isFixed(aligned->whole));
}

} // namespace
