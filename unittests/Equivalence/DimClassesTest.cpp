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

void makeAllSmall(DimClasses &classes, int64_t size = 2) {
  for (Id atom : classes.getFreeAtoms())
    classes.setNewSize(atom, size);
}

using Sizes = std::vector<int64_t>;

TEST(DimClassesTest, UnitedExtentsHaveOneSize) {
  DimClasses classes;
  Id a = classes.add(64), b = classes.add(64), c = classes.add(64);
  classes.unite(a, b);
  EXPECT_EQ(classes.getFreeAtoms().size(), 2u);
  classes.setNewSize(b, 3);
  EXPECT_EQ(classes.getNewSize(a), 3);
  EXPECT_EQ(classes.getNewSize(c), 64);
}

TEST(DimClassesTest, FixedAndSingleExtentsStay) {
  DimClasses classes;
  Id fixed = classes.add(8, /*isFixed=*/true);
  Id one = classes.add(1), none = classes.add(0);
  Id free = classes.add(8);
  EXPECT_EQ(classes.getFreeAtoms(), std::vector<Id>{free});
  classes.unite(free, fixed);
  EXPECT_TRUE(classes.getFreeAtoms().empty());
  makeAllSmall(classes);
  EXPECT_EQ(classes.getNewSize(free), 8);
  EXPECT_EQ(classes.getNewSize(one), 1);
  EXPECT_EQ(classes.getNewSize(none), 0);
}

TEST(DimClassesTest, ProductFollowsItsFactors) {
  DimClasses classes;
  Id ranks = classes.add(4, /*isFixed=*/true), rows = classes.add(16);
  Id whole = classes.add(64);
  classes.unite(whole, classes.addProduct({ranks, rows}));
  EXPECT_EQ(getAtomSizes(classes, whole), (Sizes{4, 16}));
  makeAllSmall(classes, 3);
  EXPECT_EQ(classes.getNewSize(whole), 12);
  EXPECT_EQ(classes.getNewSize(rows), 3);
}

TEST(DimClassesTest, ProductsOfEqualFactorsAreUnitedOneByOne) {
  DimClasses classes;
  Id a = classes.add(6), b = classes.add(10);
  Id c = classes.add(6), d = classes.add(10);
  Id first = classes.add(60), second = classes.add(60);
  classes.unite(first, classes.addProduct({a, b}));
  classes.unite(second, classes.addProduct({c, d}));
  classes.unite(first, second);
  classes.setNewSize(a, 3);
  EXPECT_EQ(classes.getNewSize(c), 3);
  classes.setNewSize(d, 5);
  EXPECT_EQ(classes.getNewSize(b), 5);
  EXPECT_EQ(classes.getNewSize(second), 15);
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
  makeAllSmall(classes);
  EXPECT_EQ(classes.getNewSize(four) * classes.getNewSize(six),
            classes.getNewSize(two) * classes.getNewSize(twelve));
}

TEST(DimClassesTest, DivisionKeepsWhatIsFixed) {
  DimClasses classes;
  Id fixed = classes.add(8, /*isFixed=*/true), free = classes.add(3);
  Id two = classes.add(2), twelve = classes.add(12);
  classes.unite(classes.addProduct({fixed, free}),
                classes.addProduct({two, twelve}));
  makeAllSmall(classes);
  EXPECT_EQ(classes.getNewSize(fixed), 8);
  EXPECT_EQ(classes.getNewSize(two), 2);
  EXPECT_EQ(classes.getNewSize(two) * classes.getNewSize(twelve),
            classes.getNewSize(fixed) * classes.getNewSize(free));
}

TEST(DimClassesTest, FactorsThatDoNotFitKeepTheirSizes) {
  // [4, 9] against [6, 6]: neither divides the other.
  DimClasses classes;
  Id four = classes.add(4), nine = classes.add(9);
  Id first = classes.add(6), second = classes.add(6);
  classes.unite(classes.addProduct({four, nine}),
                classes.addProduct({first, second}));
  EXPECT_TRUE(classes.getFreeAtoms().empty());
  makeAllSmall(classes);
  EXPECT_EQ(classes.getNewSize(four), 4);
  EXPECT_EQ(classes.getNewSize(second), 6);
}

TEST(DimClassesTest, ExtentsOfOtherSizesAreFixed) {
  DimClasses classes;
  Id a = classes.add(6), b = classes.add(8);
  classes.unite(a, b);
  makeAllSmall(classes);
  EXPECT_EQ(classes.getNewSize(a), 6);
  EXPECT_EQ(classes.getNewSize(b), 8);
}

TEST(DimClassesTest, SingleFactorsAreSkipped) {
  DimClasses classes;
  Id one = classes.add(1), eight = classes.add(8);
  Id other = classes.add(8), last = classes.add(1);
  classes.unite(classes.addProduct({one, eight}),
                classes.addProduct({other, last}));
  classes.setNewSize(eight, 2);
  EXPECT_EQ(classes.getNewSize(other), 2);
}

TEST(DimClassesTest, SumFollowsItsSummands) {
  DimClasses classes;
  Id a = classes.add(10), b = classes.add(20), whole = classes.add(30);
  classes.unite(whole, classes.addSum({a, b}));
  makeAllSmall(classes);
  EXPECT_EQ(classes.getNewSize(whole), 4);
  EXPECT_EQ(classes.getFreeAtoms().size(), 2u);
  EXPECT_FALSE(classes.isFree(whole));
}

TEST(DimClassesTest, SumsOfEqualPiecesAreUnitedPieceByPiece) {
  DimClasses classes;
  Id a = classes.add(10), b = classes.add(20), c = classes.add(10),
     d = classes.add(20);
  classes.unite(classes.addSum({a, b}), classes.addSum({c, d}));
  EXPECT_TRUE(classes.areUnited(a, c));
  EXPECT_TRUE(classes.areUnited(b, d));
}

TEST(DimClassesTest, SumsOfOtherPiecesKeepTheirSizes) {
  DimClasses classes;
  Id a = classes.add(10), b = classes.add(20), c = classes.add(15),
     d = classes.add(15);
  classes.unite(classes.addSum({a, b}), classes.addSum({c, d}));
  makeAllSmall(classes);
  for (Id id : {a, b, c, d})
    EXPECT_EQ(classes.getNewSize(id), classes.getSize(id));
}

TEST(DimClassesTest, SumAndProductKeepTheirSizes) {
  DimClasses classes;
  Id a = classes.add(10), b = classes.add(20), c = classes.add(5),
     d = classes.add(6);
  classes.unite(classes.addSum({a, b}), classes.addProduct({c, d}));
  makeAllSmall(classes);
  for (Id id : {a, b, c, d})
    EXPECT_EQ(classes.getNewSize(id), classes.getSize(id));
}

} // namespace
