//===- ProductResults.cpp - slices and joins of products --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/DimOrigin.h"

#include "commute/Analysis/Collectives/ReindexedCollectives.h"
#include "commute/Analysis/Products/PartialProducts.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::DimensionRule;

/// The most slices of one product that are considered.
static constexpr unsigned maxSlices = 256;

static int64_t getRank(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

static Type getElementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

Value SlicedProduct::getResult() {
  return rows ? rows.getResult() : product.getResult();
}

std::optional<unsigned> SlicedProduct::getOperandDim(unsigned operand,
                                                     unsigned resultDim) {
  DimensionRule rule = product.getDimensionRule();
  unsigned dim = resultDim;
  if (rows) {
    unsigned numRows = getRank(rows.getResult()) - 1;
    // Rows belong to the left operand alone.
    if (resultDim < numRows)
      return operand == 0 ? std::optional(resultDim) : std::nullopt;
    dim = 1;
  }
  std::optional<unsigned> factor = getOnlyFactor(rule.results[0], dim);
  return factor ? findDimOfFactor(rule.operands[operand], *factor)
                : std::nullopt;
}

namespace {
class SliceSearch {
public:
  SliceSearch(tp::MatmulOp product, tp::ReshapeOp rows) {
    found.product = product;
    found.rows = rows;
  }
  /// Returns false for a user that is not a slice.
  bool visit(Value value, SmallVector<Operation *> &path);

  SlicedProduct found;

private:
  bool addSlice(tp::SliceOp slice, ArrayRef<Operation *> path);
};
} // namespace

bool SliceSearch::addSlice(tp::SliceOp slice, ArrayRef<Operation *> path) {
  ProductSlice result{slice, {}, 0};
  unsigned dim = slice.getDim();
  for (Operation *op : llvm::reverse(path)) {
    std::optional<DimStep> step = findStepTo(op, dim);
    if (!step)
      return false;
    result.steps.push_back(*step);
    dim = step->operandDim;
  }
  std::reverse(result.steps.begin(), result.steps.end());
  bool isOfOperand = found.getOperandDim(0, dim) || found.getOperandDim(1, dim);
  if (!isOfOperand || found.slices.size() >= maxSlices)
    return false;
  result.resultDim = dim;
  found.slices.push_back(std::move(result));
  return true;
}

bool SliceSearch::visit(Value value, SmallVector<Operation *> &path) {
  for (Operation *user : value.getUsers()) {
    if (auto slice = dyn_cast<tp::SliceOp>(user)) {
      if (!addSlice(slice, path))
        return false;
      continue;
    }
    if (!keepsElementsOfOperand(user) ||
        !cast<tp::ReindexOpInterface>(user).keepsEachElement() ||
        path.size() >= maxDimSteps)
      return false;
    path.push_back(user);
    bool isSliced = visit(user->getResult(0), path);
    path.pop_back();
    if (!isSliced)
      return false;
  }
  return true;
}

/// The reshape that regroups a product's rows, if that is all that reads it and
/// the left operand's rows could be regrouped instead.
static tp::ReshapeOp findRegroupedRows(tp::MatmulOp product) {
  Value bias = product.getBias();
  if (!product.getResult().hasOneUse() || getRank(product.getLhs()) != 2 ||
      getRank(product.getRhs()) != 2 || product.getTransposeLhs() ||
      (bias && getRank(bias) > 1))
    return {};
  auto rows = dyn_cast<tp::ReshapeOp>(*product.getResult().user_begin());
  if (!rows || getRank(rows.getResult()) < 2)
    return {};
  std::optional<DimStep> columns = findStepFrom(rows, 1);
  bool keepsColumns =
      columns && columns->resultDim + 1 == getRank(rows.getResult());
  return keepsColumns ? rows : tp::ReshapeOp();
}

Legal<SlicedProduct> analysis::findSlicedProduct(tp::MatmulOp product) {
  SliceSearch search(product, {});
  SmallVector<Operation *> path;
  bool isSliced = search.visit(product.getResult(), path);
  if (!isSliced) {
    tp::ReshapeOp rows = findRegroupedRows(product);
    if (!rows)
      return Refusal();
    search = SliceSearch(product, rows);
    path.clear();
    isSliced = search.visit(rows.getResult(), path);
  }
  if (!isSliced || search.found.slices.empty())
    return Refusal();
  if (product.getLhsScale() || product.getRhsScale())
    return Refusal{product, RefusalCode::Scaled,
                   "its scales apply to whole operands"};
  // MLIR does not define the order of users; sort the slices.
  llvm::sort(search.found.slices,
             [](const ProductSlice &a, const ProductSlice &b) {
               auto getKey = [](const ProductSlice &entry) {
                 tp::SliceOp slice = entry.slice;
                 auto type = cast<RankedTensorType>(slice.getType());
                 return std::tuple(entry.resultDim, slice.getStart(),
                                   type.getDimSize(slice.getDim()));
               };
               return getKey(a) < getKey(b);
             });
  return std::move(search.found);
}

//===----------------------------------------------------------------------===//
// Joins
//===----------------------------------------------------------------------===//

namespace {
/// A product that computes a part of a concatenation.
struct PartProduct {
  tp::MatmulOp product;
  unsigned factor;
  unsigned resultDim;
  SmallVector<DimStep> steps;
};
} // namespace

static std::optional<PartProduct> findPartProduct(Value value, unsigned dim) {
  std::optional<DimOrigin> origin =
      findDimOrigin(value, dim, [](Value result, unsigned) {
        return bool(result.getDefiningOp<tp::MatmulOp>());
      });
  if (!origin)
    return std::nullopt;
  auto product = origin->value.getDefiningOp<tp::MatmulOp>();
  DimensionRule rule = product.getDimensionRule();
  std::optional<unsigned> factor = getOnlyFactor(rule.results[0], origin->dim);
  if (!factor || product.getLhsScale() || product.getRhsScale())
    return std::nullopt;
  for (const DimensionRule::TensorFactors &operand : rule.operands)
    for (const DimensionRule::DimFactors &dimFactors : operand)
      if (dimFactors.size() > 1 && llvm::is_contained(dimFactors, *factor))
        return std::nullopt;
  return PartProduct{product, *factor, origin->dim, std::move(origin->steps)};
}

/// Sizes that have to be those of the other, all but one dim's.
static bool haveSameSizesBeside(Value a, Value b, unsigned dim,
                                ProductContext &context) {
  tp::Sizes x = context.getSizes(a), y = context.getSizes(b);
  if (x.size() != y.size())
    return false;
  x[dim] = y[dim];
  return x == y &&
         llvm::all_of(x, [](const tp::Size &size) { return bool(size); });
}

/// Attributes that say what an op does, without those that tie it to the graph.
static DictionaryAttr getMeaning(Operation *op) {
  return op->getPropertiesAsAttribute()
             ? dyn_cast<DictionaryAttr>(op->getPropertiesAsAttribute())
             : DictionaryAttr();
}

/// Whether two products and the steps after them can be replaced by one product
/// of concatenated operands.
static bool areAlike(const PartProduct &a, const PartProduct &b,
                     ProductContext &context) {
  tp::MatmulOp x = a.product, y = b.product;
  if (a.factor != b.factor || a.resultDim != b.resultDim ||
      a.steps.size() != b.steps.size() ||
      x->getNumOperands() != y->getNumOperands() ||
      bool(x.getBias()) != bool(y.getBias()) ||
      x.getTransposeLhs() != y.getTransposeLhs() ||
      x.getTransposeRhs() != y.getTransposeRhs() ||
      getElementType(x.getResult()) != getElementType(y.getResult()))
    return false;
  DimensionRule first = x.getDimensionRule(), second = y.getDimensionRule();
  for (unsigned number = 0; number < x->getNumOperands(); ++number) {
    Value left = x->getOperand(number), right = y->getOperand(number);
    std::optional<unsigned> dim =
        findDimOfFactor(first.operands[number], a.factor);
    if (dim != findDimOfFactor(second.operands[number], b.factor) ||
        (!dim && left != right))
      return false;
    if (dim && (getElementType(left) != getElementType(right) ||
                !haveSameSizesBeside(left, right, *dim, context)))
      return false;
  }
  for (auto [left, right] : llvm::zip_equal(a.steps, b.steps))
    if (left.op->getName() != right.op->getName() ||
        left.resultDim != right.resultDim ||
        left.operandDim != right.operandDim ||
        getMeaning(left.op) != getMeaning(right.op) ||
        getElementType(left.op->getResult(0)) !=
            getElementType(right.op->getResult(0)) ||
        !haveSameSizesBeside(left.op->getResult(0), right.op->getResult(0),
                             left.resultDim, context))
      return false;
  return true;
}

Legal<JoinedProducts> analysis::findJoinedProducts(tp::ConcatOp concat,
                                                   ProductContext &context) {
  JoinedProducts found;
  Refusal refusal;
  found.concat = concat;
  std::optional<PartProduct> previous;
  for (auto [index, input] : llvm::enumerate(concat.getInputs())) {
    std::optional<PartProduct> part = findPartProduct(input, concat.getDim());
    if (part && getElementType(input) != getElementType(concat.getResult()))
      part.reset();
    if (part && context.getWriteOrder().isWriteBetween(part->product, concat)) {
      refusal = {concat, RefusalCode::MemoryWrite,
                 "an op between " + getNodeName(part->product) +
                     " and this concatenation may overwrite an operand"};
      part.reset();
    }
    bool isNext = part && previous && areAlike(*previous, *part, context);
    if (isNext)
      found.runs.back().products.push_back(part->product);
    else if (part)
      found.runs.push_back({unsigned(index),
                            {part->product},
                            part->factor,
                            part->resultDim,
                            part->steps});
    previous = std::move(part);
  }
  llvm::erase_if(found.runs,
                 [](const JoinedRun &run) { return run.products.size() < 2; });
  if (found.runs.empty())
    return refusal;
  return found;
}
