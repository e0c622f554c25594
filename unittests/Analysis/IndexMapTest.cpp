//===- IndexMapTest.cpp - index maps against every element ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Random chains of reindexing are composed as maps and, beside that, carried
// out on a tensor that holds its own addresses. COMMUTE_RANDOM_MAPS says how
// many, COMMUTE_RANDOM_SEED where they begin.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/IndexMaps/IndexMap.h"

#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace mlir;
using namespace commute::analysis;

namespace {

/// Sizes, and an address for every element in row-major order.
struct Addresses {
  std::vector<int64_t> sizes;
  std::vector<int64_t> elements;

  bool operator==(const Addresses &) const = default;
};

} // namespace

static int64_t getCount(const std::vector<int64_t> &sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

static Addresses getIota(std::vector<int64_t> sizes) {
  Addresses result{std::move(sizes), {}};
  result.elements.resize(getCount(result.sizes));
  std::iota(result.elements.begin(), result.elements.end(), 0);
  return result;
}

/// The tensor of these sizes whose element at an index is that of `input` at
/// what `getSource` makes of the index.
template <typename Function>
static Addresses gather(const Addresses &input, std::vector<int64_t> sizes,
                        Function getSource) {
  Addresses result{std::move(sizes), {}};
  std::vector<int64_t> index(result.sizes.size());
  for (int64_t count = getCount(result.sizes); count > 0; --count) {
    std::vector<int64_t> source = getSource(index);
    int64_t position = 0;
    for (size_t dim = 0; dim < source.size(); ++dim)
      position = position * input.sizes[dim] + source[dim];
    result.elements.push_back(input.elements[position]);
    for (size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < result.sizes[dim])
        break;
      index[dim] = 0;
    }
  }
  return result;
}

static Addresses slice(const Addresses &input, size_t dim, int64_t start,
                       int64_t step, int64_t size) {
  std::vector<int64_t> sizes = input.sizes;
  sizes[dim] = size;
  return gather(input, sizes, [&](std::vector<int64_t> index) {
    index[dim] = start + index[dim] * step;
    return index;
  });
}

static Addresses concat(const std::vector<Addresses> &inputs, size_t dim) {
  Addresses result = inputs.front();
  for (size_t next = 1; next < inputs.size(); ++next) {
    const Addresses &input = inputs[next];
    Addresses joined;
    joined.sizes = result.sizes;
    joined.sizes[dim] += input.sizes[dim];
    int64_t inner = 1, outer = 1;
    for (size_t other = 0; other < joined.sizes.size(); ++other)
      (other < dim ? outer : inner) *= other == dim ? 1 : joined.sizes[other];
    for (int64_t row = 0; row < outer; ++row)
      for (const Addresses *part : {&std::as_const(result), &input}) {
        int64_t length = part->sizes[dim] * inner;
        joined.elements.insert(joined.elements.end(),
                               part->elements.begin() + row * length,
                               part->elements.begin() + (row + 1) * length);
      }
    result = std::move(joined);
  }
  return result;
}

static IndexMap::Sizes getSizes(const std::vector<int64_t> &sizes) {
  return IndexMap::Sizes(sizes.begin(), sizes.end());
}

/// What a map of known sizes says, element by element; also that its boxes
/// cover every element once.
static Addresses getAddresses(const IndexMap &map) {
  Addresses result;
  for (const SizePolynomial &size : map.getSizes())
    result.sizes.push_back(*size.getConstant());
  result.elements.assign(getCount(result.sizes), -1);
  for (const IndexBox &box : map.getBoxes()) {
    // Positions and addresses, dim after dim.
    std::vector<std::pair<int64_t, int64_t>> places{
        {0, *box.base.getConstant()}};
    for (size_t dim = 0; dim < result.sizes.size(); ++dim) {
      std::vector<int64_t> along{0};
      for (const IndexDigit &digit : box.dims[dim]) {
        std::vector<int64_t> next;
        for (int64_t address : along)
          for (int64_t i = 0; i < *digit.extent.getConstant(); ++i)
            next.push_back(address + i * *digit.stride.getConstant());
        along = std::move(next);
      }
      std::vector<std::pair<int64_t, int64_t>> next;
      for (auto [position, address] : places)
        for (size_t i = 0; i < along.size(); ++i)
          next.emplace_back(position * result.sizes[dim] +
                                *box.offsets[dim].getConstant() +
                                static_cast<int64_t>(i),
                            address + along[i]);
      places = std::move(next);
    }
    for (auto [position, address] : places) {
      EXPECT_EQ(result.elements.at(position), -1) << "two boxes overlap";
      result.elements.at(position) = address;
    }
  }
  return result;
}

namespace {

/// A map and what it has to say.
struct Both {
  IndexMap map;
  Addresses addresses;
};

class Generator {
public:
  explicit Generator(uint64_t seed) : random(seed) {}

  int64_t pick(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  Both makeRoot() {
    std::vector<int64_t> sizes;
    for (int64_t rank = 1 + pick(3); rank > 0; --rank)
      sizes.push_back(1 + pick(4));
    return {IndexMap::getIdentity(getSizes(sizes)), getIota(sizes)};
  }
  /// One more op; null where the map refuses.
  std::optional<Both> apply(const Both &input);

private:
  std::optional<Both> slice(const Both &input, size_t dim);
  std::optional<Both> reassemble(const Both &input);
  std::vector<int64_t> split(int64_t count);

  std::mt19937_64 random;
};

} // namespace

std::optional<Both> Generator::slice(const Both &input, size_t dim) {
  int64_t available = input.addresses.sizes[dim];
  int64_t start = pick(available), step = pick(3) ? 1 : 1 + pick(3);
  int64_t size = 1 + pick((available - start - 1) / step + 1);
  std::optional<IndexMap> map = input.map.slice(dim, start, step, size);
  if (!map)
    return std::nullopt;
  return Both{*map, ::slice(input.addresses, dim, start, step, size)};
}

/// Slices of one size along one dim, one behind the other along another one.
std::optional<Both> Generator::reassemble(const Both &input) {
  size_t dim = pick(input.addresses.sizes.size());
  size_t target = pick(input.addresses.sizes.size());
  int64_t available = input.addresses.sizes[dim];
  int64_t size = 1 + pick(available), count = 1 + pick(4);
  bool isInOrder = pick(2);
  std::vector<IndexMap> maps;
  std::vector<Addresses> parts;
  for (int64_t index = 0; index < count; ++index) {
    int64_t start = isInOrder ? std::min(index * size, available - size)
                              : pick(available - size + 1);
    std::optional<IndexMap> map = input.map.slice(dim, start, 1, size);
    if (!map)
      return std::nullopt;
    maps.push_back(*map);
    parts.push_back(::slice(input.addresses, dim, start, 1, size));
  }
  std::vector<const IndexMap *> pointers;
  for (const IndexMap &map : maps)
    pointers.push_back(&map);
  std::optional<IndexMap> map = IndexMap::concat(pointers, target);
  if (!map)
    return std::nullopt;
  return Both{*map, concat(parts, target)};
}

/// Factors of `count` in some order.
std::vector<int64_t> Generator::split(int64_t count) {
  std::vector<int64_t> sizes;
  while (sizes.size() < 3 && pick(4)) {
    int64_t factor = 1 + pick(count);
    while (count % factor != 0)
      --factor;
    sizes.push_back(factor);
    count /= factor;
  }
  sizes.insert(sizes.begin() + pick(sizes.size() + 1), count);
  return sizes;
}

std::optional<Both> Generator::apply(const Both &input) {
  const std::vector<int64_t> &sizes = input.addresses.sizes;
  int64_t rank = sizes.size();
  switch (pick(6)) {
  case 0:
    return slice(input, pick(rank));
  case 1: {
    std::vector<int64_t> permutation(rank);
    std::iota(permutation.begin(), permutation.end(), 0);
    std::shuffle(permutation.begin(), permutation.end(), random);
    std::vector<int64_t> permuted;
    for (int64_t dim : permutation)
      permuted.push_back(sizes[dim]);
    return Both{input.map.permute(permutation),
                gather(input.addresses, permuted,
                       [&](const std::vector<int64_t> &index) {
                         std::vector<int64_t> source(rank);
                         for (int64_t dim = 0; dim < rank; ++dim)
                           source[permutation[dim]] = index[dim];
                         return source;
                       })};
  }
  case 2: {
    std::vector<int64_t> repeated = sizes;
    if (pick(2))
      repeated.insert(repeated.begin(), 1 + pick(2));
    for (int64_t dim = 0; dim < rank; ++dim)
      if (sizes[dim] == 1 && pick(2))
        repeated[repeated.size() - rank + dim] = 1 + pick(3);
    if (repeated.size() > 4 || getCount(repeated) > 256)
      return input;
    std::optional<IndexMap> map = input.map.broadcast(getSizes(repeated));
    if (!map)
      return std::nullopt;
    return Both{*map, gather(input.addresses, repeated,
                             [&](std::vector<int64_t> index) {
                               index.erase(index.begin(), index.end() - rank);
                               for (int64_t dim = 0; dim < rank; ++dim)
                                 index[dim] = sizes[dim] == 1 ? 0 : index[dim];
                               return index;
                             })};
  }
  case 3: {
    int64_t dim = pick(rank), count = 1 + pick(3);
    int64_t distance = getCount(sizes);
    if (distance * count > 256)
      return input;
    std::optional<IndexMap> map = input.map.repeat(dim, count, 1000);
    if (!map)
      return std::nullopt;
    std::vector<Addresses> parts(count, input.addresses);
    for (int64_t index = 0; index < count; ++index)
      for (int64_t &address : parts[index].elements)
        address += index * 1000;
    return Both{*map, concat(parts, dim)};
  }
  case 4: {
    std::vector<int64_t> reshaped = split(getCount(sizes));
    std::optional<IndexMap> map = input.map.reshape(getSizes(reshaped));
    if (!map)
      return std::nullopt;
    return Both{*map, {reshaped, input.addresses.elements}};
  }
  default:
    return reassemble(input);
  }
}

static uint64_t getNumber(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(IndexMap, RandomChainsAreExact) {
  uint64_t numMaps = getNumber("COMMUTE_RANDOM_MAPS", 4000);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  unsigned numSame = 0, numSteps = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numMaps; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Generator generator(seed);
    Both root = generator.makeRoot();
    std::vector<Both> seen{root};
    for (int64_t length = 1 + generator.pick(6); length > 0; --length) {
      std::optional<Both> next = generator.apply(seen.back());
      // Known sizes are always followed as long as there are few boxes.
      ASSERT_TRUE(next);
      ++numSteps;
      Addresses stated = getAddresses(next->map);
      ASSERT_EQ(stated.sizes, next->addresses.sizes);
      ASSERT_EQ(stated.elements, next->addresses.elements);
      // Equal maps are found equal, whatever boxes they consist of.
      for (const Both &other : seen) {
        bool isSame = next->addresses == other.addresses;
        numSame += isSame;
        ASSERT_EQ(next->map.isSameAs(other.map), isSame);
        ASSERT_EQ(other.map.isSameAs(next->map), isSame);
      }
      seen.push_back(*next);
      if (getCount(next->addresses.sizes) > 256)
        break;
    }
  }
  EXPECT_GT(numSame * 50, numSteps);
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

TEST(IndexMap, SymbolicGatherByPermutation) {
  MLIRContext context;
  SizePolynomial s = SizePolynomial::get(getAffineSymbolExpr(0, &context));
  // [4 s, 8] -> [4, s, 8] -> [s, 4, 8] -> [s, 32].
  IndexMap flat = *IndexMap::getIdentity({s, 8}).repeat(0, 4, s * 8);
  std::optional<IndexMap> map = flat.reshape({4, s, 8});
  ASSERT_TRUE(map);
  map = map->permute({1, 0, 2}).reshape({s, 32});
  ASSERT_TRUE(map);
  IndexMap along1 = *IndexMap::getIdentity({s, 8}).repeat(1, 4, s * 8);
  EXPECT_TRUE(map->isSameAs(along1));
  EXPECT_FALSE(map->isSameAs(flat));
}

TEST(IndexMap, SymbolicGatherBySlices) {
  MLIRContext context;
  SizePolynomial s = SizePolynomial::get(getAffineSymbolExpr(0, &context));
  IndexMap flat = *IndexMap::getIdentity({s, 8}).repeat(0, 2, s * 8);
  auto join = [&](const SizePolynomial &first, const SizePolynomial &second) {
    IndexMap a = *flat.slice(0, first, 1, s), b = *flat.slice(0, second, 1, s);
    return *IndexMap::concat({&a, &b}, 1);
  };
  IndexMap along1 = *IndexMap::getIdentity({s, 8}).repeat(1, 2, s * 8);
  EXPECT_TRUE(join(0, s).isSameAs(along1));
  EXPECT_FALSE(join(s, 0).isSameAs(along1));
  EXPECT_FALSE(join(0, 0).isSameAs(along1));
  // Where that ends depends on s.
  EXPECT_FALSE(flat.slice(0, 2, 1, s));
}

TEST(IndexMap, WhatDependsOnSymbolsIsRefused) {
  MLIRContext context;
  SizePolynomial s = SizePolynomial::get(getAffineSymbolExpr(0, &context));
  SizePolynomial t = SizePolynomial::get(getAffineSymbolExpr(1, &context));
  IndexMap along1 = *IndexMap::getIdentity({8, s}).repeat(1, 2, s * 8);
  // Where a slice of t columns ends is not known.
  EXPECT_FALSE(along1.slice(1, 0, 1, t));
  EXPECT_TRUE(along1.slice(1, 0, 1, s));
  EXPECT_FALSE(along1.reshape({t, 16}));
}

TEST(IndexMap, ManyBoxesAreRefused) {
  // Each element on its own.
  IndexMap map = IndexMap::getIdentity({64, 64});
  map = *map.permute({1, 0}).reshape({4096});
  std::optional<IndexMap> odd = map.slice(0, 0, 3, 1365);
  EXPECT_FALSE(odd);
}

TEST(IndexMap, NoElements) {
  IndexMap map = IndexMap::getIdentity({4, 0});
  EXPECT_TRUE(map.getBoxes().empty());
  EXPECT_TRUE(map.reshape({0, 7})->isSameAs(IndexMap::getIdentity({0, 7})));
}
