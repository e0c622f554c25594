//===- OneDnnMatmul.cpp - matrix products with oneDNN -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OneDnnMatmul.h"

#include <dnnl.h>
#include <list>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

MatrixView runtime::getView(const MatmulOperand &operand) {
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

/// oneDNN's calls fail if memory is short or a feature is unsupported. In both
/// cases, the caller falls back to another kernel.
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

//===----------------------------------------------------------------------===//
// Primitives
//===----------------------------------------------------------------------===//

namespace {
/// The operands of a product: left, right, bias (rank 0 if there is none) and
/// the result. The layout of the right one may be left to oneDNN.
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

/// oneDNN's primitive for a product, and the layout of its right-hand side.
struct Product {
  Primitive primitive;
  dnnl_memory_desc_t right;
};
} // namespace

static std::optional<Product> makeProduct(const ProductDesc &product) {
  const auto &[left, right, bias, result] = product.tensors;
  dnnl_matmul_desc_t operation;
  if (dnnl_matmul_desc_init(&operation, &left, &right,
                            bias.ndims ? &bias : nullptr,
                            &result) != dnnl_success)
    return std::nullopt;
  dnnl_primitive_desc_t madeDesc = nullptr;
  if (dnnl_primitive_desc_create(&madeDesc, &operation, nullptr, getEngine(),
                                 nullptr) != dnnl_success)
    return std::nullopt;
  PrimitiveDesc primitiveDesc(madeDesc);
  const dnnl_memory_desc_t *chosen =
      dnnl_primitive_desc_query_md(madeDesc, dnnl_query_weights_md, 0);
  dnnl_primitive_t made = nullptr;
  if (!chosen || dnnl_primitive_create(&made, madeDesc) != dnnl_success)
    return std::nullopt;
  return Product{Primitive(made), *chosen};
}

/// Returns null if oneDNN does not support the product on this machine. Caches
/// the most recent primitives per thread, because they own scratch memory that
/// would otherwise be allocated for each product.
static const Product *getProduct(const ProductDesc &desc) {
  constexpr size_t mostKept = 16;
  thread_local std::list<std::pair<ProductDesc, Product>> kept;
  auto found = llvm::find_if(
      kept, [&](const auto &entry) { return entry.first == desc; });
  if (found == kept.end()) {
    std::optional<Product> made = makeProduct(desc);
    if (!made)
      return nullptr;
    kept.emplace_front(desc, std::move(*made));
    if (kept.size() > mostKept)
      kept.pop_back();
  } else {
    kept.splice(kept.begin(), kept, found);
  }
  return &kept.front().second;
}

namespace {
/// A primitive's argument: its role and its data.
struct Argument {
  int role;
  const dnnl_memory_desc_t &desc;
  const std::byte *data;
};
} // namespace

static bool execute(dnnl_primitive_t primitive, ArrayRef<Argument> arguments) {
  dnnl_engine_t engine = getEngine();
  dnnl_stream_t madeStream = nullptr;
  if (dnnl_stream_create(&madeStream, engine, dnnl_stream_default_flags) !=
      dnnl_success)
    return false;
  Stream stream(madeStream);
  SmallVector<Memory> memories;
  SmallVector<dnnl_exec_arg_t> given;
  for (const Argument &argument : arguments) {
    dnnl_memory_t memory = nullptr;
    // oneDNN's interface is not const-correct.
    if (dnnl_memory_create(&memory, &argument.desc, engine,
                           const_cast<std::byte *>(argument.data)) !=
        dnnl_success)
      return false;
    memories.emplace_back(memory);
    given.push_back({argument.role, memory});
  }
  return dnnl_primitive_execute(primitive, stream.get(), given.size(),
                                given.data()) == dnnl_success &&
         dnnl_stream_wait(stream.get()) == dnnl_success;
}

//===----------------------------------------------------------------------===//
// Right-hand sides
//===----------------------------------------------------------------------===//

namespace commute::runtime {
class PackedMatrix {
public:
  dnnl_memory_desc_t desc;
  TensorValue data;
};
} // namespace commute::runtime

/// A product first copies the parts of the right-hand side that it reads to
/// contiguous memory, or else reads across pages. Packing the whole right-hand
/// side takes as long as multiplying 35 to 60 rows, and is profitable if
/// several products share it. A single product may become slower: if the
/// matrices fit in the cache, or if the right-hand side is transposed, which
/// takes longer to pack.
static constexpr int64_t leastPackedRows = 512;

static std::shared_ptr<const PackedMatrix> pack(const Tensor &matrix,
                                                const dnnl_memory_desc_t &from,
                                                const dnnl_memory_desc_t &to) {
  dnnl_primitive_desc_t madeDesc = nullptr;
  if (dnnl_reorder_primitive_desc_create(&madeDesc, &from, getEngine(), &to,
                                         getEngine(), nullptr) != dnnl_success)
    return nullptr;
  PrimitiveDesc primitiveDesc(madeDesc);
  dnnl_primitive_t made = nullptr;
  if (dnnl_primitive_create(&made, madeDesc) != dnnl_success)
    return nullptr;
  Primitive reorder(made);
  auto numElements = static_cast<int64_t>(
      dnnl_memory_desc_get_size(&to) / runtime::getNumBytes(matrix.getKind()));
  TensorValue data = Tensor::allocate({numElements}, matrix.getElementType());
  if (!execute(reorder.get(), {{DNNL_ARG_FROM, from, matrix.getData()},
                               {DNNL_ARG_TO, to, data->getData()}}))
    return nullptr;
  return std::make_shared<PackedMatrix>(to, std::move(data));
}

/// Returns the product with a packed right-hand side, or null if that is not
/// profitable or oneDNN has no packed layout.
static const Product *getPackedProduct(ProductDesc desc, const Tensor &rhs,
                                       SharedPacking *packing) {
  auto &right = desc.tensors[1];
  if (!packing || right.ndims != 2 || packing->numRows < leastPackedRows)
    return nullptr;
  dnnl_memory_desc_t given = right;
  if (dnnl_memory_desc_init_by_tag(&right, given.ndims, given.dims,
                                   given.data_type,
                                   dnnl_format_tag_any) != dnnl_success)
    return nullptr;
  const Product *product = getProduct(desc);
  if (!product || dnnl_memory_desc_equal(&product->right, &given))
    return nullptr;
  if (!packing->packed)
    packing->packed = pack(rhs, given, product->right);
  // oneDNN may choose another layout for another number of rows.
  bool fits = packing->packed &&
              dnnl_memory_desc_equal(&packing->packed->desc, &product->right);
  return fits ? product : nullptr;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Prepends dims of size 1, whose strides do not matter.
static void padRank(MatrixView &view, size_t rank) {
  int64_t stride = runtime::getNumElements(view.sizes);
  view.sizes.insert(view.sizes.begin(), rank - view.sizes.size(), 1);
  view.strides.insert(view.strides.begin(), rank - view.strides.size(), stride);
}

/// Merges batch dims and rows if all batches share one right-hand side: one
/// large product is faster than many small ones.
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

bool runtime::multiplyByOneDnn(const MatmulOperand &lhs,
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

  ProductDesc desc{{leftDesc, rightDesc, bias ? biasDesc : dnnl_memory_desc_t(),
                    productDesc}};
  const std::byte *rightData = rhs.tensor.getData();
  const Product *found = getPackedProduct(desc, rhs.tensor, rhs.packing);
  if (found)
    rightData = rhs.packing->packed->data->getData();
  else
    found = getProduct(desc);
  if (!found)
    return false;
  SmallVector<Argument> arguments{
      {DNNL_ARG_SRC, leftDesc, lhs.tensor.getData()},
      {DNNL_ARG_WEIGHTS, found->right, rightData},
      {DNNL_ARG_DST, productDesc, result.getData()}};
  if (bias)
    arguments.push_back({DNNL_ARG_BIAS, biasDesc, bias->getData()});
  return execute(found->primitive.get(), arguments);
}
