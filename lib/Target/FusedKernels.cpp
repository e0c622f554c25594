//===- FusedKernels.cpp - ops that a compiler computes in one kernel ------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FusedKernels.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace commute;
using namespace commute::target;

/// How many views are looked through.
static constexpr unsigned maxViews = 8;
/// How many readers of a value, and ops behind an operand, are looked at:
/// values that are read more often are those of the whole program, such as
/// rotary embeddings.
static constexpr unsigned maxReaders = 16;

bool KernelShare::isEmpty() const {
  return !isLaunchedLater && llvm::none_of(isInRegisters, llvm::identity()) &&
         llvm::none_of(isUnwritten, llvm::identity());
}

//===----------------------------------------------------------------------===//
// Ops that share kernels with their neighbours
//===----------------------------------------------------------------------===//

/// Returns true if an op computes each row of its results from one row of each
/// operand, where a row is an element or consists of the last dims.
static bool isRowwise(Operation *op) {
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled || op->getNumResults() == 0 || !isMemoryEffectFree(op) ||
      isa<tp::CollectiveOpInterface, tp::CompletionOpInterface,
          tp::ReindexOpInterface, tp::IndexingOpInterface>(op))
    return false;
  tp::DimensionRule rule = ruled.getDimensionRule();
  auto isParallel = [&](unsigned factor) {
    return rule.factors[factor].kind == tp::Factor::Kind::Parallel;
  };
  bool isElementwise =
      llvm::all_of(llvm::seq<unsigned>(0, rule.factors.size()), isParallel);
  if (isElementwise)
    return op->getNumResults() == 1;
  if (rule.operands.empty())
    return false;
  // The first operand has all factors. Products have more.
  llvm::SmallBitVector known(rule.factors.size());
  bool isInRow = false;
  for (const tp::DimensionRule::DimFactors &dim : rule.operands.front())
    for (unsigned factor : dim) {
      known.set(factor);
      if (isInRow && isParallel(factor))
        return false;
      isInRow |= !isParallel(factor);
    }
  return known.all();
}

/// Whether an op rearranges or shares the elements of its first operand without
/// a kernel.
static bool isView(Operation *op) {
  auto strides = dyn_cast<tp::StrideOpInterface>(op);
  return strides && strides.mayShareMemory() &&
         isa<tp::ReindexOpInterface>(op) && op->getNumOperands() == 1;
}

static Operation *getProducer(Value value) {
  Operation *op = value.getDefiningOp();
  for (unsigned view = 0; op && isView(op) && view < maxViews; ++view)
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Returns true if an op, or one of its kernel that it reads, waits for a
/// kernel that comes after `producer`, so that they share none.
static bool waitsForKernelAfter(Operation *producer, Operation *op,
                                unsigned depth, unsigned &numOps) {
  if (!producer->getBlock())
    return false;
  for (Value operand : op->getOperands()) {
    Operation *other = getProducer(operand);
    if (!other || other == producer ||
        other->getBlock() != producer->getBlock() ||
        !producer->isBeforeInBlock(other))
      continue;
    if (!isRowwise(other) || depth == maxViews || ++numOps > maxReaders ||
        waitsForKernelAfter(producer, other, depth + 1, numOps))
      return true;
  }
  return false;
}

static bool shareKernel(Operation *producer, Operation *reader) {
  unsigned numOps = 0;
  return isRowwise(producer) &&
         !waitsForKernelAfter(producer, reader, 0, numOps);
}

namespace {
/// Those who read a value, also through views.
struct Readers {
  bool anyInKernel = false;
  bool anyOutside = false;
};
} // namespace

static void findReaders(Operation *producer, Value value, unsigned depth,
                        unsigned &numReaders, Readers &readers) {
  for (Operation *user : value.getUsers()) {
    // Ops of drafts are in no block.
    if (!user->getBlock())
      continue;
    if (++numReaders > maxReaders) {
      readers.anyOutside = true;
      return;
    }
    if (isRowwise(user) && shareKernel(producer, user))
      readers.anyInKernel = true;
    else if (depth < maxViews && isView(user))
      findReaders(producer, user->getResult(0), depth + 1, numReaders, readers);
    else
      readers.anyOutside = true;
  }
}

/// Whether an op that computes `value`, or other operands of the same kernel,
/// reads `input`.
static bool isReadBy(Value input, Value value, unsigned depth,
                     unsigned &numOps) {
  Operation *producer = getProducer(value);
  if (!producer || depth == maxViews || ++numOps > maxReaders ||
      !isRowwise(producer))
    return false;
  return llvm::any_of(producer->getOperands(), [&](Value operand) {
    return operand == input || isReadBy(input, operand, depth + 1, numOps);
  });
}

static KernelShare findRowwiseShare(Operation *op) {
  KernelShare share;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Operation *producer = getProducer(operand);
    unsigned numOps = 0;
    share.isInRegisters.push_back(
        (producer && shareKernel(producer, op)) ||
        llvm::is_contained(op->getOperands().take_front(index), operand) ||
        llvm::any_of(op->getOperands(), [&](Value other) {
          return other != operand && isReadBy(operand, other, 0, numOps);
        }));
  }
  unsigned numReaders = 0;
  for (Value result : op->getResults()) {
    Readers readers;
    if (op->getBlock())
      findReaders(op, result, 0, numReaders, readers);
    share.isUnwritten.push_back(readers.anyInKernel && !readers.anyOutside);
    share.isLaunchedLater |= readers.anyInKernel;
  }
  return share;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {
/// Attention that is written as two products and the softmax between them.
struct Attention {
  Operation *scores = nullptr;
  Operation *softmax = nullptr;
  Operation *mixture = nullptr;
  /// The elementwise ops between them, such as scales, masks and casts.
  llvm::SmallVector<Operation *, 4> between;
};
} // namespace

static bool isSoftmax(Operation *op) {
  auto rowwise = dyn_cast<tp::RowwiseOp>(op);
  return rowwise && rowwise.getFunction() == tp::RowFunction::Softmax;
}

/// Follows values that are read once, from an op to the next one for which
/// `isEnd` holds; null if there is none.
template <typename Step>
static Operation *follow(Operation *op, Step step,
                         llvm::function_ref<bool(Operation *)> isEnd,
                         llvm::SmallVectorImpl<Operation *> &between) {
  for (unsigned depth = 0; depth < maxViews; ++depth) {
    op = step(op);
    if (!op || isEnd(op))
      return op;
    if (isView(op))
      continue;
    if (!isRowwise(op) || isSoftmax(op))
      return nullptr;
    between.push_back(op);
  }
  return nullptr;
}

static Operation *getOnlyUser(Operation *op) {
  if (op->getNumResults() != 1 || !op->getResult(0).hasOneUse())
    return nullptr;
  Operation *user = *op->getResult(0).user_begin();
  return user->getBlock() ? user : nullptr;
}

static Operation *getOnlyOperandOp(Operation *op) {
  // Scales and masks are second operands.
  Operation *producer =
      op->getNumOperands() > 0 ? op->getOperand(0).getDefiningOp() : nullptr;
  return producer && getOnlyUser(producer) == op ? producer : nullptr;
}

static bool isProduct(Operation *op) { return isa<tp::MatmulOp>(op); }

/// Returns the attention that an op is part of, if it is.
static std::optional<Attention> findAttention(Operation *op) {
  Attention found;
  auto isEnd = [](Operation *other) {
    return isSoftmax(other) || isProduct(other);
  };
  llvm::SmallVector<Operation *, 4> ignored;
  if (isSoftmax(op)) {
    found.softmax = op;
  } else {
    Operation *after = follow(op, getOnlyUser, isEnd, ignored);
    Operation *before = follow(op, getOnlyOperandOp, isEnd, ignored);
    for (Operation *other : {after, before})
      if (other && isSoftmax(other))
        found.softmax = other;
    if (!found.softmax)
      return std::nullopt;
  }
  found.scores = follow(found.softmax, getOnlyOperandOp, isEnd, found.between);
  found.mixture = follow(found.softmax, getOnlyUser, isEnd, found.between);
  if (!found.scores || !found.mixture || !isProduct(found.scores) ||
      !isProduct(found.mixture))
    return std::nullopt;
  bool isPart = op == found.scores || op == found.softmax ||
                op == found.mixture || llvm::is_contained(found.between, op);
  return isPart ? std::optional(found) : std::nullopt;
}

static KernelShare findAttentionShare(const Attention &attention,
                                      Operation *op) {
  KernelShare share;
  auto isInside = [&](Operation *other) {
    return other == attention.scores || other == attention.softmax ||
           llvm::is_contained(attention.between, other);
  };
  for (Value operand : op->getOperands()) {
    Operation *producer = getProducer(operand);
    share.isInRegisters.push_back(producer && isInside(producer));
  }
  bool isLast = op == attention.mixture;
  share.isUnwritten.assign(op->getNumResults(), !isLast);
  share.isLaunchedLater = !isLast;
  return share;
}

KernelShare target::findKernelShare(Operation *op) {
  bool mayBeAttention = isProduct(op) || isSoftmax(op);
  bool rowwise = !mayBeAttention && isRowwise(op);
  if (op->getBlock() && (mayBeAttention || rowwise))
    if (std::optional<Attention> attention = findAttention(op))
      return findAttentionShare(*attention, op);
  if (isProduct(op) || (!rowwise && !isRowwise(op)))
    return KernelShare();
  return findRowwiseShare(op);
}
