//===- OverwrittenMemory.cpp - memory that no output depends on -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// For each allocation, the elements of each value that may depend on its
// content are followed from op to op: none of them, all, or the rows of one dim
// that no group of a grouped product holds. The theorem is in
// docs/equivalence.md ("Uninitialized memory").
//
//===----------------------------------------------------------------------===//

#include "OverwrittenMemory.h"

#include "ThresholdNumbers.h"
#include "commute/Dialect/OpaqueOperators.h"

#include "mlir/IR/Builders.h"

#include <cmath>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static bool isVector(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 1;
}

/// Returns true if all numbers of the first type are in the second.
static bool holdsAll(Type from, Type to) {
  auto a = dyn_cast<IntegerType>(from), b = dyn_cast<IntegerType>(to);
  if (!a || !b || a.getWidth() > b.getWidth())
    return false;
  return a.getWidth() < b.getWidth() ? !(b.isUnsigned() && !a.isUnsigned())
                                     : a.isUnsigned() == b.isUnsigned();
}

/// Returns the value that this one holds the elements of, in the same order.
static Value getUnshaped(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto cast = dyn_cast<tp::CastOp>(op)) {
      if (!holdsAll(tp::getTensor(cast.getInput()).getElementType(),
                    tp::getTensor(value).getElementType()))
        return value;
    } else if (!isa<tp::ReshapeOp, tp::CopyOp>(op)) {
      return value;
    }
    value = op->getOperand(0);
  }
  return value;
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

static bool isFullSort(tp::SortOp sort) {
  return sort && !sort.getFirst() && !sort.getUnordered() &&
         isVector(sort.getInput());
}

bool equivalence::isPermutation(Value value) {
  value = getUnshaped(value);
  auto sort = value.getDefiningOp<tp::SortOp>();
  if (isFullSort(sort))
    return value == sort.getOrder() || isPermutation(sort.getInput());
  if (auto iota = value.getDefiningOp<tp::IotaOp>()) {
    auto start = dyn_cast<IntegerAttr>(iota.getStart());
    auto step = dyn_cast<IntegerAttr>(iota.getStep());
    return isVector(value) && start && step && start.getInt() == 0 &&
           step.getInt() == 1;
  }
  auto take = value.getDefiningOp<tp::TakeOp>();
  return take && isVector(take.getTable()) && isVector(take.getIndices()) &&
         getShape(take.getTable()) == getShape(take.getIndices()) &&
         isPermutation(take.getTable()) && isPermutation(take.getIndices());
}

/// Returns a value that holds the same elements in some order.
static Value getUnsorted(Value value) {
  while (true) {
    value = getUnshaped(value);
    auto sort = value.getDefiningOp<tp::SortOp>();
    auto take = value.getDefiningOp<tp::TakeOp>();
    if (isFullSort(sort) && value == sort.getValues())
      value = sort.getInput();
    else if (take && isVector(take.getTable()) && isVector(take.getIndices()) &&
             getShape(take.getTable()) == getShape(take.getIndices()) &&
             isPermutation(take.getIndices()))
      value = take.getTable();
    else
      return value;
  }
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

using Bounds = std::optional<std::pair<int64_t, int64_t>>;

static Bounds findBounds(Value value, unsigned depth);

static Bounds findBounds(tp::MapOp op, unsigned depth) {
  auto get = [&](unsigned operand) {
    return findBounds(op.getOperand(operand), depth);
  };
  switch (op.getFunction()) {
  case MapFunction::Remainder: {
    std::optional<double> divisor = getUniformNumber(op.getOperand(1));
    if (!divisor || *divisor < 1 || *divisor > 0x1p52)
      return std::nullopt;
    return std::pair<int64_t, int64_t>(0, int64_t(*divisor) - 1);
  }
  case MapFunction::FloorDiv: {
    Bounds own = get(0);
    std::optional<double> divisor = getUniformNumber(op.getOperand(1));
    if (!own || own->first < 0 || !divisor || *divisor < 1 || *divisor > 0x1p52)
      return std::nullopt;
    auto number = static_cast<int64_t>(*divisor);
    return std::pair(own->first / number, own->second / number);
  }
  case MapFunction::Select: {
    Bounds a = get(1), b = get(2);
    if (!a || !b)
      return std::nullopt;
    return std::pair(std::min(a->first, b->first),
                     std::max(a->second, b->second));
  }
  case MapFunction::Minimum:
  case MapFunction::Maximum: {
    Bounds a = get(0), b = get(1);
    if (!a || !b)
      return std::nullopt;
    bool isLeast = op.getFunction() == MapFunction::Minimum;
    return isLeast ? std::pair(std::min(a->first, b->first),
                               std::min(a->second, b->second))
                   : std::pair(std::max(a->first, b->first),
                               std::max(a->second, b->second));
  }
  case MapFunction::Add:
  case MapFunction::Sub: {
    Bounds a = get(0), b = get(1);
    // Far from any wrap-around of the type.
    constexpr int64_t far = int64_t(1) << 30;
    auto type =
        dyn_cast<IntegerType>(tp::getTensor(op.getResult()).getElementType());
    auto isNear = [](const Bounds &own) {
      return own && own->first >= -far && own->second <= far;
    };
    if (!isNear(a) || !isNear(b) || !type || type.isUnsigned() ||
        type.getWidth() < 64)
      return std::nullopt;
    return op.getFunction() == MapFunction::Add
               ? std::pair(a->first + b->first, a->second + b->second)
               : std::pair(a->first - b->second, a->second - b->first);
  }
  default:
    return std::nullopt;
  }
}

static Bounds findBounds(Value value, unsigned depth) {
  constexpr unsigned mostDepth = 24;
  if (depth == mostDepth ||
      !isa<IntegerType>(tp::getTensor(value).getElementType()))
    return std::nullopt;
  value = getUnshaped(value);
  if (std::optional<double> number = getUniformNumber(value);
      number && std::floor(*number) == *number && std::abs(*number) < 0x1p52)
    return std::pair(int64_t(*number), int64_t(*number));
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto map = dyn_cast<tp::MapOp>(op))
    return findBounds(map, depth + 1);
  if (auto sort = dyn_cast<tp::SortOp>(op)) {
    if (value == sort.getValues())
      return findBounds(sort.getInput(), depth + 1);
    int64_t size = getShape(sort.getInput())[sort.getDim()];
    return std::pair<int64_t, int64_t>(0, std::max<int64_t>(size, 1) - 1);
  }
  if (auto iota = dyn_cast<tp::IotaOp>(op)) {
    auto start = dyn_cast<IntegerAttr>(iota.getStart());
    auto step = dyn_cast<IntegerAttr>(iota.getStep());
    if (!start || !step || step.getInt() != 1 || getShape(value)[0] == 0)
      return std::nullopt;
    return std::pair(start.getInt(), start.getInt() + getShape(value)[0] - 1);
  }
  if (isa<tp::PermuteOp, tp::SliceOp, tp::BroadcastOp>(op))
    return findBounds(op->getOperand(0), depth + 1);
  return std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>>
equivalence::findBounds(Value value) {
  return ::findBounds(value, /*depth=*/0);
}

//===----------------------------------------------------------------------===//
// Rows of no group
//===----------------------------------------------------------------------===//

namespace {
/// How many elements of a value are in [least, end).
struct Count {
  Value counted;
  int64_t least = 0, end = 0;

  bool operator==(const Count &) const = default;
};

/// The elements of a value that may depend on the content of an allocation: all
/// of them, or those at indices of one dim that are at least `first`.
struct Dependence {
  std::optional<unsigned> dim;
  Count first;
};
} // namespace

/// Returns true if a cast keeps all numbers of elements.
static bool keepsCounts(tp::CastOp op) {
  auto type =
      dyn_cast<IntegerType>(tp::getTensor(op.getResult()).getElementType());
  return !type || type.getWidth() >= 32;
}

/// Returns the value of which this one holds the same numbers of elements.
static Value getCounts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto cast = dyn_cast<tp::CastOp>(op);
    if (!(cast && keepsCounts(cast)) && !isa<tp::ReshapeOp, tp::CopyOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Returns the numbers [least, end) that a dim of whole numbers takes.
static Bounds findNumbers(Value value) {
  auto iota = getUnshaped(value).getDefiningOp<tp::IotaOp>();
  if (!iota)
    return std::nullopt;
  auto start = dyn_cast<IntegerAttr>(iota.getStart());
  auto step = dyn_cast<IntegerAttr>(iota.getStep());
  if (!start || !step || step.getInt() != 1)
    return std::nullopt;
  return std::pair(start.getInt(),
                   start.getInt() + getShape(iota.getResult())[0]);
}

/// Returns the operand's only dim with more than one element, as a dim of a
/// result of rank `rank`; nullopt if it has none or several.
static std::optional<unsigned> findOnlyDim(Value operand, unsigned rank) {
  std::optional<unsigned> only;
  ArrayRef<int64_t> shape = getShape(operand);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    if (only)
      return std::nullopt;
    only = dim + rank - shape.size();
  }
  return only;
}

/// Returns what the counts of several numbers sum up to: `counts[j]` is how
/// many elements are the j-th of neighbouring numbers.
static std::optional<Count> findCounted(Value counts) {
  counts = getCounts(counts);
  if (auto scatter = counts.getDefiningOp<tp::ScatterOp>()) {
    if (!scatter.getAccumulate() || scatter.getWrapsNegative() ||
        !isVector(counts) || !isVector(scatter.getIndices()) ||
        getUniformNumber(scatter.getInput()) != 0.0 ||
        getUniformNumber(scatter.getUpdates()) != 1.0)
      return std::nullopt;
    return Count{getUnsorted(scatter.getIndices()), 0, getShape(counts)[0]};
  }
  auto sum = counts.getDefiningOp<tp::ReduceOp>();
  if (!sum || sum.getKind() != tp::ReductionKind::Sum ||
      sum.getDims().size() != 1)
    return std::nullopt;
  Value truth = sum.getInput();
  if (auto cast = truth.getDefiningOp<tp::CastOp>())
    truth = cast.getInput();
  auto equal = truth.getDefiningOp<tp::MapOp>();
  if (!equal || equal.getFunction() != MapFunction::Equal ||
      getShape(truth).size() != 2)
    return std::nullopt;
  auto dim = static_cast<unsigned>(sum.getDims().front());
  for (unsigned which : {0, 1}) {
    Value elements = equal.getOperand(which), all = equal.getOperand(1 - which);
    Bounds numbers = findNumbers(all);
    if (!numbers || findOnlyDim(elements, 2) != dim ||
        getShape(truth)[1 - dim] != numbers->second - numbers->first ||
        getShape(truth)[dim] == 1 ||
        (findOnlyDim(all, 2) != 1 - dim && getShape(truth)[1 - dim] != 1))
      continue;
    return Count{getUnsorted(elements), numbers->first, numbers->second};
  }
  return std::nullopt;
}

/// Returns how many rows the groups of a grouped product hold in all.
static std::optional<Count> findGrouped(Value offsets) {
  auto sums = getCounts(offsets).getDefiningOp<tp::RowwiseOp>();
  if (!sums || sums.getFunction() != tp::RowFunction::CumulativeSum ||
      !isVector(sums.getInput()))
    return std::nullopt;
  return findCounted(sums.getInput());
}

/// Returns the numbers of a dim's elements from `count.end` on, if a sort of
/// these elements has them at the indices from `count` on; empty if there are
/// none.
static Bounds findRest(const Count &count) {
  Bounds bounds = findBounds(count.counted);
  if (!bounds || bounds->first < count.least)
    return std::nullopt;
  return std::pair(std::max(count.end, bounds->first), bounds->second);
}

/// Returns true if a comparison with `limit` is `truth` for all numbers of a
/// range.
static bool isAll(MapFunction function, std::pair<int64_t, int64_t> numbers,
                  double limit, bool truth) {
  auto least = static_cast<double>(numbers.first);
  auto most = static_cast<double>(numbers.second);
  switch (function) {
  case MapFunction::Less:
    return truth ? most < limit : least >= limit;
  case MapFunction::LessEqual:
    return truth ? most <= limit : least > limit;
  case MapFunction::Greater:
    return truth ? least > limit : most <= limit;
  case MapFunction::GreaterEqual:
    return truth ? least >= limit : most < limit;
  case MapFunction::Equal:
    return truth ? least == limit && most == limit
                 : most < limit || least > limit;
  case MapFunction::NotEqual:
    return truth ? most < limit || least > limit
                 : least == limit && most == limit;
  default:
    return false;
  }
}

/// Returns the vector along a dim of the result that a condition repeats along
/// all others; null if there is none. `truth` becomes the outcome of the vector
/// for which the condition is what it was.
static Value findMask(Value condition, unsigned dim, unsigned rank,
                      bool &truth) {
  Value mask = condition;
  while (Operation *op = mask.getDefiningOp()) {
    bool isAligned = findOnlyDim(mask, rank) == dim;
    if (isVector(mask) && isAligned && isa<tp::MapOp>(op) &&
        op->getNumOperands() == 2)
      return mask;
    auto map = dyn_cast<tp::MapOp>(op);
    if (map && (map.getFunction() == MapFunction::LogicalNot ||
                map.getFunction() == MapFunction::BitwiseNot))
      truth = !truth;
    else if (isa<tp::ReshapeOp>(op) && isAligned && isVector(op->getOperand(0)))
      return findMask(op->getOperand(0), 0, 1, truth);
    else if (!isa<tp::CopyOp, tp::BroadcastOp>(op))
      return {};
    mask = op->getOperand(0);
  }
  return {};
}

/// Returns true if a condition of a select is `truth` at all elements that
/// depend on the memory.
static bool isMask(Value condition, const Dependence &dependence, unsigned rank,
                   bool truth) {
  if (!dependence.dim)
    return false;
  Value mask = findMask(condition, *dependence.dim, rank, truth);
  if (!mask)
    return false;
  auto comparison = cast<tp::MapOp>(mask.getDefiningOp());
  Value compared = getUnshaped(comparison.getOperand(0));
  std::optional<double> limit = getUniformNumber(comparison.getOperand(1));
  auto sort = compared.getDefiningOp<tp::SortOp>();
  // The elements from index `first` on are those from `first.end` on.
  if (!limit || !isFullSort(sort) || sort.getDescending() ||
      compared != sort.getValues() ||
      getUnsorted(compared) != dependence.first.counted)
    return false;
  Bounds rest = findRest(dependence.first);
  return rest && (rest->first > rest->second ||
                  isAll(comparison.getFunction(), *rest, *limit, truth));
}

//===----------------------------------------------------------------------===//
// Following the content of memory
//===----------------------------------------------------------------------===//

namespace {
/// Decides whether outputs depend on the content of one allocation.
class ContentFlow {
public:
  explicit ContentFlow(tp::EmptyOp memory) {
    add(memory.getResult(), Dependence());
  }

  bool reachesOutputs();

private:
  using Known = DenseMap<Value, Dependence>;

  void add(Value value, Dependence dependence) {
    dependences[value] = dependence;
    for (Operation *user : value.getUsers())
      pending.insert(user);
  }
  /// Adds what the results of an op depend on. Returns false if its effects, or
  /// whether it can run at all, may depend on the memory.
  bool visit(Operation *op);
  /// The elements of a result that depend on the memory; nullopt if none do.
  std::optional<Dependence> visitGrouped(tp::GroupedMatmulOp op);
  std::optional<Dependence> visitSelect(tp::MapOp op);
  std::optional<Dependence> visitElementwise(Operation *op);
  /// Returns the dim of the result that is this dim of the operand; nullopt if
  /// each element of the result may depend on all along the dim.
  static std::optional<unsigned> follow(Operation *op, unsigned operand,
                                        unsigned dim);

  const Dependence *lookup(Value value) const {
    auto known = dependences.find(value);
    return known == dependences.end() ? nullptr : &known->second;
  }
  static std::optional<Dependence> join(std::optional<Dependence> a,
                                        std::optional<Dependence> b) {
    if (!a || !b)
      return a ? a : b;
    return a->dim == b->dim && a->first == b->first ? a : Dependence();
  }

  struct InOrder {
    bool operator()(Operation *a, Operation *b) const {
      return a != b && a->isBeforeInBlock(b);
    }
  };
  Known dependences;
  std::set<Operation *, InOrder> pending;
};
} // namespace

bool ContentFlow::reachesOutputs() {
  while (!pending.empty()) {
    Operation *op = *pending.begin();
    pending.erase(pending.begin());
    if (!visit(op))
      return true;
  }
  return false;
}

std::optional<unsigned> ContentFlow::follow(Operation *op, unsigned operand,
                                            unsigned dim) {
  ArrayRef<int64_t> from = getShape(op->getOperand(operand));
  ArrayRef<int64_t> to = getShape(op->getResult(0));
  if (isa<tp::CastOp, tp::CopyOp, tp::WaitOp, tp::RegionMarkerOp>(op))
    return dim;
  if (isa<tp::ReshapeOp>(op)) {
    int64_t before = 1;
    for (int64_t size : from.take_front(dim))
      before *= size;
    int64_t own = 1;
    for (auto [index, size] : llvm::enumerate(to)) {
      if (own == before && size == from[dim])
        return static_cast<unsigned>(index);
      own *= size;
    }
    return std::nullopt;
  }
  if (auto permute = dyn_cast<tp::PermuteOp>(op)) {
    const auto *own = llvm::find(permute.getPermutation(), int64_t(dim));
    return static_cast<unsigned>(own - permute.getPermutation().begin());
  }
  if (auto slice = dyn_cast<tp::SliceOp>(op))
    return slice.getBlocks() || slice.getDim() == dim ? std::nullopt
                                                      : std::optional(dim);
  if (isa<tp::RowwiseOp>(op))
    return cast<tp::RowwiseOp>(op).getDim() == dim ? std::nullopt
                                                   : std::optional(dim);
  if (auto reduce = dyn_cast<tp::ReduceOp>(op)) {
    unsigned own = dim;
    for (int64_t other : reduce.getDims()) {
      if (other == int64_t(dim))
        return std::nullopt;
      own -= !reduce.getKeepDims() && other < int64_t(dim);
    }
    return own;
  }
  // Of a product, the rows of the left-hand side are independent.
  if (auto product = dyn_cast<tp::MatmulOp>(op); product && operand == 0)
    return !product.getTransposeLhs() && from.size() == 2 && to.size() == 2 &&
                   dim == 0
               ? std::optional(dim)
               : std::nullopt;
  return std::nullopt;
}

std::optional<Dependence> ContentFlow::visitGrouped(tp::GroupedMatmulOp op) {
  // A row of a group depends on this row, and a row of none is that of `rest`.
  bool hasRows = getShape(op.getResult()).size() == 2;
  if (!hasRows || lookup(op.getRhs()) || lookup(op.getOffsets()))
    return Dependence();
  std::optional<Dependence> own;
  if (const Dependence *rest = op.getRest() ? lookup(op.getRest()) : nullptr) {
    std::optional<Count> grouped = findGrouped(op.getOffsets());
    if (!grouped)
      return rest->dim == 0u ? *rest : Dependence();
    // All rows are in groups.
    Bounds numbers = findRest(*grouped);
    bool hasNone = numbers && numbers->first > numbers->second &&
                   ShapedType::getNumElements(getShape(grouped->counted)) ==
                       getShape(op.getLhs())[0];
    if (!hasNone)
      own = Dependence{0, *grouped};
  }
  if (const Dependence *lhs = lookup(op.getLhs()))
    own = join(own, lhs->dim == 0u ? *lhs : Dependence());
  return own;
}

std::optional<Dependence> ContentFlow::visitElementwise(Operation *op) {
  std::optional<Dependence> own;
  auto rank = static_cast<unsigned>(getShape(op->getResult(0)).size());
  for (Value operand : op->getOperands()) {
    const Dependence *known = lookup(operand);
    if (!known)
      continue;
    Dependence aligned = *known;
    if (aligned.dim) {
      unsigned dim = *aligned.dim + rank - getShape(operand).size();
      if (getShape(op->getResult(0))[dim] == getShape(operand)[*aligned.dim])
        aligned.dim = dim;
      else
        aligned = Dependence();
    }
    own = join(own, aligned);
  }
  return own;
}

std::optional<Dependence> ContentFlow::visitSelect(tp::MapOp op) {
  if (lookup(op.getOperand(0)))
    return Dependence();
  std::optional<Dependence> own;
  auto rank = static_cast<unsigned>(getShape(op.getResult()).size());
  for (unsigned branch : {1, 2}) {
    Value operand = op.getOperand(branch);
    const Dependence *known = lookup(operand);
    if (!known)
      continue;
    // Which rows a branch has is only known if it has all of the result's.
    if (getShape(operand) != getShape(op.getResult()) || !known->dim)
      own = Dependence();
    else if (!isMask(op.getOperand(0), *known, rank, /*truth=*/branch == 2))
      own = join(own, *known);
  }
  return own;
}

bool ContentFlow::visit(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (auto call = dyn_cast<tp::CallOp>(op)) {
    if (tp::readsTypesAlone(call))
      return true;
    if (tp::mayHaveEffects(call) || !call.getMutatedOperands().empty())
      return false;
  }
  std::optional<Dependence> own = Dependence();
  if (auto map = dyn_cast<tp::MapOp>(op)) {
    // A divisor may be zero, which is an error for integers.
    bool divides = map.getFunction() == MapFunction::FloorDiv ||
                   map.getFunction() == MapFunction::Remainder;
    if (divides && lookup(map.getOperand(1)))
      return false;
    own = map.getFunction() == MapFunction::Select ? visitSelect(map)
                                                   : visitElementwise(map);
  } else if (auto grouped = dyn_cast<tp::GroupedMatmulOp>(op)) {
    own = visitGrouped(grouped);
  } else if (auto scatter = dyn_cast<tp::ScatterOp>(op)) {
    // An index may be outside.
    if (lookup(scatter.getIndices()))
      return false;
    bool isWritten = !scatter.getAccumulate() &&
                     isVector(scatter.getIndices()) &&
                     getShape(scatter.getIndices())[0] ==
                         getShape(scatter.getInput())[scatter.getDim()] &&
                     isPermutation(scatter.getIndices());
    if (isWritten && !lookup(scatter.getUpdates()))
      own = std::nullopt;
  } else if (auto indexing = dyn_cast<tp::IndexingOpInterface>(op)) {
    if (lookup(indexing.getIndexValues()))
      return false;
  } else if (!isMemoryEffectFree(op)) {
    return false;
  } else if (op->getNumResults() == 1 && op->getNumOperands() > 0) {
    own.reset();
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      const Dependence *known = lookup(operand);
      if (!known)
        continue;
      Dependence moved = *known;
      if (moved.dim)
        moved.dim = follow(op, index, *moved.dim);
      own = join(own, moved.dim ? moved : Dependence());
    }
  }
  if (own)
    for (Value result : op->getResults())
      add(result, *own);
  return true;
}

void equivalence::replaceOverwrittenMemory(func::FuncOp function) {
  // What an operator writes into is seen under other names, too.
  for (auto call : function.getOps<tp::CallOp>())
    if (!call.getMutatedOperands().empty())
      return;
  for (auto memory :
       llvm::make_early_inc_range(function.getOps<tp::EmptyOp>())) {
    auto type = cast<RankedTensorType>(memory.getResult().getType());
    OpBuilder builder(memory);
    TypedAttr zero = builder.getZeroAttr(type.getElementType());
    if (!zero || !type.hasStaticShape() || ContentFlow(memory).reachesOutputs())
      continue;
    auto zeros = tp::ConstantOp::create(builder, memory.getLoc(), type, zero);
    memory.getResult().replaceAllUsesWith(zeros.getResult());
    memory.erase();
  }
}
