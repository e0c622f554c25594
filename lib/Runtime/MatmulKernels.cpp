//===- MatmulKernels.cpp - matrix products ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OneDnnMatmul.h"

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

namespace {
/// Sizes of a product [batch..., rows, columns] with contraction size `inner`.
struct ProductShape {
  SmallVector<int64_t> batch;
  int64_t rows = 0;
  int64_t inner = 0;
  int64_t columns = 0;

  SmallVector<int64_t> getSizes() const {
    SmallVector<int64_t> sizes(batch);
    sizes.append({rows, columns});
    return sizes;
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// f64 and integers
//===----------------------------------------------------------------------===//

/// Loads the matrix at `offset` into a dense array of numbers.
template <typename Compute>
static void loadMatrix(const Tensor &tensor, const MatrixView &view,
                       int64_t offset, std::vector<Compute> &target) {
  size_t rank = view.sizes.size();
  int64_t rows = view.sizes[rank - 2], columns = view.sizes[rank - 1];
  int64_t rowStride = view.strides[rank - 2];
  int64_t columnStride = view.strides[rank - 1];
  std::vector<Compute> stored(rows * columns);
  loadElements(tensor.getKind(),
               tensor.getData() +
                   offset * runtime::getNumBytes(tensor.getKind()),
               stored.size(), stored.data());
  target.resize(stored.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      target[row * columns + column] =
          stored[row * rowStride + column * columnStride];
}

template <typename Compute>
static void multiplyPlainly(const MatmulOperand &lhs, const MatmulOperand &rhs,
                            const Tensor *bias, const ProductShape &shape,
                            Tensor &result) {
  // Integers wrap.
  using Wrapping =
      std::conditional_t<std::is_integral_v<Compute>, uint64_t, Compute>;
  MatrixView left = getView(lhs), right = getView(rhs);
  std::vector<Compute> biases(shape.columns), a, b, sums(shape.columns);
  if (bias)
    loadElements(bias->getKind(), bias->getData(), biases.size(),
                 biases.data());
  auto getBatchStrides = [&](const MatrixView &view) {
    // Strides of a broadcast operand, in whole matrices.
    SmallVector<int64_t> strides = getBroadcastStrides(
        ArrayRef<int64_t>(view.sizes).drop_back(2), shape.batch);
    int64_t matrix = view.sizes[view.sizes.size() - 2] * view.sizes.back();
    for (int64_t &stride : strides)
      stride *= matrix;
    return strides;
  };
  unsigned numBytes = runtime::getNumBytes(result.getKind());
  std::byte *output = result.getMutableData();
  SmallVector<int64_t> batchStrides[] = {getBatchStrides(left),
                                         getBatchStrides(right)};
  forEachOffset(shape.batch, batchStrides, [&](ArrayRef<int64_t> offsets) {
    loadMatrix(lhs.tensor, left, offsets[0], a);
    loadMatrix(rhs.tensor, right, offsets[1], b);
    for (int64_t row = 0; row < shape.rows; ++row) {
      std::copy(biases.begin(), biases.end(), sums.begin());
      for (int64_t k = 0; k < shape.inner; ++k) {
        auto factor = static_cast<Wrapping>(a[row * shape.inner + k]);
        const Compute *other = b.data() + k * shape.columns;
        for (int64_t column = 0; column < shape.columns; ++column)
          sums[column] = static_cast<Compute>(
              static_cast<Wrapping>(sums[column]) +
              factor * static_cast<Wrapping>(other[column]));
      }
      storeElements(result.getKind(), sums.data(), sums.size(), output);
      output += sums.size() * numBytes;
    }
  });
}

//===----------------------------------------------------------------------===//
// Kernel selection
//===----------------------------------------------------------------------===//

namespace {
/// A tensor in f32: the tensor itself, or a converted copy.
class InFloat32 {
public:
  explicit InFloat32(const Tensor &tensor) : tensor(&tensor) {
    if (tensor.getKind() == ElementKind::F32)
      return;
    copy = castElements(tensor,
                        Float32Type::get(tensor.getElementType().getContext()));
    this->tensor = copy.get();
  }
  const Tensor &get() const { return *tensor; }

private:
  const Tensor *tensor;
  TensorValue copy;
};
} // namespace

/// Multiplies in single precision: in bf16 if the machine supports it, and in
/// f32 for all other narrow floats.
static void multiplyFloats(const MatmulOperand &lhs, const MatmulOperand &rhs,
                           const Tensor *bias, const ProductShape &shape,
                           Tensor &result) {
  auto isNative = [](ElementKind kind) {
    return kind == ElementKind::F32 || kind == ElementKind::BF16;
  };
  std::optional<InFloat32> wideBias;
  if (bias)
    bias = &wideBias.emplace(*bias).get();
  bool isMixed = lhs.tensor.getKind() != rhs.tensor.getKind() ||
                 (lhs.tensor.getKind() == ElementKind::F32 &&
                  result.getKind() != ElementKind::F32);
  if (!isMixed && isNative(lhs.tensor.getKind()) &&
      isNative(result.getKind()) && multiplyByOneDnn(lhs, rhs, bias, result))
    return;

  InFloat32 left(lhs.tensor), right(rhs.tensor);
  MatmulOperand wideLhs{left.get(), lhs.isTransposed};
  MatmulOperand wideRhs{right.get(), rhs.isTransposed, rhs.packing};
  std::shared_ptr<Tensor> wide;
  Tensor *product = &result;
  if (result.getKind() != ElementKind::F32) {
    wide = Tensor::allocate(
        shape.getSizes(),
        Float32Type::get(result.getElementType().getContext()));
    product = wide.get();
  }
  if (!multiplyByOneDnn(wideLhs, wideRhs, bias, *product))
    multiplyPlainly<float>(wideLhs, wideRhs, bias, shape, *product);
  if (wide)
    castElementsInto(*wide, result);
}

/// Returns nullopt if the sizes do not match.
static std::optional<ProductShape> getShape(const MatmulOperand &lhs,
                                            const MatmulOperand &rhs,
                                            std::string &failure) {
  MatrixView left = getView(lhs), right = getView(rhs);
  ProductShape shape;
  size_t leftRank = left.sizes.size(), rightRank = right.sizes.size();
  shape.rows = left.sizes[leftRank - 2];
  shape.inner = left.sizes[leftRank - 1];
  shape.columns = right.sizes[rightRank - 1];
  if (right.sizes[rightRank - 2] == shape.inner &&
      broadcastSizes(ArrayRef<int64_t>(left.sizes).drop_back(2), shape.batch) &&
      broadcastSizes(ArrayRef<int64_t>(right.sizes).drop_back(2), shape.batch))
    return shape;
  failure = "matrices of sizes " + formatSizes(left.sizes) + " and " +
            formatSizes(right.sizes) + " cannot be multiplied";
  return std::nullopt;
}

static void multiply(const MatmulOperand &lhs, const MatmulOperand &rhs,
                     const Tensor *bias, const ProductShape &shape,
                     Tensor &result) {
  ComputeKind compute = std::max({getComputeKind(lhs.tensor.getKind()),
                                  getComputeKind(rhs.tensor.getKind()),
                                  getComputeKind(result.getKind())});
  // oneDNN does not accept empty matrices.
  bool isEmpty = shape.inner == 0 || result.getNumElements() == 0;
  if (compute == ComputeKind::Single && !isEmpty)
    return multiplyFloats(lhs, rhs, bias, shape, result);
  dispatch(compute, [&](auto zero) {
    multiplyPlainly<decltype(zero)>(lhs, rhs, bias, shape, result);
  });
}

TensorValue runtime::multiplyMatrices(MatmulOperand lhs, MatmulOperand rhs,
                                      const Tensor *bias, Type type,
                                      std::string &failure) {
  std::optional<ProductShape> shape = getShape(lhs, rhs, failure);
  if (!shape)
    return nullptr;
  std::shared_ptr<Tensor> result = Tensor::allocate(shape->getSizes(), type);
  multiply(lhs, rhs, bias, *shape, *result);
  return result;
}

bool runtime::multiplyMatricesInto(MatmulOperand lhs, MatmulOperand rhs,
                                   const Tensor *bias, Tensor &result,
                                   std::string &failure) {
  std::optional<ProductShape> shape = getShape(lhs, rhs, failure);
  if (!shape)
    return false;
  if (result.getSizes() != ArrayRef<int64_t>(shape->getSizes())) {
    failure = "a product of sizes " + formatSizes(shape->getSizes()) +
              " does not fit a tensor of sizes " +
              formatSizes(result.getSizes());
    return false;
  }
  multiply(lhs, rhs, bias, *shape, result);
  return true;
}
