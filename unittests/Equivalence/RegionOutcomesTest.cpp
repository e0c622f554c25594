//===- RegionOutcomesTest.cpp - what regions gave in other rounds -*- C++ -===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionOutcomes.h"

#include "RankValuesFixture.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {
class RegionOutcomesTest : public RankValuesFixture {
protected:
  SharedPattern make(const std::vector<uint64_t> &elements, Type type = {}) {
    return std::make_shared<EqualityPattern>(makeValues({elements}, type),
                                             /*isConstant=*/false,
                                             /*isDiscrete=*/false);
  }

  static ContentHash getKey(ArrayRef<SharedPattern> read) {
    ContentHasher hasher;
    for (const SharedPattern &pattern : read)
      hasher.addKind(*pattern);
    return hasher.finish();
  }

  void note(std::vector<SharedPattern> read, unsigned numUnknowns) {
    ContentHash key = getKey(read);
    outcomes.note(key, {std::move(read), numUnknowns, {}});
  }

  /// The elements that stand for the unknowns; nullopt if no outcome holds.
  std::optional<std::vector<uint64_t>>
  find(const std::vector<SharedPattern> &read) {
    std::vector<uint64_t> elements;
    if (!outcomes.find(getKey(read), read, elements))
      return std::nullopt;
    return elements;
  }

  using Elements = std::vector<uint64_t>;
  RegionOutcomes outcomes;
};
} // namespace

TEST_F(RegionOutcomesTest, UnknownsMayBeAnyUnknowns) {
  note({make({2, 3, 2, 4})}, 3);
  EXPECT_EQ(find({make({7, 9, 7, 8})}), Elements({7, 9, 8}));
  EXPECT_EQ(find({make({7, 7, 7, 8})}), Elements({7, 7, 8}));
  EXPECT_EQ(find({make({7, 0, 7, 8})}), Elements({7, 0, 8}));
}

TEST_F(RegionOutcomesTest, EqualElementsMustBeEqual) {
  note({make({2, 3, 2})}, 2);
  EXPECT_FALSE(find({make({7, 9, 8})}));
  EXPECT_FALSE(find({make({7, 9, 0})}));
}

TEST_F(RegionOutcomesTest, ElementsAreEqualAcrossValues) {
  note({make({2, 3}), make({3, 4})}, 3);
  EXPECT_EQ(find({make({7, 9}), make({9, 5})}), Elements({7, 9, 5}));
  EXPECT_FALSE(find({make({7, 9}), make({8, 5})}));
}

TEST_F(RegionOutcomesTest, ZeroMustBeZero) {
  note({make({0, 2})}, 1);
  EXPECT_TRUE(find({make({0, 5})}));
  EXPECT_FALSE(find({make({4, 5})}));
}

TEST_F(RegionOutcomesTest, TruthValuesMayBecomeFalseButNotTrue) {
  note({make({2, 1}, i1)}, 1);
  EXPECT_TRUE(find({make({5, 1}, i1)}));
  EXPECT_TRUE(find({make({0, 1}, i1)}));
  // In a float it would be an unknown of this number.
  EXPECT_FALSE(find({make({1, 1}, i1)}));
  EXPECT_FALSE(find({make({5, 0}, i1)}));
}

TEST_F(RegionOutcomesTest, IntegersMustBeTheSame) {
  note({make({4, 5}, i64)}, 0);
  EXPECT_TRUE(find({make({4, 5}, i64)}));
  EXPECT_FALSE(find({make({4, 6}, i64)}));
}

TEST_F(RegionOutcomesTest, AnyOfSeveralMayHold) {
  note({make({2, 2})}, 1);
  EXPECT_FALSE(find({make({7, 9})}));
  note({make({2, 3})}, 2);
  EXPECT_EQ(find({make({7, 9})}), Elements({7, 9}));
  outcomes.clear();
  EXPECT_FALSE(find({make({7, 9})}));
}
