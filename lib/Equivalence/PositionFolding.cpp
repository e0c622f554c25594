//===- PositionFolding.cpp - positions in their simplest form -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PositionFolding.h"

#include "PiecewiseAffine.h"
#include "SharedMemory.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {

/// The integers of a value, which vary along one dim only.
struct Column {
  PiecewiseAffine numbers;
  /// nullopt if all elements are equal; `numbers` then has one element.
  std::optional<unsigned> dim;
};
using MaybeColumn = std::optional<Column>;

class PositionFolder {
public:
  explicit PositionFolder(func::FuncOp function)
      : function(function), memory(function) {}

  void run();

private:
  static RankedTensorType getType(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  static int64_t getSize(Value value, unsigned dim) {
    return getType(value).getDimSize(dim);
  }
  const Column *get(Value value) const {
    auto known = columns.find(value);
    return known == columns.end() ? nullptr : &known->second;
  }
  /// Returns the integers of a column, repeated to `size` if they are all
  /// equal.
  static PiecewiseAffine widen(const Column &column, int64_t size) {
    return column.dim ? column.numbers : column.numbers.repeat(size);
  }
  static MaybeColumn makeColumn(std::optional<PiecewiseAffine> numbers,
                                std::optional<unsigned> dim);
  static bool fits(const PiecewiseAffine &numbers, IntegerType type);

  MaybeColumn evaluate(Operation *op) const;
  MaybeColumn evaluateMap(tp::MapOp op) const;
  MaybeColumn evaluateReshape(tp::ReshapeOp op) const;
  MaybeColumn evaluateConcat(tp::ConcatOp op) const;
  MaybeColumn evaluateTake(tp::TakeOp op) const;
  MaybeColumn evaluateReduce(tp::ReduceOp op) const;
  MaybeColumn evaluatePrefixSums(tp::RowwiseOp op) const;

  /// True if the value is replaced, so that its users do not need its operands.
  bool isFolded(Value value) const {
    const Column *column = get(value);
    return column && column->numbers.isAffine() &&
           (!column->dim || !getType(value).getElementType().isInteger(1));
  }
  Value build(Value value) const;

  func::FuncOp function;
  SharedMemory memory;
  DenseMap<Value, Column> columns;
};

} // namespace

MaybeColumn PositionFolder::makeColumn(std::optional<PiecewiseAffine> numbers,
                                       std::optional<unsigned> dim) {
  if (!numbers)
    return std::nullopt;
  if (dim && numbers->isConstant())
    return Column{numbers->repeat(1), std::nullopt};
  return Column{std::move(*numbers), dim};
}

bool PositionFolder::fits(const PiecewiseAffine &numbers, IntegerType type) {
  auto [low, high] = numbers.getRange();
  unsigned width = type.getWidth();
  if (width == 1)
    return low >= 0 && high <= 1;
  if (type.isUnsigned())
    return low >= 0 && (width >= 63 || high < int64_t(1) << width);
  int64_t limit = int64_t(1) << (std::min(width, 63u) - 1);
  return low >= -limit && high < limit;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

MaybeColumn PositionFolder::evaluateMap(tp::MapOp op) const {
  RankedTensorType type = getType(op.getResult());
  std::optional<unsigned> dim;
  bool areTruths = true;
  for (Value operand : op.getOperands()) {
    const Column *column = get(operand);
    if (!column)
      return std::nullopt;
    // Arithmetic in narrow types wraps around.
    unsigned width = getType(operand).getElementTypeBitWidth();
    areTruths &= width == 1;
    if (width != 1 && width < 32)
      return std::nullopt;
    if (!column->dim)
      continue;
    unsigned own = *column->dim + type.getRank() - getType(operand).getRank();
    if (dim && *dim != own)
      return std::nullopt;
    dim = own;
  }
  int64_t size = dim ? type.getDimSize(*dim) : 1;
  SmallVector<PiecewiseAffine, 3> operands;
  for (Value operand : op.getOperands())
    operands.push_back(widen(*get(operand), size));
  std::optional<PiecewiseAffine> numbers =
      PiecewiseAffine::map(op.getFunction(), operands, areTruths);
  // The function is computed in the type of an operand.
  for (Value operand : op.getOperands())
    if (auto own = cast<IntegerType>(getType(operand).getElementType());
        numbers && own.getWidth() > 1 && !fits(*numbers, own))
      return std::nullopt;
  return makeColumn(std::move(numbers), dim);
}

MaybeColumn PositionFolder::evaluateReshape(tp::ReshapeOp op) const {
  const Column *column = get(op.getInput());
  if (!column || !column->dim)
    return column ? MaybeColumn(*column) : std::nullopt;
  // Returns a dim that has the same number of elements after it.
  auto countBehind = [](RankedTensorType type, unsigned dim) {
    int64_t count = 1;
    for (int64_t size : type.getShape().drop_front(dim + 1))
      count *= size;
    return count;
  };
  RankedTensorType before = getType(op.getInput());
  RankedTensorType after = getType(op.getResult());
  for (unsigned dim = 0; dim < after.getRank(); ++dim)
    if (after.getDimSize(dim) == before.getDimSize(*column->dim) &&
        countBehind(after, dim) == countBehind(before, *column->dim))
      return Column{column->numbers, dim};
  return std::nullopt;
}

MaybeColumn PositionFolder::evaluateConcat(tp::ConcatOp op) const {
  unsigned dim = op.getDim();
  SmallVector<PiecewiseAffine> parts;
  for (Value input : op.getInputs()) {
    const Column *column = get(input);
    if (!column || (column->dim && *column->dim != dim))
      return std::nullopt;
    parts.push_back(widen(*column, getSize(input, dim)));
  }
  return makeColumn(PiecewiseAffine::concat(parts), dim);
}

MaybeColumn PositionFolder::evaluateTake(tp::TakeOp op) const {
  const Column *table = get(op.getTable()), *indices = get(op.getIndices());
  if (!table || !indices)
    return std::nullopt;
  unsigned dim = op.getDim();
  int64_t size = getSize(op.getTable(), dim);
  unsigned indexRank = getType(op.getIndices()).getRank();
  PiecewiseAffine numbers = indices->numbers;
  if (op.getWrapsNegative()) {
    std::optional<PiecewiseAffine> zero =
        PiecewiseAffine::get(numbers.getSize(), 0);
    std::optional<PiecewiseAffine> length =
        PiecewiseAffine::get(numbers.getSize(), size);
    auto isNegative = PiecewiseAffine::map(
        tp::MapFunction::Less, {numbers, *zero}, /*areTruths=*/false);
    auto wrapped = PiecewiseAffine::map(
        tp::MapFunction::Add, {numbers, *length}, /*areTruths=*/false);
    if (!isNegative || !wrapped)
      return std::nullopt;
    auto chosen = PiecewiseAffine::map(tp::MapFunction::Select,
                                       {*isNegative, *wrapped, numbers},
                                       /*areTruths=*/false);
    if (!chosen)
      return std::nullopt;
    numbers = std::move(*chosen);
  }
  // A lookup outside of the table is an error, which must be preserved.
  auto [low, high] = numbers.getRange();
  if (low < 0 || high >= size)
    return std::nullopt;
  if (table->dim && *table->dim != dim)
    return Column{table->numbers, *table->dim < dim
                                      ? *table->dim
                                      : *table->dim + indexRank - 1};
  std::optional<unsigned> resultDim;
  if (indices->dim)
    resultDim = dim + *indices->dim;
  return makeColumn(widen(*table, size).take(numbers), resultDim);
}

MaybeColumn PositionFolder::evaluateReduce(tp::ReduceOp op) const {
  const Column *column = get(op.getInput());
  if (!column || op.getKind() == tp::ReductionKind::Avg ||
      op.getKind() == tp::ReductionKind::Product)
    return std::nullopt;
  int64_t count = 1;
  bool isReduced = false;
  unsigned numBefore = 0;
  for (int64_t dim : op.getDims()) {
    bool isOwn = column->dim && dim == *column->dim;
    isReduced |= isOwn;
    numBefore += column->dim && dim < *column->dim;
    if (!isOwn && llvm::MulOverflow(count, getSize(op.getInput(), dim), count))
      return std::nullopt;
  }
  std::optional<PiecewiseAffine> numbers = column->numbers;
  std::optional<unsigned> dim = column->dim;
  bool isSum = op.getKind() == tp::ReductionKind::Sum;
  if (isReduced) {
    auto [low, high] = numbers->getRange();
    std::optional<int64_t> reduced = isSum ? numbers->getSum()
                                     : op.getKind() == tp::ReductionKind::Max
                                         ? high
                                         : low;
    numbers = reduced ? PiecewiseAffine::get(1, *reduced) : std::nullopt;
    dim.reset();
  } else if (dim && !op.getKeepDims()) {
    *dim -= numBefore;
  }
  if (!numbers)
    return std::nullopt;
  if (isSum) {
    std::optional<PiecewiseAffine> factor =
        PiecewiseAffine::get(numbers->getSize(), count);
    if (!factor)
      return std::nullopt;
    numbers = PiecewiseAffine::map(tp::MapFunction::Mul, {*numbers, *factor},
                                   /*areTruths=*/false);
  }
  return makeColumn(std::move(numbers), dim);
}

MaybeColumn PositionFolder::evaluatePrefixSums(tp::RowwiseOp op) const {
  const Column *column = get(op.getInput());
  auto dim = static_cast<unsigned>(op.getDim());
  if (op.getFunction() != tp::RowFunction::CumulativeSum || !column ||
      (column->dim && *column->dim != dim))
    return std::nullopt;
  return makeColumn(widen(*column, getSize(op.getInput(), dim)).getPrefixSums(),
                    dim);
}

MaybeColumn PositionFolder::evaluate(Operation *op) const {
  return TypeSwitch<Operation *, MaybeColumn>(op)
      .Case([&](tp::ConstantOp constant) -> MaybeColumn {
        auto number = dyn_cast<IntegerAttr>(constant.getValue());
        if (!number || number.getValue().getSignificantBits() > 62)
          return std::nullopt;
        return makeColumn(
            PiecewiseAffine::get(1, number.getType().isInteger(1)
                                        ? number.getValue().getBoolValue()
                                        : number.getValue().getSExtValue()),
            std::nullopt);
      })
      .Case([&](tp::IotaOp iota) -> MaybeColumn {
        auto start = dyn_cast<IntegerAttr>(iota.getStart());
        auto step = dyn_cast<IntegerAttr>(iota.getStep());
        if (!start || !step)
          return std::nullopt;
        return makeColumn(PiecewiseAffine::get(getSize(iota.getResult(), 0),
                                               start.getInt(), step.getInt()),
                          0);
      })
      .Case([&](tp::CastOp cast) -> MaybeColumn {
        const Column *column = get(cast.getInput());
        if (!column || !getType(cast.getResult()).getElementType().isInteger(1))
          return column ? MaybeColumn(*column) : std::nullopt;
        std::optional<PiecewiseAffine> zero =
            PiecewiseAffine::get(column->numbers.getSize(), 0);
        return makeColumn(PiecewiseAffine::map(tp::MapFunction::NotEqual,
                                               {column->numbers, *zero},
                                               /*areTruths=*/false),
                          column->dim);
      })
      .Case([&](tp::MapOp map) { return evaluateMap(map); })
      .Case([&](tp::ReshapeOp reshape) { return evaluateReshape(reshape); })
      .Case([&](tp::PermuteOp permute) -> MaybeColumn {
        const Column *column = get(permute.getInput());
        if (!column || !column->dim)
          return column ? MaybeColumn(*column) : std::nullopt;
        auto place = llvm::find(permute.getPermutation(), *column->dim);
        return Column{
            column->numbers,
            static_cast<unsigned>(place - permute.getPermutation().begin())};
      })
      .Case([&](tp::BroadcastOp repeated) -> MaybeColumn {
        const Column *column = get(repeated.getInput());
        if (!column || !column->dim)
          return column ? MaybeColumn(*column) : std::nullopt;
        return Column{
            column->numbers,
            static_cast<unsigned>(*column->dim +
                                  getType(repeated.getResult()).getRank() -
                                  getType(repeated.getInput()).getRank())};
      })
      .Case([&](tp::SliceOp slice) -> MaybeColumn {
        const Column *column = get(slice.getInput());
        auto dim = static_cast<unsigned>(slice.getDim());
        if (!column || !column->dim || *column->dim != dim)
          return column ? MaybeColumn(*column) : std::nullopt;
        int64_t size = getSize(slice.getResult(), dim);
        return makeColumn(column->numbers.slice(
                              slice.getStart() * (slice.getBlocks() ? size : 1),
                              slice.getStep(), size),
                          dim);
      })
      .Case([&](tp::ConcatOp concat) { return evaluateConcat(concat); })
      .Case([&](tp::CopyOp copy) -> MaybeColumn {
        const Column *column = get(copy.getInput());
        return column ? MaybeColumn(*column) : std::nullopt;
      })
      .Case([&](tp::TakeOp take) { return evaluateTake(take); })
      .Case([&](tp::ReduceOp reduce) { return evaluateReduce(reduce); })
      .Case([&](tp::RowwiseOp rowwise) { return evaluatePrefixSums(rowwise); })
      .Default([](Operation *) { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

Value PositionFolder::build(Value value) const {
  const Column &column = *get(value);
  RankedTensorType type = getType(value);
  OpBuilder builder(value.getDefiningOp());
  Location location = value.getLoc();
  PiecewiseAffine::Piece piece = column.numbers.getPieces().front();
  if (!column.dim) {
    Type element = type.getElementType().isInteger(1) ? builder.getI1Type()
                                                      : builder.getI64Type();
    return tp::ConstantOp::create(
        builder, location, type,
        builder.getIntegerAttr(element, piece.constant));
  }
  SmallVector<int64_t> sizes(type.getRank(), 1);
  sizes[*column.dim] = type.getDimSize(*column.dim);
  Value result =
      tp::IotaOp::create(builder, location, type.clone({sizes[*column.dim]}),
                         builder.getI64IntegerAttr(piece.constant),
                         builder.getI64IntegerAttr(piece.step));
  if (type.getRank() > 1)
    result =
        tp::ReshapeOp::create(builder, location, type.clone(sizes), result);
  if (type.getShape() != ArrayRef(sizes))
    result = tp::BroadcastOp::create(builder, location, type, result);
  return result;
}

void PositionFolder::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : function.getBody().front()) {
    if (op.getNumResults() != 1)
      continue;
    auto type = dyn_cast<RankedTensorType>(op.getResult(0).getType());
    auto element =
        type ? dyn_cast<IntegerType>(type.getElementType()) : IntegerType();
    if (!element || type.getNumElements() == 0 ||
        memory.mayBeWritten(op.getResult(0)))
      continue;
    MaybeColumn column = evaluate(&op);
    if (!column || !fits(column->numbers, element))
      continue;
    columns.insert({op.getResult(0), std::move(*column)});
    ops.push_back(&op);
  }
  // A folded value that only other folded values use need not be created.
  for (Operation *op : ops) {
    Value value = op->getResult(0);
    if (!isFolded(value) || isa<tp::IotaOp, tp::ConstantOp>(op))
      continue;
    bool isNeeded = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user->getNumResults() != 1 || !isFolded(user->getResult(0));
    });
    if (isNeeded)
      value.replaceAllUsesWith(build(value));
  }
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty())
      op->erase();
}

void equivalence::foldPositions(func::FuncOp function) {
  PositionFolder(function).run();
}
