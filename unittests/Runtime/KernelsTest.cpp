//===- KernelsTest.cpp - kernels against simple references ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;
using tp::MapFunction;
using tp::ReductionKind;

namespace {
class KernelsTest : public testing::Test {
protected:
  /// Numbers of a small range, so that sums of products are exact in f32.
  TensorValue random(ArrayRef<int64_t> sizes, Type type) {
    std::shared_ptr<Tensor> tensor = Tensor::allocate(sizes, type);
    std::vector<int64_t> numbers(tensor->getNumElements());
    for (int64_t &number : numbers)
      number = int64_t(generator() % 9) - 4;
    storeElements(tensor->getKind(), numbers.data(), numbers.size(),
                  tensor->getMutableData());
    return tensor;
  }
  static std::vector<double> getNumbers(const Tensor &tensor) {
    std::vector<double> numbers(tensor.getNumElements());
    loadElements(tensor.getKind(), tensor.getData(), numbers.size(),
                 numbers.data());
    return numbers;
  }
  TensorValue make(ArrayRef<int64_t> sizes, Type type,
                   ArrayRef<double> numbers) {
    std::shared_ptr<Tensor> tensor = Tensor::allocate(sizes, type);
    storeElements(tensor->getKind(), numbers.data(), numbers.size(),
                  tensor->getMutableData());
    return tensor;
  }
  TensorValue map(MapFunction function, ArrayRef<const Tensor *> operands,
                  Type type) {
    TensorValue result = mapElements(function, operands, type, failure);
    EXPECT_TRUE(result) << failure;
    return result;
  }

  MLIRContext context;
  Type f16 = Float16Type::get(&context), bf16 = BFloat16Type::get(&context),
       f32 = Float32Type::get(&context), f64 = Float64Type::get(&context),
       i1 = IntegerType::get(&context, 1), i8 = IntegerType::get(&context, 8),
       i32 = IntegerType::get(&context, 32),
       i64 = IntegerType::get(&context, 64),
       u64 = IntegerType::get(&context, 64, IntegerType::Unsigned);
  std::mt19937 generator{7};
  std::string failure;
};
} // namespace

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TEST_F(KernelsTest, OperandsAreBroadcast) {
  struct Case {
    SmallVector<int64_t> a, b, result;
  };
  for (const Case &test :
       {Case{{3, 4}, {3, 4}, {3, 4}}, Case{{3, 4}, {4}, {3, 4}},
        Case{{3, 1}, {1, 4}, {3, 4}}, Case{{2, 1, 5}, {3, 1}, {2, 3, 5}},
        Case{{}, {7}, {7}}, Case{{2, 3, 1}, {}, {2, 3, 1}},
        Case{{3000}, {3000}, {3000}}, Case{{2, 3000}, {2, 1}, {2, 3000}},
        Case{{0, 3}, {1}, {0, 3}}}) {
    TensorValue a = random(test.a, f32), b = random(test.b, f32);
    TensorValue result = map(MapFunction::Sub, {a.get(), b.get()}, f32);
    ASSERT_EQ(result->getSizes(), ArrayRef<int64_t>(test.result));
    std::vector<double> x = getNumbers(*a), y = getNumbers(*b),
                        z = getNumbers(*result);
    SmallVector<int64_t> strides[] = {getBroadcastStrides(test.a, test.result),
                                      getBroadcastStrides(test.b, test.result)};
    size_t position = 0;
    forEachOffset(test.result, strides, [&](ArrayRef<int64_t> offsets) {
      EXPECT_EQ(z[position++], x[offsets[0]] - y[offsets[1]]);
    });
  }
}

TEST_F(KernelsTest, SizesThatDoNotFitAreRefused) {
  TensorValue a = random({3}, f32), b = random({4}, f32);
  EXPECT_FALSE(mapElements(MapFunction::Add, {a.get(), b.get()}, f32, failure));
  EXPECT_EQ(failure, "operands of sizes [3] and [4] do not match");
}

TEST_F(KernelsTest, ScalarsDoNotPromoteWithinTheirCategory) {
  // 1 + 2^-30 is lost in f32, which the scalar of type f64 does not widen.
  TensorValue one = make({1}, f32, {1.0}), tiny = make({}, f64, {0x1p-30});
  TensorValue sum = map(MapFunction::Add, {one.get(), tiny.get()}, f64);
  EXPECT_EQ(getNumbers(*sum)[0], 1.0);
  // A tensor with dims does.
  TensorValue tinyToo = make({1}, f64, {0x1p-30});
  sum = map(MapFunction::Add, {one.get(), tinyToo.get()}, f64);
  EXPECT_EQ(getNumbers(*sum)[0], 1.0 + 0x1p-30);
}

TEST_F(KernelsTest, IntegersBesideNarrowFloatsAreRoundedToThem) {
  TensorValue integer = make({1}, i64, {257}), zero = make({1}, bf16, {0});
  TensorValue sum = map(MapFunction::Add, {integer.get(), zero.get()}, f32);
  EXPECT_EQ(getNumbers(*sum)[0], 256);
}

TEST_F(KernelsTest, NanWinsMaximumAndComparesFalse) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  TensorValue a = make({3}, f32, {nan, 1, 2}), b = make({3}, f32, {1, nan, 3});
  std::vector<double> largest =
      getNumbers(*map(MapFunction::Maximum, {a.get(), b.get()}, f32));
  EXPECT_TRUE(std::isnan(largest[0]));
  EXPECT_TRUE(std::isnan(largest[1]));
  EXPECT_EQ(largest[2], 3);
  EXPECT_EQ(getNumbers(*map(MapFunction::Less, {a.get(), b.get()}, i1)),
            (std::vector<double>{0, 0, 1}));
}

TEST_F(KernelsTest, ExponentialIsAccurate) {
  std::vector<double> numbers;
  for (double number = -110; number < 95; number += 0.0003)
    numbers.push_back(static_cast<float>(number));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  llvm::append_range(numbers, std::vector<double>{0.0, infinity, -infinity});
  TensorValue input = make({int64_t(numbers.size())}, f32, numbers);
  std::vector<double> got =
      getNumbers(*map(MapFunction::Exp, {input.get()}, f32));
  for (auto [number, result] : llvm::zip_equal(numbers, got)) {
    auto expected = static_cast<float>(std::exp(number));
    // Two units in the last place; below, the least subnormal number.
    double tolerance = std::max(std::abs(expected) * 0x1p-22, 0x1p-149);
    if (std::isinf(expected))
      EXPECT_EQ(result, expected) << number;
    else
      EXPECT_LE(std::abs(result - expected), tolerance) << number;
  }
  double nan = std::numeric_limits<double>::quiet_NaN();
  TensorValue noNumber = make({1}, f32, {nan});
  EXPECT_TRUE(
      std::isnan(getNumbers(*map(MapFunction::Exp, {noNumber.get()}, f32))[0]));
}

TEST_F(KernelsTest, ComplementOfATruthValueIsOneBit) {
  TensorValue truths = make({2}, i1, {0, 1});
  EXPECT_EQ(getNumbers(*map(MapFunction::BitwiseNot, {truths.get()}, i1)),
            (std::vector<double>{1, 0}));
}

TEST_F(KernelsTest, DivisionOfIntegersByZeroIsRefused) {
  TensorValue one = make({1}, i64, {1}), zero = make({1}, i64, {0});
  EXPECT_FALSE(mapElements(MapFunction::FloorDiv, {one.get(), zero.get()}, i64,
                           failure));
  EXPECT_EQ(failure, "integer division by zero");
  EXPECT_FALSE(mapElements(MapFunction::BitwiseAnd, {one.get(), zero.get()},
                           f32, failure));
  EXPECT_EQ(failure, "bitwise_and is not defined for these element types");
}

TEST_F(KernelsTest, UnsignedNumbersBeyondSigned) {
  auto make = [&](ArrayRef<uint64_t> numbers) {
    std::shared_ptr<Tensor> tensor =
        Tensor::allocate({int64_t(numbers.size())}, u64);
    llvm::copy(numbers, tensor->getMutableDataAs<uint64_t>());
    return tensor;
  };
  auto getUnsigned = [](const TensorValue &tensor) {
    const auto *data = tensor->getDataAs<uint64_t>();
    return std::vector<uint64_t>(data, data + tensor->getNumElements());
  };
  using Numbers = std::vector<uint64_t>;
  constexpr uint64_t half = uint64_t(1) << 63, last = ~uint64_t(0);
  TensorValue a = make({half, last, 5, 7}), b = make({3, half, last - 1, 7});
  auto compute = [&](MapFunction function) {
    return getUnsigned(map(function, {a.get(), b.get()}, u64));
  };
  EXPECT_EQ(compute(MapFunction::Maximum), (Numbers{half, last, last - 1, 7}));
  EXPECT_EQ(compute(MapFunction::Minimum), (Numbers{3, half, 5, 7}));
  EXPECT_EQ(compute(MapFunction::FloorDiv), (Numbers{half / 3, 1, 0, 1}));
  EXPECT_EQ(compute(MapFunction::Remainder),
            (Numbers{half % 3, last % half, 5, 0}));
  EXPECT_EQ(compute(MapFunction::Mul), (Numbers{half, half, last - 9, 49}));
  EXPECT_EQ(getNumbers(*map(MapFunction::Less, {a.get(), b.get()}, i1)),
            (std::vector<double>{0, 0, 1, 0}));
  EXPECT_EQ(getNumbers(*map(MapFunction::Div, {a.get(), b.get()}, f64)),
            (std::vector<double>{0x1p63 / 3, 2, 5 / 0x1p64, 1}));
  EXPECT_EQ(getUnsigned(map(MapFunction::Sign, {a.get()}, u64)),
            (Numbers{1, 1, 1, 1}));
  EXPECT_EQ(getUnsigned(map(MapFunction::Abs, {a.get()}, u64)), getUnsigned(a));
  // A scalar does not promote: -1 is the last number.
  std::shared_ptr<Tensor> minusOne = Tensor::allocate({}, i64);
  *minusOne->getMutableDataAs<int64_t>() = -1;
  EXPECT_EQ(getNumbers(
                *map(MapFunction::GreaterEqual, {a.get(), minusOne.get()}, i1)),
            (std::vector<double>{0, 1, 0, 0}));

  EXPECT_EQ(
      getUnsigned(reduceElements(ReductionKind::Max, *a, {0}, false, u64)),
      Numbers{last});
  EXPECT_EQ(
      getUnsigned(reduceElements(ReductionKind::Min, *b, {0}, false, u64)),
      Numbers{3});
  EXPECT_EQ(
      getNumbers(*reduceElements(ReductionKind::Sum, *a, {0}, false, f64)),
      std::vector<double>{0x1p63 + 0x1p64});
  EXPECT_EQ(getUnsigned(combineTensors(ReductionKind::Avg, {a.get(), a.get()},
                                       u64, failure)),
            (Numbers{0, half - 1, 5, 7}));
  EXPECT_EQ(getNumbers(*castElements(*a, f32)),
            (std::vector<double>{0x1p63, 0x1p64, 5, 7}));

  std::shared_ptr<Tensor> table = Tensor::allocate({3}, f32);
  EXPECT_FALSE(
      takeRows(*table, *make({last}), 0, /*wrapsNegative=*/true, failure));
  EXPECT_EQ(failure, "index 18446744073709551615 is out of range: dim 0 of the "
                     "table has size 3");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TEST_F(KernelsTest, ReductionsOverAnyDims) {
  SmallVector<int64_t> sizes = {3, 4, 5, 2};
  for (Type type : {f32, bf16, f64, i64}) {
    TensorValue input = random(sizes, type);
    std::vector<double> numbers = getNumbers(*input);
    for (unsigned mask = 0; mask < 16; ++mask) {
      SmallVector<int64_t> dims, kept(sizes);
      for (int64_t dim = 0; dim < 4; ++dim)
        if (mask & 1u << dim) {
          dims.push_back(dim);
          kept[dim] = 1;
        }
      SmallVector<int64_t> strides[] = {getRowMajorStrides(sizes),
                                        getBroadcastStrides(kept, sizes)};
      std::vector<double> sums(getNumElements(kept), 0),
          largest(getNumElements(kept), -100);
      forEachOffset(sizes, strides, [&](ArrayRef<int64_t> offsets) {
        sums[offsets[1]] += numbers[offsets[0]];
        largest[offsets[1]] =
            std::max(largest[offsets[1]], numbers[offsets[0]]);
      });
      TensorValue sum =
          reduceElements(ReductionKind::Sum, *input, dims, true, type);
      EXPECT_EQ(sum->getSizes(), ArrayRef<int64_t>(kept));
      EXPECT_EQ(getNumbers(*sum), sums) << mask;
      TensorValue max =
          reduceElements(ReductionKind::Max, *input, dims, false, type);
      EXPECT_EQ(max->getRank(), int64_t(4 - dims.size()));
      EXPECT_EQ(getNumbers(*max), largest) << mask;
    }
  }
}

TEST_F(KernelsTest, LongSumsOfSmallNumbersAreAccurate) {
  // One after the other, the sum in f32 would stop growing at 2^24.
  constexpr int64_t count = 20000000;
  TensorValue ones = fill(int64_t(1), {count}, i8);
  TensorValue wide = castElements(*ones, f32);
  for (const SmallVector<int64_t> &sizes :
       {SmallVector<int64_t>{count}, SmallVector<int64_t>{count / 2, 2}}) {
    Tensor view(sizes, f32, wide->getSharedData());
    TensorValue sum = reduceElements(ReductionKind::Sum, view, {0}, false, f32);
    for (double number : getNumbers(*sum))
      EXPECT_EQ(number, double(sizes[0]));
  }
}

TEST_F(KernelsTest, ReductionsOfNothing) {
  TensorValue empty = random({2, 0}, f32);
  EXPECT_EQ(
      getNumbers(*reduceElements(ReductionKind::Sum, *empty, {1}, false, f32)),
      (std::vector<double>{0, 0}));
  EXPECT_EQ(getNumbers(*reduceElements(ReductionKind::Product, *empty, {1},
                                       false, f32)),
            (std::vector<double>{1, 1}));
  EXPECT_TRUE(std::isnan(getNumbers(
      *reduceElements(ReductionKind::Avg, *empty, {1}, false, f32))[0]));
}

TEST_F(KernelsTest, CumulativeSums) {
  TensorValue input =
      make({2, 3, 2}, i64, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(getNumbers(*sumCumulatively(*input, 1, i64)),
            (std::vector<double>{1, 2, 4, 6, 9, 12, 7, 8, 16, 18, 27, 30}));
  EXPECT_EQ(getNumbers(*sumCumulatively(*input, 2, f32)),
            (std::vector<double>{1, 3, 3, 7, 5, 11, 7, 15, 9, 19, 11, 23}));
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

TEST_F(KernelsTest, ProductsOfEveryTypeAndTransposition) {
  struct Case {
    SmallVector<int64_t> lhsBatch, rhsBatch, batch;
    int64_t rows, inner, columns;
  };
  SmallVector<Case> cases = {
      {{}, {}, {}, 3, 5, 4},          {{2, 3}, {}, {2, 3}, 4, 8, 16},
      {{2, 1}, {3}, {2, 3}, 2, 3, 4}, {{}, {2}, {2}, 1, 7, 1},
      {{2}, {1}, {2}, 3, 2, 5},       {{1}, {2}, {2}, 64, 48, 80},
      {{}, {}, {}, 3, 0, 4},          {{0}, {}, {0}, 3, 2, 4},
      {{}, {}, {}, 600, 40, 50},      {{2}, {}, {2}, 300, 20, 64}};
  for (Type type : {f32, bf16, f16, f64, i64, i8})
    for (const Case &test : cases)
      for (unsigned mask = 0; mask < 8; ++mask) {
        bool transposesLhs = mask & 1, transposesRhs = mask & 2,
             hasBias = mask & 4;
        SmallVector<int64_t> lhsSizes(test.lhsBatch), rhsSizes(test.rhsBatch),
            sizes(test.batch);
        lhsSizes.append({test.rows, test.inner});
        rhsSizes.append({test.inner, test.columns});
        sizes.append({test.rows, test.columns});
        if (transposesLhs)
          std::swap(lhsSizes.end()[-1], lhsSizes.end()[-2]);
        if (transposesRhs)
          std::swap(rhsSizes.end()[-1], rhsSizes.end()[-2]);
        TensorValue lhs = random(lhsSizes, type), rhs = random(rhsSizes, type);
        TensorValue bias = random({test.columns}, type);
        TensorValue product = multiplyMatrices(
            {*lhs, transposesLhs}, {*rhs, transposesRhs},
            hasBias ? bias.get() : nullptr, type == bf16 ? f32 : type, failure);
        ASSERT_TRUE(product) << failure;
        ASSERT_EQ(product->getSizes(), ArrayRef<int64_t>(sizes));

        std::vector<double> a = getNumbers(*lhs), b = getNumbers(*rhs),
                            c = getNumbers(*bias), got = getNumbers(*product);
        SmallVector<int64_t> batchStrides[] = {
            getBroadcastStrides(test.lhsBatch, test.batch),
            getBroadcastStrides(test.rhsBatch, test.batch)};
        size_t position = 0;
        forEachOffset(test.batch, batchStrides, [&](ArrayRef<int64_t> offsets) {
          const double *x = a.data() + offsets[0] * test.rows * test.inner;
          const double *y = b.data() + offsets[1] * test.inner * test.columns;
          for (int64_t i = 0; i < test.rows; ++i)
            for (int64_t j = 0; j < test.columns; ++j) {
              double sum = hasBias ? c[j] : 0;
              for (int64_t k = 0; k < test.inner; ++k)
                sum +=
                    x[transposesLhs ? k * test.rows + i : i * test.inner + k] *
                    y[transposesRhs ? j * test.inner + k
                                    : k * test.columns + j];
              if (type == i8)
                sum = static_cast<int8_t>(static_cast<int64_t>(sum));
              ASSERT_EQ(got[position++], sum);
            }
        });
      }
}

TEST_F(KernelsTest, ProductsShareARightHandSide) {
  for (Type type : {f32, bf16, f16, i64}) {
    TensorValue lhs = random({600, 70}, type), rhs = random({70, 90}, type);
    TensorValue whole =
        multiplyMatrices({*lhs}, {*rhs}, nullptr, type, failure);
    SharedPacking packing{600, nullptr};
    for (auto [begin, end] : {std::pair(0, 64), std::pair(64, 65),
                              std::pair(65, 500), std::pair(500, 600)}) {
      tp::StridedView rows =
          tp::getSliceView(lhs->getSizes(), 0, begin, 1, end - begin);
      TensorValue part = gatherStrided(*lhs, rows);
      TensorValue product = multiplyMatrices({*part}, {*rhs, false, &packing},
                                             nullptr, type, failure);
      ASSERT_TRUE(product) << failure;
      std::vector<double> all = getNumbers(*whole), got = getNumbers(*product);
      for (size_t index = 0; index < got.size(); ++index)
        ASSERT_EQ(got[index], all[size_t(begin) * 90 + index]);
    }
  }
}

TEST_F(KernelsTest, ProductsThatDoNotFitAreRefused) {
  TensorValue a = random({3, 4}, f32), b = random({5, 2}, f32);
  EXPECT_FALSE(multiplyMatrices({*a}, {*b}, nullptr, f32, failure));
  EXPECT_EQ(failure,
            "matrices of sizes [3, 4] and [5, 2] cannot be multiplied");
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

TEST_F(KernelsTest, StridedGathersOfEveryElementSize) {
  for (Type type : {i8, bf16, f32, f64}) {
    TensorValue input = random({40, 3, 50}, type);
    std::vector<double> numbers = getNumbers(*input);
    // Permuted, sliced with a step, repeated.
    struct Case {
      SmallVector<int64_t> sizes, strides;
      int64_t start;
    };
    for (const Case &test :
         {Case{{50, 3, 40}, {1, 50, 150}, 0},
          Case{{3, 40, 50}, {50, 150, 1}, 0},
          Case{{40, 50, 3}, {150, 1, 50}, 0},
          Case{{40, 3, 20}, {150, 50, 2}, 7},
          Case{{2, 40, 3, 50}, {0, 150, 50, 1}, 0},
          Case{{10, 3, 50}, {150, 50, 1}, 150}, Case{{0, 3}, {1, 1}, 0}}) {
      TensorValue result =
          gatherStrided(*input, {test.sizes, test.strides, test.start});
      std::vector<double> got = getNumbers(*result);
      SmallVector<int64_t> strides[] = {test.strides};
      size_t position = 0;
      forEachOffset(test.sizes, strides, [&](ArrayRef<int64_t> offsets) {
        ASSERT_EQ(got[position++], numbers[test.start + offsets[0]]);
      });
      EXPECT_EQ(position, got.size());
    }
  }
}

TEST_F(KernelsTest, DenseSlicesShareMemory) {
  TensorValue input = random({4, 6}, f32);
  TensorValue rows = gatherStrided(*input, {{2, 6}, {6, 1}, 6});
  EXPECT_EQ(rows->getData(), input->getData() + 24);
}

TEST_F(KernelsTest, IndicesOutOfRangeAreRefused) {
  TensorValue table = random({3, 2}, f32), one = make({1}, i64, {-1});
  EXPECT_TRUE(takeRows(*table, *one, 0, /*wrapsNegative=*/true, failure));
  EXPECT_FALSE(takeRows(*table, *one, 0, /*wrapsNegative=*/false, failure));
  EXPECT_EQ(failure, "index -1 is out of range: dim 0 of the table has size 3");
}

TEST_F(KernelsTest, ConcatenationAlongAnyDim) {
  TensorValue a = make({2, 1}, f32, {1, 2}),
              b = make({2, 2}, f32, {3, 4, 5, 6});
  EXPECT_EQ(getNumbers(*concatenate({a.get(), b.get()}, 1, failure)),
            (std::vector<double>{1, 3, 4, 2, 5, 6}));
  EXPECT_FALSE(concatenate({a.get(), b.get()}, 0, failure));
  EXPECT_EQ(failure, "tensors of sizes [2, 1] and [2, 2] cannot be "
                     "concatenated along dim 0");
}
