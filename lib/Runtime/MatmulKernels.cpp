//===- MatmulKernels.cpp - matrix products ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include <dnnl.h>
#include <list>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

namespace {
/// Sizes of a product [batch..., rows, columns] over `inner`.
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

/// Sizes and strides of an operand as [batch..., rows, columns], the operand's
/// own transposition undone.
struct MatrixView {
  SmallVector<int64_t> sizes;
  SmallVector<int64_t> strides;
};
} // namespace

static MatrixView getView(const MatmulOperand &operand) {
  MatrixView view{SmallVector<int64_t>(operand.tensor.getSizes()),
                  getRowMajorStrides(operand.tensor.getSizes())};
  if (operand.isTransposed) {
    size_t rank = view.sizes.size();
    std::swap(view.sizes[rank - 2], view.sizes[rank - 1]);
    std::swap(view.strides[rank - 2], view.strides[rank - 1]);
  }
  return view;
}

//===----------------------------------------------------------------------===//
// f64 and integers
//===----------------------------------------------------------------------===//

/// The matrix at `offset` as a dense array of numbers.
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
    // Like those of a broadcast operand, in whole matrices.
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
// oneDNN
//===----------------------------------------------------------------------===//

namespace {
template <typename Object, dnnl_status_t (*destroy)(Object)>
struct Destroyer {
  using pointer = Object;
  void operator()(Object object) const { destroy(object); }
};
template <typename Object, dnnl_status_t (*destroy)(Object)>
using Owned = std::unique_ptr<Object, Destroyer<Object, destroy>>;
using Engine = Owned<dnnl_engine_t, dnnl_engine_destroy>;
using Stream = Owned<dnnl_stream_t, dnnl_stream_destroy>;
using Memory = Owned<dnnl_memory_t, dnnl_memory_destroy>;
using PrimitiveDesc = Owned<dnnl_primitive_desc_t, dnnl_primitive_desc_destroy>;
using Primitive = Owned<dnnl_primitive_t, dnnl_primitive_destroy>;
} // namespace

/// oneDNN's calls fail for want of memory or for what it does not support; both
/// show at the caller as a product that was not made.
static dnnl_engine_t getEngine() {
  static Engine engine = [] {
    dnnl_engine_t made = nullptr;
    dnnl_engine_create(&made, dnnl_cpu, 0);
    return Engine(made);
  }();
  return engine.get();
}

static dnnl_data_type_t getDataType(ElementKind kind) {
  return kind == ElementKind::BF16 ? dnnl_bf16 : dnnl_f32;
}

static bool describeMemory(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                           ElementKind kind, dnnl_memory_desc_t &result) {
  dnnl_dims_t dims, dimStrides;
  llvm::copy(sizes, dims);
  llvm::copy(strides, dimStrides);
  return dnnl_memory_desc_init_by_strides(&result, sizes.size(), dims,
                                          getDataType(kind),
                                          dimStrides) == dnnl_success;
}

namespace {
/// The operands of a product: left, right, bias (without dims where there is
/// none) and the result.
struct ProductDesc {
  std::array<dnnl_memory_desc_t, 4> tensors;

  bool operator==(const ProductDesc &other) const {
    return llvm::equal(
        tensors, other.tensors,
        [](const dnnl_memory_desc_t &a, const dnnl_memory_desc_t &b) {
          return dnnl_memory_desc_equal(&a, &b) != 0;
        });
  }
};
} // namespace

static Primitive makePrimitive(const ProductDesc &product) {
  const auto &[left, right, bias, result] = product.tensors;
  dnnl_matmul_desc_t operation;
  if (dnnl_matmul_desc_init(&operation, &left, &right,
                            bias.ndims ? &bias : nullptr,
                            &result) != dnnl_success)
    return {};
  dnnl_primitive_desc_t madeDesc = nullptr;
  if (dnnl_primitive_desc_create(&madeDesc, &operation, nullptr, getEngine(),
                                 nullptr) != dnnl_success)
    return {};
  PrimitiveDesc primitiveDesc(madeDesc);
  dnnl_primitive_t made = nullptr;
  if (dnnl_primitive_create(&made, madeDesc) != dnnl_success)
    return {};
  return Primitive(made);
}

/// oneDNN's code for a product; null where it has none on this machine. The
/// last ones stay: they hold on to the memory that they work in, which would be
/// cleared anew for each product. It belongs to the thread.
static dnnl_primitive_t getPrimitive(const ProductDesc &product) {
  constexpr size_t mostKept = 16;
  thread_local std::list<std::pair<ProductDesc, Primitive>> kept;
  auto found = llvm::find_if(
      kept, [&](const auto &entry) { return entry.first == product; });
  if (found == kept.end()) {
    Primitive made = makePrimitive(product);
    if (!made)
      return nullptr;
    kept.emplace_front(product, std::move(made));
    if (kept.size() > mostKept)
      kept.pop_back();
  } else {
    kept.splice(kept.begin(), kept, found);
  }
  return kept.front().second.get();
}

/// Puts dims of size 1 in front; their strides do not matter.
static void padRank(MatrixView &view, size_t rank) {
  int64_t stride = runtime::getNumElements(view.sizes);
  view.sizes.insert(view.sizes.begin(), rank - view.sizes.size(), 1);
  view.strides.insert(view.strides.begin(), rank - view.strides.size(), stride);
}

/// Joins batch and rows where one right-hand side serves all: one big product
/// is faster than many small ones.
static void joinBatch(const MatmulOperand &lhs, MatrixView &left,
                      MatrixView &right, MatrixView &product) {
  bool sharesRight = llvm::all_of(ArrayRef<int64_t>(right.sizes).drop_back(2),
                                  [](int64_t size) { return size == 1; });
  if (lhs.isTransposed || !sharesRight ||
      runtime::getNumElements(left.sizes) / left.sizes.back() *
              product.sizes.back() !=
          runtime::getNumElements(product.sizes))
    return;
  for (MatrixView *view : {&left, &product}) {
    int64_t rows = runtime::getNumElements(view->sizes) / view->sizes.back();
    view->sizes = {rows, view->sizes.back()};
    view->strides = {view->sizes.back(), 1};
  }
  right.sizes.erase(right.sizes.begin(), right.sizes.end() - 2);
  right.strides.erase(right.strides.begin(), right.strides.end() - 2);
}

/// False where oneDNN does not do this product on this machine.
static bool multiplyByLibrary(const MatmulOperand &lhs,
                              const MatmulOperand &rhs, const Tensor *bias,
                              Tensor &result) {
  MatrixView left = getView(lhs), right = getView(rhs);
  MatrixView product{SmallVector<int64_t>(result.getSizes()),
                     getRowMajorStrides(result.getSizes())};
  joinBatch(lhs, left, right, product);
  size_t rank = product.sizes.size();
  if (rank > DNNL_MAX_NDIMS)
    return false;
  padRank(left, rank);
  padRank(right, rank);

  dnnl_memory_desc_t leftDesc, rightDesc, biasDesc, productDesc;
  if (!describeMemory(left.sizes, left.strides, lhs.tensor.getKind(),
                      leftDesc) ||
      !describeMemory(right.sizes, right.strides, rhs.tensor.getKind(),
                      rightDesc) ||
      !describeMemory(product.sizes, product.strides, result.getKind(),
                      productDesc))
    return false;
  if (bias) {
    SmallVector<int64_t> sizes(rank, 1);
    sizes.back() = bias->getNumElements();
    if (!describeMemory(sizes, getRowMajorStrides(sizes), bias->getKind(),
                        biasDesc))
      return false;
  }

  dnnl_primitive_t primitive =
      getPrimitive({leftDesc, rightDesc, bias ? biasDesc : dnnl_memory_desc_t(),
                    productDesc});
  if (!primitive)
    return false;
  dnnl_engine_t engine = getEngine();
  dnnl_stream_t madeStream = nullptr;
  if (dnnl_stream_create(&madeStream, engine, dnnl_stream_default_flags) !=
      dnnl_success)
    return false;
  Stream stream(madeStream);

  SmallVector<Memory> memories;
  SmallVector<dnnl_exec_arg_t> arguments;
  auto addArgument = [&](int role, const dnnl_memory_desc_t &desc,
                         const std::byte *data) {
    dnnl_memory_t memory = nullptr;
    // oneDNN's interface has no constness.
    if (dnnl_memory_create(&memory, &desc, engine,
                           const_cast<std::byte *>(data)) != dnnl_success)
      return false;
    memories.emplace_back(memory);
    arguments.push_back({role, memory});
    return true;
  };
  return addArgument(DNNL_ARG_SRC, leftDesc, lhs.tensor.getData()) &&
         addArgument(DNNL_ARG_WEIGHTS, rightDesc, rhs.tensor.getData()) &&
         (!bias || addArgument(DNNL_ARG_BIAS, biasDesc, bias->getData())) &&
         addArgument(DNNL_ARG_DST, productDesc, result.getData()) &&
         dnnl_primitive_execute(primitive, stream.get(), arguments.size(),
                                arguments.data()) == dnnl_success &&
         dnnl_stream_wait(stream.get()) == dnnl_success;
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {
/// A tensor in f32: itself, or a copy.
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

/// Products in single precision: bf16 as it is where the machine has it, all
/// other narrow floats by f32.
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
      isNative(result.getKind()) && multiplyByLibrary(lhs, rhs, bias, result))
    return;

  InFloat32 left(lhs.tensor), right(rhs.tensor);
  MatmulOperand wideLhs{left.get(), lhs.isTransposed};
  MatmulOperand wideRhs{right.get(), rhs.isTransposed};
  std::shared_ptr<Tensor> wide;
  Tensor *product = &result;
  if (result.getKind() != ElementKind::F32) {
    wide = Tensor::allocate(
        shape.getSizes(),
        Float32Type::get(result.getElementType().getContext()));
    product = wide.get();
  }
  if (!multiplyByLibrary(wideLhs, wideRhs, bias, *product))
    multiplyPlainly<float>(wideLhs, wideRhs, bias, shape, *product);
  if (wide)
    castElementsInto(*wide, result);
}

/// nullopt for matrices that do not fit.
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
  // Nothing to sum, or nothing to compute: not a case for oneDNN.
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
