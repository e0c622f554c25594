//===- PartialSum.cpp - a product as a sum of partial ones ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SplitRewrite.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace commute;
using analysis::PartialProducts;
using analysis::ProductContext;
using analysis::ProductSegment;
using analysis::SegmentOperand;
using analysis::ShardSource;
using tp::getTensor;

static bool isNumber(TypedAttr value, int64_t number) {
  if (auto real = dyn_cast_if_present<FloatAttr>(value))
    return real.getValueAsDouble() == double(number);
  auto integer = dyn_cast_if_present<IntegerAttr>(value);
  return integer && integer.getValue().getSignificantBits() <= 64 &&
         integer.getInt() == number;
}

/// Whether the product of a segment is zero.
static bool isZero(const ProductSegment &segment) {
  return isNumber(segment.operands[0]->fill, 0) ||
         isNumber(segment.operands[1]->fill, 0);
}

bool commute::isSumOfZeros(const PartialProducts &products) {
  return products.contracts && llvm::all_of(products.segments, isZero);
}

namespace {

/// One product of a sum.
struct Summand {
  Value lhs, rhs;
};

/// The product of repeated rows, computed once per distinct row, and the sizes
/// of all rows without the last dim.
struct RepeatedSummand {
  tp::Sizes allRows;
  Value value;
};

class SumDraft {
public:
  SumDraft(const PartialProducts &products, const SplitForm &form,
           ProductContext &context)
      : products(products), product(products.product), form(form),
        location(product.getLoc()), draft(context) {}

  std::unique_ptr<SplitDraft> run();

private:
  void addSegment(const ProductSegment &segment);
  bool addFill(const ProductSegment &segment);
  bool addRepeated(const ProductSegment &segment);
  /// Multiplies the distinct rows `once`, which are repeated to `allRows`.
  void addRows(const ProductSegment &segment, Value once,
               const tp::Sizes &allRows);
  /// The sizes of all dims but the last, padded with leading ones to `rank`.
  tp::Sizes getRows(Value once, size_t rank);
  Value takeRhs(const ProductSegment &segment);
  /// This rank's block along `dim`.
  Value sliceByRank(Value value, unsigned dim, tp::GroupAttr group);
  /// Merges products with the same left operand into one product with the sum
  /// of their right operands, and vice versa.
  void joinEqual(SmallVectorImpl<Summand> &summands);
  Value add(Value a, Value b);
  /// Whether every product can be accumulated into the sum of those before it.
  bool canAccumulate(ArrayRef<Summand> summands);
  /// Adds the products to `sum`, which may be null, in order.
  Value addProducts(ArrayRef<Summand> summands, Value sum);
  void flattenRows();
  /// The bias plus everything that is added to every row.
  Value getRowBias();

  Type getElementType() { return product.getType().getElementType(); }
  int64_t getRank(Value value) { return getTensor(value).getRank(); }
  unsigned getInnerDim(bool isRhs) {
    Value operand = isRhs ? product.getRhs() : product.getLhs();
    bool isLast =
        isRhs ? product.getTransposeRhs() : !product.getTransposeLhs();
    return getRank(operand) - (isLast ? 1 : 2);
  }

  const PartialProducts &products;
  tp::MatmulOp product;
  const SplitForm &form;
  Location location;
  SplitDraft draft;
  SmallVector<Summand> summands;
  /// Summands by the group of the all_reduce that adds them.
  llvm::MapVector<tp::GroupAttr, SmallVector<Summand>> groups;
  SmallVector<RepeatedSummand> repeated;
  /// Added to every row; excludes the product's own bias.
  Value rowSum;
  /// The sizes of the sums: those of the result, or with all rows in one dim.
  tp::Sizes sumSizes;
};

} // namespace

Value SumDraft::add(Value a, Value b) {
  return draft.ops.add<tp::MapOp>(location, tp::MapFunction::Add,
                                  ValueRange{a, b}, getElementType());
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

Value SumDraft::takeRhs(const ProductSegment &segment) {
  Value value =
      takeSegment(draft.ops, *segment.operands[1], segment.size,
                  segment.rhsSource == ShardSource::Gathered, location);
  if (segment.rhsSource == ShardSource::RankSlice)
    value = sliceByRank(value, getInnerDim(/*isRhs=*/true), segment.group);
  if (form.copiesSlices)
    value = draft.ops.add<tp::CopyOp>(location, value,
                                      /*preserve_strides=*/false);
  return value;
}

Value SumDraft::sliceByRank(Value value, unsigned dim, tp::GroupAttr group) {
  return draft.ops.add<tp::RankSliceOp>(location, value, dim, group);
}

/// Multiplies a single row of a constant part.
bool SumDraft::addFill(const ProductSegment &segment) {
  TypedAttr fill = segment.operands[0]->fill;
  std::optional<int64_t> inner = tp::getConstant(segment.size);
  if (!fill || !inner || getRank(product.getRhs()) != 2)
    return false;
  Value row =
      draft.ops.add<tp::ConstantOp>(location, fill, draft.ops.getSymbols(),
                                    getElementType(), tp::Sizes{1, *inner});
  addRows(segment, row, {});
  draft.note("a constant part is multiplied once instead of for every row");
  return true;
}

bool SumDraft::addRepeated(const ProductSegment &segment) {
  const SegmentOperand &lhs = *segment.operands[0];
  Value once = lhs.repeated;
  if (!once || getRank(product.getRhs()) != 2 || product.getTransposeLhs() ||
      lhs.dim + 1 != getRank(lhs.base))
    return false;
  // Rows may be regrouped on the way to the product.
  for (const analysis::DimStep &step : lhs.steps)
    if (!isa<tp::ReshapeOp>(step.op) ||
        step.resultDim + 1 != getRank(step.op->getResult(0)))
      return false;
  tp::Sizes allRows = draft.ops.getSizes(lhs.base);
  allRows.pop_back();
  tp::Sizes rows = getRows(once, allRows.size());
  if (rows == allRows)
    return false;
  addRows(segment, once, allRows);
  draft.note("a part that several rows share is multiplied once, and its "
             "product is rounded before it is added");
  return true;
}

tp::Sizes SumDraft::getRows(Value once, size_t rank) {
  tp::Sizes sizes = draft.ops.getSizes(once);
  sizes.pop_back();
  tp::Sizes rows(rank - sizes.size(), 1);
  rows.append(sizes);
  return rows;
}

void SumDraft::addRows(const ProductSegment &segment, Value once,
                       const tp::Sizes &allRows) {
  tp::Size inner = draft.ops.getSizes(once).back();
  tp::Sizes rows = getRows(once, std::max<size_t>(allRows.size(), 1));
  tp::Size count = 1;
  for (const tp::Size &size : rows)
    count = tp::multiply(count, size);
  tp::Size columns = draft.ops.getSizes(product.getResult()).back();
  once = draft.ops.reshape(once, tp::Sizes{count, inner}, location);
  Value rhs = takeRhs(segment);
  ++draft.numProducts;
  Value value = draft.ops.add<tp::MatmulOp>(
      location, once, rhs, /*bias=*/Value(), /*lhs_scale=*/Value(),
      /*rhs_scale=*/Value(), /*transpose_lhs=*/false, product.getTransposeRhs(),
      getElementType());
  if (tp::isConstant(count, 1)) {
    tp::Sizes row = {columns};
    value = draft.ops.reshape(value, row, location);
    rowSum = rowSum ? add(rowSum, value) : value;
    return;
  }
  rows.push_back(columns);
  repeated.push_back({allRows, draft.ops.reshape(value, rows, location)});
}

void SumDraft::addSegment(const ProductSegment &segment) {
  if (isZero(segment)) {
    draft.note("a part of zeros is not multiplied, so infinities in its "
               "weights no longer produce NaN");
    return;
  }
  if (form.simplifies && !segment.group &&
      (addFill(segment) || addRepeated(segment)))
    return;
  Value lhs = takeSegment(draft.ops, *segment.operands[0], segment.size,
                          segment.lhsSource == ShardSource::Gathered, location);
  if (segment.lhsSource == ShardSource::RankSlice)
    lhs = sliceByRank(lhs, getInnerDim(/*isRhs=*/false), segment.group);
  Summand summand{lhs, takeRhs(segment)};
  if (!segment.group) {
    summands.push_back(summand);
    return;
  }
  for (auto &[group, list] : groups)
    if (group.hasSameMembers(segment.group)) {
      list.push_back(summand);
      return;
    }
  groups[segment.group].push_back(summand);
}

void SumDraft::joinEqual(SmallVectorImpl<Summand> &list) {
  SmallVector<Summand> joined;
  // The last summand that uses each operand.
  llvm::SmallDenseMap<Value, unsigned> byLhs, byRhs;
  for (const Summand &summand : list) {
    auto lhs = byLhs.find(summand.lhs), rhs = byRhs.find(summand.rhs);
    bool isLeft = lhs != byLhs.end();
    if (isLeft || rhs != byRhs.end()) {
      Summand &other = joined[isLeft ? lhs->second : rhs->second];
      Value &sum = isLeft ? other.rhs : other.lhs;
      Value next = isLeft ? summand.rhs : summand.lhs;
      // Skip a summand whose operand has changed by an earlier merge.
      bool isAsSeen =
          isLeft ? other.lhs == summand.lhs : other.rhs == summand.rhs;
      tp::Sizes sizes = draft.ops.getSizes(sum);
      if (isAsSeen && sizes == draft.ops.getSizes(next)) {
        sum = add(sum, next);
        draft.note("the factors of a repeated part are added, and their sum "
                   "rounded, before the product");
        continue;
      }
    }
    byLhs[summand.lhs] = byRhs[summand.rhs] = joined.size();
    joined.push_back(summand);
  }
  list.assign(joined);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void SumDraft::flattenRows() {
  // addmm takes matrices only.
  sumSizes = draft.ops.getSizes(product.getResult());
  unsigned numProducts = summands.size();
  for (auto &[group, list] : groups)
    numProducts += list.size();
  Value bias = product.getBias();
  if (!form.accumulates || numProducts < 2 || getRank(product.getLhs()) < 3 ||
      getRank(product.getRhs()) != 2 || product.getTransposeLhs() ||
      (bias && getRank(bias) > 1))
    return;
  tp::Size rows = 1;
  for (const tp::Size &size : ArrayRef(sumSizes).drop_back())
    rows = tp::multiply(rows, size);
  auto flatten = [&](Summand &summand) {
    tp::Size inner = draft.ops.getSizes(summand.lhs).back();
    summand.lhs =
        draft.ops.reshape(summand.lhs, tp::Sizes{rows, inner}, location);
  };
  llvm::for_each(summands, flatten);
  for (auto &[group, list] : groups)
    llvm::for_each(list, flatten);
  sumSizes = {rows, sumSizes.back()};
}

bool SumDraft::canAccumulate(ArrayRef<Summand> list) {
  return form.accumulates && llvm::all_of(list, [&](const Summand &summand) {
           int64_t rank = getRank(summand.lhs);
           if (rank != getRank(summand.rhs) || rank > 3)
             return false;
           // baddbmm does not broadcast batches.
           return rank == 2 || draft.ops.getSizes(summand.lhs).front() ==
                                   draft.ops.getSizes(summand.rhs).front();
         });
}

Value SumDraft::addProducts(ArrayRef<Summand> list, Value sum) {
  bool accumulates = canAccumulate(list);
  for (const Summand &summand : list) {
    // A broadcast bias can be fused into any product.
    bool isBias = sum && (accumulates || draft.ops.getSizes(sum) != sumSizes);
    ++draft.numProducts;
    Value value = draft.ops.add<tp::MatmulOp>(
        location, summand.lhs, summand.rhs, isBias ? sum : Value(),
        /*lhs_scale=*/Value(), /*rhs_scale=*/Value(), product.getTransposeLhs(),
        product.getTransposeRhs(), getElementType());
    sum = sum && !isBias ? add(sum, value) : value;
  }
  return sum;
}

Value SumDraft::getRowBias() {
  Value bias = product.getBias();
  if (!bias || !rowSum)
    return bias ? bias : rowSum;
  return add(bias, rowSum);
}

std::unique_ptr<SplitDraft> SumDraft::run() {
  draft.position = product;
  for (const ProductSegment &segment : products.segments)
    addSegment(segment);
  unsigned numKept = summands.size();
  if (form.simplifies) {
    joinEqual(summands);
    for (auto &[group, list] : groups)
      joinEqual(list);
  }
  draft.isReassociated =
      rowSum || !repeated.empty() || !groups.empty() || numKept > 1;
  flattenRows();
  Value bias = getRowBias();
  // The other products may be accumulated into the all_reduced sums.
  Value sum;
  for (auto &[group, list] : groups) {
    Value partial = addProducts(list, Value());
    Value whole = draft.ops.add<tp::AllReduceOp>(
        location, tp::ReductionKind::Sum, partial, group, /*async=*/false,
        /*in_place=*/false);
    sum = sum ? add(sum, whole) : whole;
    draft.note("each rank's partial sum is rounded before the all_reduce");
  }
  if (!summands.empty()) {
    if (sum && bias)
      sum = add(sum, addProducts(summands, bias));
    else
      sum = addProducts(summands, sum ? sum : bias);
  } else if (sum && bias) {
    sum = add(sum, bias);
  }
  if (!sum) {
    // Only terms that are added to every row are left.
    if (!llvm::all_of(sumSizes, [](const tp::Size &size) {
          return size.getConstant().has_value();
        }))
      return nullptr;
    Builder builder(product.getContext());
    sum = draft.ops.add<tp::ConstantOp>(
        location, builder.getZeroAttr(getElementType()), draft.ops.getSymbols(),
        getElementType(), sumSizes);
    if (bias)
      sum = add(sum, bias);
  }
  tp::Size columns = sumSizes.back();
  for (const RepeatedSummand &summand : repeated) {
    tp::Sizes sizes = summand.allRows;
    sizes.push_back(columns);
    sum = add(draft.ops.reshape(sum, sizes, location), summand.value);
  }
  sum = draft.ops.convert(sum, product.getType(), location);
  draft.values.emplace_back(product.getResult(), sum);
  unsigned numProducts = draft.numProducts;
  if (numProducts > 1) {
    std::string type;
    llvm::raw_string_ostream(type) << getElementType();
    draft.note("the running sum of " + std::to_string(numProducts) +
               " products is rounded to " + type + " after each product");
  }
  return std::make_unique<SplitDraft>(std::move(draft));
}

std::unique_ptr<SplitDraft>
commute::draftPartialSum(const PartialProducts &products, const SplitForm &form,
                         ProductContext &context) {
  return SumDraft(products, form, context).run();
}
