//===- AtenContractions.cpp - convolutions, einsum --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Contractions that are read as one matrix product of rearranged operands.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::ReductionKind;

static Value multiply(NodeReader &reader, Value lhs, Value rhs,
                      const tp::Sizes &sizes) {
  return reader.create<tp::MatmulOp>(
      reader.getDenseType(getElementType(lhs), sizes), lhs, rhs,
      /*bias=*/Value(),
      /*lhs_scale=*/Value(), /*rhs_scale=*/Value(), /*transpose_lhs=*/false,
      /*transpose_rhs=*/false);
}

/// Makes `result` plus the argument "bias", if there is one, the node's result.
/// `sizes` are the bias's, to be broadcast.
static LogicalResult setWithBias(NodeReader &reader, Value result,
                                 const tp::Sizes &sizes) {
  Type type = getElementType(result);
  if (!reader.isAbsent("bias")) {
    Value bias = reader.tensor("bias");
    if (!bias)
      return failure();
    result = reader.map(tp::MapFunction::Add,
                        {result, reader.reshape(bias, sizes)}, type);
  }
  return Formula(reader, type).result(0, result);
}

/// Returns a view with permuted dims, or the value itself for the identity.
static Value permute(NodeReader &reader, Value value,
                     ArrayRef<int64_t> permutation) {
  return llvm::is_sorted(permutation) ? value
                                      : reader.permute(value, permutation);
}

//===----------------------------------------------------------------------===//
// Windows of convolutions
//===----------------------------------------------------------------------===//

namespace {
/// The arguments of a convolution; one number for each dim that it moves along.
struct Convolution {
  SmallVector<int64_t> stride, padding, dilation;
  int64_t groups = 1;
};
} // namespace

/// A convolution is a slice for each element of its kernel; larger kernels than
/// this are not modelled.
static constexpr int64_t largestKernel = 64;
/// A bound on strides, paddings and similar numbers, so that sums of them do
/// not overflow.
static constexpr int64_t largestNumber = int64_t(1) << 30;

/// Reads a list of `count` numbers that are at least `least`. A single number
/// holds for all dims.
static std::optional<SmallVector<int64_t>> getEach(NodeReader &reader,
                                                   StringRef name, size_t count,
                                                   int64_t byDefault,
                                                   int64_t least) {
  std::optional<SmallVector<int64_t>> numbers = SmallVector<int64_t>{byDefault};
  if (!reader.isAbsent(name))
    numbers = reader.integers(name);
  if (numbers && numbers->size() == 1)
    numbers->resize(count, numbers->front());
  if (!numbers || numbers->size() != count ||
      llvm::any_of(*numbers, [&](int64_t number) {
        return number < least || number > largestNumber;
      }))
    return std::nullopt;
  return numbers;
}

static std::optional<Convolution> getConvolution(NodeReader &reader,
                                                 size_t numDims) {
  auto stride = getEach(reader, "stride", numDims, 1, 1);
  auto padding = getEach(reader, "padding", numDims, 0, 0);
  auto dilation = getEach(reader, "dilation", numDims, 1, 1);
  std::optional<int64_t> groups = reader.integer("groups", 1);
  bool isTransposed = reader.boolean("transposed", false) != false;
  // For transposed convolutions only.
  (void)reader.find("output_padding");
  if (!stride || !padding || !dilation || !groups || isTransposed ||
      *groups < 1 || *groups > largestNumber)
    return std::nullopt;
  return Convolution{*stride, *padding, *dilation, *groups};
}

/// For each element of a kernel, selects the elements of x[N, C, ...] that it
/// is multiplied with. Returns [N, C, elements of the kernel, ...] with the
/// sizes `lengths` of the result.
static Value unfold(NodeReader &reader, Value x, const Convolution &how,
                    ArrayRef<int64_t> kernel, ArrayRef<int64_t> lengths) {
  tp::SymbolSpace &symbols = reader.getSymbols();
  SmallVector<Value> parts;
  tp::Sizes sizes(
      ArrayRef<tp::Size>(symbols.getSizes(getTensor(x))).take_front(2));
  sizes.push_back(1);
  llvm::append_range(sizes, lengths);
  SmallVector<int64_t> tap(kernel.size(), 0);
  for (int64_t left = llvm::product_of(kernel); left > 0; --left) {
    Value part = x;
    for (size_t index = 0; index < kernel.size(); ++index) {
      int64_t dim = static_cast<int64_t>(index) + 2;
      tp::StridedShape shape = symbols.getShape(getTensor(part));
      shape.sizes[dim] = lengths[index];
      if (shape.strides)
        (*shape.strides)[dim] =
            tp::multiply((*shape.strides)[dim], how.stride[index]);
      part = reader.create<tp::SliceOp>(
          symbols.getType(getElementType(x), shape.sizes, shape.strides), part,
          dim, tap[index] * how.dilation[index], how.stride[index]);
    }
    parts.push_back(reader.reshape(part, sizes));
    // The next element in row-major order.
    for (size_t index = kernel.size(); index-- > 0;) {
      if (++tap[index] < kernel[index])
        break;
      tap[index] = 0;
    }
  }
  return parts.size() == 1 ? parts.front() : reader.concat(parts, 2);
}

//===----------------------------------------------------------------------===//
// Convolutions of patches
//===----------------------------------------------------------------------===//

/// Returns true if an argument of one number for each of two dims, or of one
/// for both, is absent or has these numbers.
static bool isPair(NodeReader &reader, StringRef name, int64_t first,
                   int64_t second) {
  if (reader.isAbsent(name))
    return first == 1 && second == 1;
  std::optional<SmallVector<int64_t>> numbers = reader.integers(name);
  return numbers && (numbers->size() == 1 || numbers->size() == 2) &&
         numbers->front() == first && numbers->back() == second;
}

/// conv2d(input[N, C, H, W], weight[O, C, h, w]) with a stride of (h, w), as
/// vision models cut an image into patches: one product for each patch.
static LogicalResult readPatches(NodeReader &reader, Value input, Value weight,
                                 RankedTensorType type) {
  if (!getTensor(weight).hasStaticShape() || getTensor(weight).getRank() != 4 ||
      getTensor(input).isDynamicDim(1) || getTensor(input).isDynamicDim(2) ||
      getTensor(input).isDynamicDim(3) ||
      !isa<FloatType>(getElementType(input)) ||
      getElementType(input) != getElementType(weight))
    return failure();
  ArrayRef<int64_t> kernel = getTensor(weight).getShape();
  int64_t outputs = kernel[0], channels = kernel[1], height = kernel[2],
          width = kernel[3];
  // For transposed convolutions only.
  (void)reader.find("output_padding");
  bool isPadded =
      !reader.isAbsent("padding") && !isPair(reader, "padding", 0, 0);
  if (channels != getTensor(input).getDimSize(1) || height < 1 || width < 1 ||
      isPadded || !isPair(reader, "stride", height, width) ||
      !isPair(reader, "dilation", 1, 1) || reader.integer("groups", 1) != 1 ||
      reader.boolean("transposed", false) != false)
    return failure();
  int64_t rows = getTensor(input).getDimSize(2) / height;
  int64_t columns = getTensor(input).getDimSize(3) / width;
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  if (type.getRank() != 4 || !tp::isConstant(sizes[2], rows) ||
      !tp::isConstant(sizes[3], columns))
    return failure();
  // What is left over at the ends belongs to no patch.
  Value image = input;
  if (rows * height != getTensor(image).getDimSize(2))
    image = reader.slice(image, 2, 0, rows * height);
  if (columns * width != getTensor(image).getDimSize(3))
    image = reader.slice(image, 3, 0, columns * width);
  tp::Size batch = sizes[0];
  int64_t elements = channels * height * width;
  Value cells =
      reader.reshape(image, {batch, channels, rows, height, columns, width});
  Value patches = reader.reshape(reader.permute(cells, {0, 2, 4, 1, 3, 5}),
                                 {batch, rows * columns, elements});
  Value filters =
      reader.permute(reader.reshape(weight, {outputs, elements}), {1, 0});
  Value product =
      multiply(reader, patches, filters, {batch, rows * columns, outputs});
  Value result = reader.reshape(reader.permute(product, {0, 2, 1}), sizes);
  return setWithBias(reader, result, {outputs, 1, 1});
}

//===----------------------------------------------------------------------===//
// Convolutions as products
//===----------------------------------------------------------------------===//

/// conv1d(input[N, C, L], weight[O, C / groups, K]), and the same with more
/// dims: the product of weight[groups, O / groups, C / groups * K] and the
/// unfolded input.
static LogicalResult readConvolution(NodeReader &reader) {
  Value input = reader.tensor("input"), weight = reader.tensor("weight");
  RankedTensorType type = reader.getResultType();
  if (!input || !weight || !type)
    return failure();
  if (getTensor(input).getRank() == 4 &&
      succeeded(readPatches(reader, input, weight, type)))
    return success();
  int64_t rank = getTensor(input).getRank();
  if (rank < 3 || getTensor(weight).getRank() != rank ||
      type.getRank() != rank || !getTensor(weight).hasStaticShape() ||
      llvm::any_of(getTensor(input).getShape().drop_front(),
                   ShapedType::isDynamic) ||
      llvm::any_of(type.getShape().drop_front(2), ShapedType::isDynamic) ||
      !isFloat(input) || getElementType(input) != getElementType(weight))
    return failure();
  std::optional<Convolution> how = getConvolution(reader, rank - 2);
  if (!how)
    return failure();
  int64_t outputs = getTensor(weight).getDimSize(0);
  int64_t channels = getTensor(weight).getDimSize(1);
  ArrayRef<int64_t> kernel = getTensor(weight).getShape().drop_front(2);
  ArrayRef<int64_t> lengths = type.getShape().drop_front(2);
  int64_t ownChannels = getTensor(input).getDimSize(1);
  if (ownChannels % how->groups != 0 || ownChannels / how->groups != channels ||
      outputs % how->groups != 0)
    return failure();
  for (int64_t dim = 2; dim < rank; ++dim) {
    int64_t taps = kernel[dim - 2];
    int64_t padded =
        getTensor(input).getDimSize(dim) + 2 * how->padding[dim - 2];
    int64_t reach = how->dilation[dim - 2] * (taps - 1) + 1;
    if (taps < 1 || taps > largestKernel || reach > padded ||
        lengths[dim - 2] != (padded - reach) / how->stride[dim - 2] + 1)
      return failure();
  }
  int64_t taps = llvm::product_of(kernel), length = llvm::product_of(lengths);
  if (taps > largestKernel)
    return failure();
  Value x = input;
  for (int64_t dim = 2; dim < rank; ++dim)
    x = reader.pad(x, dim, how->padding[dim - 2], how->padding[dim - 2]);
  Value columns = unfold(reader, x, *how, kernel, lengths);
  tp::Size batch = reader.getSymbols().getSizes(getTensor(input))[0];
  tp::Sizes columnSizes{batch}, weightSizes, productSizes{batch};
  if (how->groups > 1) {
    columnSizes.push_back(how->groups);
    weightSizes.push_back(how->groups);
    productSizes.push_back(how->groups);
  }
  columnSizes.append({channels * taps, length});
  weightSizes.append({outputs / how->groups, channels * taps});
  productSizes.append({outputs / how->groups, length});
  Value product = multiply(reader, reader.reshape(weight, weightSizes),
                           reader.reshape(columns, columnSizes), productSizes);
  Value result = reader.reshape(product, reader.getSymbols().getSizes(type));
  tp::Sizes biasSizes(rank - 1, 1);
  biasSizes[0] = outputs;
  return setWithBias(reader, result, biasSizes);
}

//===----------------------------------------------------------------------===//
// einsum
//===----------------------------------------------------------------------===//

/// An operand of einsum with a letter for each dim. Dims whose letter occurs in
/// neither the other operand nor the result are summed up.
static Value sumOwn(Formula &f, Value value, std::string &letters,
                    StringRef others) {
  SmallVector<int64_t> dims;
  std::string kept;
  for (auto [dim, letter] : llvm::enumerate(letters))
    if (others.contains(letter))
      kept.push_back(letter);
    else
      dims.push_back(dim);
  letters = kept;
  return dims.empty() ? value
                      : f.reduce(ReductionKind::Sum, value, dims,
                                 /*keepDims=*/false);
}

/// Returns the positions in `from` of the letters of `to`, a permutation of
/// `from`.
static SmallVector<int64_t> getPermutation(StringRef from, StringRef to) {
  return llvm::map_to_vector(
      to, [&](char letter) { return static_cast<int64_t>(from.find(letter)); });
}

static bool areLetters(StringRef letters) {
  llvm::SmallDenseSet<char> seen;
  return llvm::all_of(letters, [&](char letter) {
    return llvm::isAlpha(letter) && seen.insert(letter).second;
  });
}

/// einsum("bik,bkj->bij", [x, y]) with one or two operands, none of which
/// contains a letter twice.
static LogicalResult readEinsum(NodeReader &reader) {
  std::optional<StringRef> equation = reader.string("equation");
  auto operands = reader.tensors("tensors");
  RankedTensorType type = reader.getResultType();
  if (!equation || !operands || !type || operands->empty() ||
      operands->size() > 2 || !reader.isAbsent("path"))
    return failure();
  std::string text;
  for (char letter : *equation)
    if (letter != ' ')
      text.push_back(letter);
  auto [inputs, output] = StringRef(text).split("->");
  SmallVector<StringRef> terms;
  inputs.split(terms, ',');
  if (!StringRef(text).contains("->") || terms.size() != operands->size() ||
      !areLetters(output) ||
      static_cast<int64_t>(output.size()) != type.getRank())
    return failure();
  for (auto [term, operand] : llvm::zip_equal(terms, *operands))
    if (!areLetters(term) ||
        static_cast<int64_t>(term.size()) != getTensor(operand).getRank() ||
        !isa<FloatType>(getElementType(operand)) ||
        getElementType(operand) != type.getElementType())
      return failure();
  tp::SymbolSpace &symbols = reader.getSymbols();
  Formula f(reader, type.getElementType());
  auto finish = [&](Value value, StringRef letters) {
    if (!llvm::all_of(output, [&](char c) { return letters.contains(c); }))
      return failure();
    value = permute(reader, value, getPermutation(letters, output));
    // The result may be a view of the computed value.
    if (value.getType() == type && value.getDefiningOp() &&
        !llvm::is_contained(*operands, value))
      return reader.result(value);
    return f.result(0, value);
  };
  std::string left = terms[0].str();
  Value lhs = operands->front();
  if (operands->size() == 1)
    return finish(sumOwn(f, lhs, left, output), left);
  std::string right = terms[1].str();
  Value rhs = operands->back();
  lhs = sumOwn(f, lhs, left, (right + output).str());
  rhs = sumOwn(f, rhs, right, (left + output).str());
  std::string batch, rows, inner, columns;
  for (char letter : left)
    (!StringRef(right).contains(letter) ? rows
     : output.contains(letter)          ? batch
                                        : inner)
        .push_back(letter);
  for (char letter : right)
    if (!StringRef(left).contains(letter))
      columns.push_back(letter);
  auto getSizes = [&](Value value, StringRef own, StringRef letters) {
    tp::Sizes all = symbols.getSizes(getTensor(value)), sizes;
    for (char letter : letters)
      sizes.push_back(all[own.find(letter)]);
    return sizes;
  };
  tp::Sizes batchSizes = getSizes(lhs, left, batch);
  tp::Sizes rowSizes = getSizes(lhs, left, rows);
  tp::Sizes innerSizes = getSizes(lhs, left, inner);
  tp::Sizes columnSizes = getSizes(rhs, right, columns);
  // einsum broadcasts dims of size 1.
  if (getSizes(rhs, right, batch) != batchSizes ||
      getSizes(rhs, right, inner) != innerSizes)
    return failure();
  tp::Sizes lhsSizes = batchSizes, rhsSizes = batchSizes, sizes = batchSizes;
  tp::Size numRows = tp::multiply(rowSizes);
  tp::Size numInner = tp::multiply(innerSizes);
  tp::Size numColumns = tp::multiply(columnSizes);
  lhsSizes.append({numRows, numInner});
  rhsSizes.append({numInner, numColumns});
  sizes.append({numRows, numColumns});
  lhs = permute(reader, lhs, getPermutation(left, batch + rows + inner));
  rhs = permute(reader, rhs, getPermutation(right, batch + inner + columns));
  Value product = multiply(reader, reader.reshape(lhs, lhsSizes),
                           reader.reshape(rhs, rhsSizes), sizes);
  tp::Sizes split = batchSizes;
  llvm::append_range(split, rowSizes);
  llvm::append_range(split, columnSizes);
  return finish(reader.reshape(product, split), batch + rows + columns);
}

//===----------------------------------------------------------------------===//
// tensordot
//===----------------------------------------------------------------------===//

/// tensordot(x, y, dims_self, dims_other): the sums over pairs of dims.
static LogicalResult readTensorDot(NodeReader &reader) {
  Value lhs = reader.tensor("self"), rhs = reader.tensor("other");
  auto lhsDims = reader.integers("dims_self");
  auto rhsDims = reader.integers("dims_other");
  RankedTensorType type = reader.getResultType();
  if (!lhs || !rhs || !lhsDims || !rhsDims || !type ||
      lhsDims->size() != rhsDims->size() || !isFloat(lhs) ||
      getElementType(lhs) != getElementType(rhs))
    return failure();
  tp::SymbolSpace &symbols = reader.getSymbols();
  // The dims in the order of the product, and the sizes that are not summed up.
  auto arrange = [&](Value value, SmallVector<int64_t> &summed,
                     SmallVector<int64_t> &kept) {
    int64_t rank = getTensor(value).getRank();
    for (int64_t &dim : summed) {
      dim += dim < 0 ? rank : 0;
      if (dim < 0 || dim >= rank || llvm::count(summed, dim) != 1)
        return false;
    }
    for (int64_t dim = 0; dim < rank; ++dim)
      if (!llvm::is_contained(summed, dim))
        kept.push_back(dim);
    return true;
  };
  SmallVector<int64_t> lhsKept, rhsKept;
  if (!arrange(lhs, *lhsDims, lhsKept) || !arrange(rhs, *rhsDims, rhsKept))
    return failure();
  auto getSizes = [&](Value value, ArrayRef<int64_t> dims) {
    tp::Sizes all = symbols.getSizes(getTensor(value)), sizes;
    for (int64_t dim : dims)
      sizes.push_back(all[dim]);
    return sizes;
  };
  tp::Sizes inner = getSizes(lhs, *lhsDims);
  // tensordot broadcasts dims of size 1.
  if (getSizes(rhs, *rhsDims) != inner)
    return failure();
  tp::Size numInner = tp::multiply(inner);
  tp::Size numRows = tp::multiply(getSizes(lhs, lhsKept));
  tp::Size numColumns = tp::multiply(getSizes(rhs, rhsKept));
  if (!numInner || !numRows || !numColumns)
    return failure();
  SmallVector<int64_t> lhsOrder = lhsKept, rhsOrder = *rhsDims;
  llvm::append_range(lhsOrder, *lhsDims);
  llvm::append_range(rhsOrder, rhsKept);
  Value product = multiply(
      reader,
      reader.reshape(permute(reader, lhs, lhsOrder), {numRows, numInner}),
      reader.reshape(permute(reader, rhs, rhsOrder), {numInner, numColumns}),
      {numRows, numColumns});
  return Formula(reader, type.getElementType())
      .result(0, reader.reshape(product, symbols.getSizes(type)));
}

void vocabulary::addAtenContractions(Vocabulary &vocabulary) {
  vocabulary.add(
      {"torch.ops.aten.conv1d.default", "torch.ops.aten.conv2d.default",
       "torch.ops.aten.conv3d.default", "torch.ops.aten.convolution.default"},
      readConvolution);
  vocabulary.add("torch.ops.aten.einsum.default", readEinsum);
  vocabulary.add("torch.ops.aten.tensordot.default", readTensorDot);
}
