//===- PositionNumbers.cpp - numbers that indices meet ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PositionNumbers.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

namespace {

/// `constant` plus a coefficient times the index along each dim of a value.
struct Affine {
  int64_t constant = 0;
  SmallVector<int64_t, 4> coefficients;

  bool operator==(const Affine &other) const {
    return constant == other.constant && coefficients == other.coefficients;
  }
  bool isConstant() const {
    return llvm::all_of(coefficients, [](int64_t k) { return k == 0; });
  }
};

/// What is known of the elements of a value of integers or truth values.
struct Form {
  /// Each element is one of these, which one being the same within a cell, plus
  /// what is unknown or derived. Empty for a value that is not followed.
  SmallVector<Affine, 2> candidates;
  /// Adds an integer from outside: an input, or what an opaque op returned.
  bool hasUnknown = false;
  /// Adds a number that is computed in the program, but not known here.
  bool hasDerived = false;
  /// The dims along which elements differ by their positions.
  llvm::SmallBitVector varies;
  /// An input whose elements these are, plus the offset.
  std::optional<unsigned> input;
  int64_t inputOffset = 0;
};

class PositionFinder {
public:
  explicit PositionFinder(PositionListener &listener) : listener(listener) {}

  void visit(func::FuncOp function);

private:
  /// More candidates than these are not followed.
  static constexpr size_t maxCandidates = 64;
  static constexpr size_t maxPairs = 1024;

  static RankedTensorType getType(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  static bool isFollowed(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && isa<IntegerType>(type.getElementType());
  }
  static Form getUnknown(Value value);
  static Form getConstants(Value value, ArrayRef<int64_t> numbers);
  const Form &get(Value value);

  void visit(Operation *op);
  void visitMap(tp::MapOp op);
  Form evaluateMap(tp::MapOp op);
  void visitIndexing(tp::IndexingOpInterface op);
  /// The integers that an op of indices returns.
  Form evaluateTake(tp::TakeOp op);
  Form moveDims(Operation *op);
  Form evaluateReshape(tp::ReshapeOp op);
  Form evaluateConcat(tp::ConcatOp op);

  /// The form of an operand in the dims of the value that it is broadcast to.
  Form broadcast(Value operand, RankedTensorType type);
  /// The operands are compared; `value` has the dims of both.
  void compare(Value value, const Form &a, const Form &b);
  /// The positions along the dims that `form` varies along are all needed.
  void keepVarying(Value value, const Form &form);
  /// A value of which nothing is known but its operands.
  Form derive(Operation *op);
  static Form unite(const Form &a, const Form &b);
  std::optional<Form> divide(tp::MapOp op, const Form &a, const Form &b);

  PositionListener &listener;
  DenseMap<Value, Form> forms;
};

} // namespace

Form PositionFinder::getConstants(Value value, ArrayRef<int64_t> numbers) {
  Form form;
  int64_t rank = getType(value).getRank();
  for (int64_t number : numbers)
    form.candidates.push_back({number, SmallVector<int64_t, 4>(rank, 0)});
  form.varies.resize(rank);
  return form;
}

Form PositionFinder::getUnknown(Value value) {
  Form form = getConstants(value, 0);
  form.hasUnknown = true;
  return form;
}

const Form &PositionFinder::get(Value value) {
  auto [it, isNew] = forms.try_emplace(value);
  if (isNew)
    it->second = isFollowed(value) ? getUnknown(value) : Form();
  return it->second;
}

void PositionFinder::keepVarying(Value value, const Form &form) {
  for (unsigned dim : form.varies.set_bits())
    listener.onUnknownUse(value, dim);
}

Form PositionFinder::unite(const Form &a, const Form &b) {
  Form result = a;
  for (const Affine &candidate : b.candidates)
    if (!llvm::is_contained(result.candidates, candidate))
      result.candidates.push_back(candidate);
  result.hasUnknown |= b.hasUnknown;
  result.hasDerived |= b.hasDerived;
  result.varies |= b.varies;
  result.input.reset();
  return result;
}

Form PositionFinder::broadcast(Value operand, RankedTensorType type) {
  Form form = get(operand);
  auto own = getType(operand);
  unsigned rank = type.getRank(), shift = rank - own.getRank();
  for (Affine &candidate : form.candidates) {
    SmallVector<int64_t, 4> coefficients(rank, 0);
    for (unsigned dim = 0; dim < own.getRank(); ++dim)
      if (own.getDimSize(dim) != 1)
        coefficients[dim + shift] = candidate.coefficients[dim];
    candidate.coefficients = std::move(coefficients);
  }
  llvm::SmallBitVector varies(rank);
  for (unsigned dim : form.varies.set_bits())
    varies.set(dim + shift);
  form.varies = std::move(varies);
  return form;
}

void PositionFinder::compare(Value value, const Form &a, const Form &b) {
  bool hasUnknown = a.hasUnknown || b.hasUnknown;
  if (a.candidates.size() * b.candidates.size() > maxPairs) {
    keepVarying(value, a);
    keepVarying(value, b);
    return;
  }
  ArrayRef<int64_t> sizes = getType(value).getShape();
  for (const Affine &x : a.candidates)
    for (const Affine &y : b.candidates) {
      SmallVector<std::pair<unsigned, int64_t>> terms;
      for (unsigned dim = 0; dim < sizes.size(); ++dim)
        if (int64_t k = x.coefficients[dim] - y.coefficients[dim];
            k != 0 && sizes[dim] > 1)
          terms.push_back({dim, k});
      int64_t constant =
          static_cast<int64_t>(static_cast<uint64_t>(x.constant) -
                               static_cast<uint64_t>(y.constant));
      if (terms.empty()) {
        if (hasUnknown) {
          listener.onNumber(constant);
          listener.onNumber(-static_cast<uint64_t>(constant));
        }
        continue;
      }
      if (a.hasDerived || b.hasDerived || terms.size() > 2) {
        for (auto [dim, k] : terms)
          listener.onUnknownUse(value, dim);
      } else if (hasUnknown) {
        for (auto [dim, k] : terms)
          listener.onMetByUnknown(value, dim);
      } else if (terms.size() == 1) {
        // The sign changes at one place; equality may hold at one index.
        auto [dim, k] = terms.front();
        if (constant == std::numeric_limits<int64_t>::min())
          continue;
        int64_t root = llvm::divideFloorSigned(-constant, k);
        listener.onCut(value, dim, root);
        listener.onCut(value, dim, root + 1);
        listener.onCut(value, dim, root + 2);
      } else {
        listener.onDiagonal(value, terms[0].first, value, terms[1].first,
                            terms[0].second, terms[1].second, constant);
      }
    }
}

Form PositionFinder::derive(Operation *op) {
  Value result = op->getResult(0);
  Form form = getConstants(result, 0);
  form.hasDerived = true;
  for (Value operand : op->getOperands()) {
    if (!isFollowed(operand))
      continue;
    const Form &own = get(operand);
    form.hasUnknown |= own.hasUnknown;
    keepVarying(operand, own);
  }
  return form;
}

//===----------------------------------------------------------------------===//
// Elementwise functions
//===----------------------------------------------------------------------===//

/// The sum of two affine expressions, of which the second is taken `factor`
/// times; nullopt where a number does not fit into 64 bits.
static std::optional<Affine> add(const Affine &a, const Affine &b,
                                 int64_t factor) {
  Affine result = a;
  auto addTo = [&](int64_t &sum, int64_t term) {
    int64_t product;
    return !llvm::MulOverflow(term, factor, product) &&
           !llvm::AddOverflow(sum, product, sum);
  };
  if (!addTo(result.constant, b.constant))
    return std::nullopt;
  for (auto [sum, term] : llvm::zip_equal(result.coefficients, b.coefficients))
    if (!addTo(sum, term))
      return std::nullopt;
  return result;
}

std::optional<Form> PositionFinder::divide(tp::MapOp op, const Form &a,
                                           const Form &b) {
  if (b.candidates.size() != 1 || !b.candidates[0].isConstant() ||
      b.hasUnknown || b.hasDerived || b.candidates[0].constant < 1)
    return std::nullopt;
  int64_t divisor = b.candidates[0].constant;
  if (a.hasUnknown && a.varies.none()) {
    for (int64_t number : {divisor, 2 * divisor, -divisor})
      listener.onNumber(number);
    return std::nullopt;
  }
  if (a.hasUnknown || a.hasDerived)
    return std::nullopt;
  bool isQuotient = op.getFunction() == MapFunction::FloorDiv;
  ArrayRef<int64_t> sizes = getType(op.getResult()).getShape();
  Form result = getConstants(op.getResult(), {});
  result.varies = a.varies;
  for (const Affine &candidate : a.candidates) {
    int64_t low = candidate.constant, high = low;
    for (auto [k, size] : llvm::zip_equal(candidate.coefficients, sizes)) {
      int64_t reach;
      if (llvm::MulOverflow(k, std::max<int64_t>(size - 1, 0), reach) ||
          llvm::AddOverflow(reach < 0 ? low : high, reach,
                            reach < 0 ? low : high))
        return std::nullopt;
    }
    int64_t first = llvm::divideFloorSigned(low, divisor);
    int64_t last = llvm::divideFloorSigned(high, divisor);
    if (last - first > static_cast<int64_t>(maxCandidates) ||
        result.candidates.size() > maxCandidates)
      return std::nullopt;
    for (int64_t quotient = first; quotient <= last; ++quotient) {
      Form own = getConstants(op.getResult(), {});
      own.candidates.push_back(candidate);
      Form border = getConstants(op.getResult(), quotient * divisor);
      own.varies = a.varies;
      compare(op.getResult(), own, border);
      Affine value =
          isQuotient ? getConstants(op.getResult(), quotient).candidates.front()
                     : candidate;
      if (!isQuotient)
        value.constant -= quotient * divisor;
      if (!llvm::is_contained(result.candidates, value))
        result.candidates.push_back(value);
    }
  }
  return result;
}

Form PositionFinder::evaluateMap(tp::MapOp op) {
  Value result = op.getResult();
  auto type = getType(result);
  SmallVector<Form, 3> operands;
  for (Value operand : op.getOperands()) {
    if (!isFollowed(operand)) {
      // Of floats: truth values that are unknown numbers, or another integer.
      Form form = getUnknown(result);
      for (Value other : op.getOperands())
        if (isFollowed(other))
          form.varies |= broadcast(other, type).varies;
      return form;
    }
    operands.push_back(broadcast(operand, type));
  }
  auto combine = [&](int64_t factor) -> std::optional<Form> {
    const Form &a = operands[0], &b = operands[1];
    if (a.candidates.size() * b.candidates.size() > maxCandidates)
      return std::nullopt;
    Form form = unite(a, b);
    form.candidates.clear();
    for (const Affine &x : a.candidates)
      for (const Affine &y : b.candidates) {
        std::optional<Affine> sum = add(x, y, factor);
        if (!sum)
          return std::nullopt;
        if (!llvm::is_contained(form.candidates, *sum))
          form.candidates.push_back(*sum);
      }
    auto isNumber = [](const Form &form) {
      return form.candidates.size() == 1 && form.candidates[0].isConstant() &&
             !form.hasUnknown && !form.hasDerived;
    };
    if (a.input && isNumber(b)) {
      form.input = a.input;
      form.inputOffset = a.inputOffset + factor * b.candidates[0].constant;
    } else if (b.input && factor == 1 && isNumber(a)) {
      form.input = b.input;
      form.inputOffset = b.inputOffset + a.candidates[0].constant;
    }
    return form;
  };
  auto scale = [&](const Form &form, const Form &by) -> std::optional<Form> {
    if (by.hasUnknown || by.hasDerived ||
        by.candidates.size() * form.candidates.size() > maxCandidates)
      return std::nullopt;
    Form scaled = unite(form, by);
    scaled.candidates.clear();
    for (const Affine &factor : by.candidates) {
      if (!factor.isConstant())
        return std::nullopt;
      for (const Affine &candidate : form.candidates) {
        Affine zero{0, SmallVector<int64_t, 4>(type.getRank(), 0)};
        std::optional<Affine> product = add(zero, candidate, factor.constant);
        if (!product)
          return std::nullopt;
        if (!llvm::is_contained(scaled.candidates, *product))
          scaled.candidates.push_back(*product);
      }
    }
    return scaled;
  };
  auto asTruth = [&](Form form) {
    Form truth = getConstants(result, {0, 1});
    truth.hasUnknown = form.hasUnknown;
    truth.varies = std::move(form.varies);
    return truth;
  };
  Form zero = getConstants(result, 0);
  bool isTruth = type.getElementType().isInteger(1);
  std::optional<Form> form;
  switch (op.getFunction()) {
  case MapFunction::Add:
    form = isTruth ? asTruth(unite(operands[0], operands[1])) : combine(1);
    break;
  case MapFunction::Sub:
    form = isTruth ? asTruth(unite(operands[0], operands[1])) : combine(-1);
    break;
  case MapFunction::Neg:
    form = scale(operands[0], getConstants(result, -1));
    break;
  case MapFunction::Mul:
    if (isTruth)
      return asTruth(unite(operands[0], operands[1]));
    form = scale(operands[0], operands[1]);
    if (!form)
      form = scale(operands[1], operands[0]);
    break;
  case MapFunction::Maximum:
  case MapFunction::Minimum:
    compare(result, operands[0], operands[1]);
    form = unite(operands[0], operands[1]);
    break;
  case MapFunction::Relu:
    compare(result, operands[0], zero);
    form = unite(operands[0], zero);
    break;
  case MapFunction::Abs:
    compare(result, operands[0], zero);
    if (std::optional<Form> negated =
            scale(operands[0], getConstants(result, -1)))
      form = unite(operands[0], *negated);
    break;
  case MapFunction::Sign: {
    compare(result, operands[0], zero);
    Form signs = getConstants(result, {-1, 0, 1});
    signs.varies = operands[0].varies;
    // Which of them it is is up to what is unknown.
    signs.hasUnknown = operands[0].hasUnknown;
    signs.hasDerived = operands[0].hasDerived;
    form = signs;
    break;
  }
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    form = operands[0];
    break;
  case MapFunction::FloorDiv:
  case MapFunction::Remainder:
    form = divide(op, operands[0], operands[1]);
    break;
  case MapFunction::Equal:
  case MapFunction::NotEqual:
  case MapFunction::Less:
  case MapFunction::LessEqual:
  case MapFunction::Greater:
  case MapFunction::GreaterEqual:
    compare(result, operands[0], operands[1]);
    return asTruth(unite(operands[0], operands[1]));
  case MapFunction::LogicalAnd:
  case MapFunction::LogicalOr:
  case MapFunction::LogicalNot: {
    Form all = operands[0];
    for (auto [operand, own] : llvm::zip_equal(op.getOperands(), operands)) {
      // Whether an integer is zero.
      if (!getType(operand).getElementType().isInteger(1))
        compare(result, own, zero);
      all = unite(all, own);
    }
    return asTruth(std::move(all));
  }
  case MapFunction::BitwiseAnd:
  case MapFunction::BitwiseOr:
  case MapFunction::BitwiseXor:
  case MapFunction::BitwiseNot:
    if (isTruth)
      return asTruth(operands.size() == 2 ? unite(operands[0], operands[1])
                                          : operands[0]);
    break;
  case MapFunction::Select: {
    form = unite(operands[1], operands[2]);
    form->varies |= operands[0].varies;
    form->hasUnknown |= operands[0].hasUnknown && form->candidates.size() > 1;
    break;
  }
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Expression) case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
  case MapFunction::Div:
  case MapFunction::Pow:
  case MapFunction::Log:
  case MapFunction::Sqrt:
  case MapFunction::Rsqrt:
  case MapFunction::Reciprocal:
  case MapFunction::Silu:
  case MapFunction::IsNan:
    break;
  }
  if (!form || form->candidates.size() > maxCandidates)
    return derive(op);
  return *form;
}

//===----------------------------------------------------------------------===//
// Ops that move elements
//===----------------------------------------------------------------------===//

Form PositionFinder::evaluateReshape(tp::ReshapeOp op) {
  auto before = getType(op.getInput()), after = getType(op.getResult());
  const Form &own = get(op.getInput());
  Form form = own;
  form.varies.reset();
  form.varies.resize(after.getRank());
  for (Affine &candidate : form.candidates)
    candidate.coefficients.assign(after.getRank(), 0);
  // Dims of both sides with one product.
  int64_t i = 0, j = 0;
  while (i < before.getRank() || j < after.getRank()) {
    int64_t firstI = i, firstJ = j, a = 1, b = 1;
    if (i < before.getRank())
      a = before.getDimSize(i++);
    if (j < after.getRank())
      b = after.getDimSize(j++);
    while (a != b && (a < b ? i < before.getRank() : j < after.getRank()))
      (a < b ? a : b) *= a < b ? before.getDimSize(i++) : after.getDimSize(j++);
    if (a != b)
      return derive(op);
    bool varies = false;
    for (int64_t dim = firstI; dim < i; ++dim)
      varies |= own.varies[dim];
    if (!varies)
      continue;
    for (int64_t dim = firstJ; dim < j; ++dim)
      if (after.getDimSize(dim) > 1)
        form.varies.set(dim);
    for (auto [candidate, from] :
         llvm::zip_equal(form.candidates, own.candidates)) {
      // One coefficient for the merged index: that of the minor dim, by which
      // the others have to follow.
      std::optional<int64_t> merged;
      int64_t minor = 1;
      for (int64_t dim = i; dim-- > firstI;) {
        int64_t size = before.getDimSize(dim);
        if (size == 1)
          continue;
        if (!merged)
          merged = from.coefficients[dim];
        else if (from.coefficients[dim] != *merged * minor)
          return derive(op);
        minor *= size;
      }
      int64_t stride = merged.value_or(0);
      for (int64_t dim = j; dim-- > firstJ;) {
        candidate.coefficients[dim] = stride;
        stride *= after.getDimSize(dim);
      }
    }
  }
  return form;
}

Form PositionFinder::evaluateConcat(tp::ConcatOp op) {
  unsigned dim = op.getDim();
  std::optional<Form> result;
  int64_t start = 0;
  for (Value input : op.getInputs()) {
    Form own = get(input);
    for (Affine &candidate : own.candidates)
      candidate.constant -= candidate.coefficients[dim] * start;
    result = result ? unite(*result, own) : own;
    start += getType(input).getDimSize(dim);
  }
  if (result->candidates.size() > maxCandidates)
    return derive(op);
  if (result->candidates.size() > 1)
    result->varies.set(dim);
  return *result;
}

void PositionFinder::visitIndexing(tp::IndexingOpInterface op) {
  Value indexed = op.getIndexed(), indices = op.getIndexValues();
  unsigned dim = op.getIndexedDim();
  int64_t size = getType(indexed).getDimSize(dim);
  bool wraps = op.wrapsNegativeIndices();
  const Form own = get(indices);
  if (own.input)
    listener.onBound(*own.input, indexed, dim,
                     (wraps ? -size : 0) - own.inputOffset,
                     size - own.inputOffset);
  else if (own.hasUnknown)
    listener.onMetByUnknown(indexed, dim);
  if (own.hasUnknown || own.hasDerived)
    return;
  for (const Affine &candidate : own.candidates) {
    SmallVector<unsigned> terms;
    for (auto [index, k] : llvm::enumerate(candidate.coefficients))
      if (k != 0)
        terms.push_back(index);
    int64_t start = candidate.constant;
    if (start < 0 && wraps)
      start += size;
    if (terms.empty())
      listener.onSingle(indexed, dim, start);
    else if (terms.size() == 1 && own.candidates.size() == 1 &&
             candidate.coefficients[terms[0]] == 1)
      listener.onIndexed(indexed, dim, indices, terms[0], start);
  }
}

Form PositionFinder::evaluateTake(tp::TakeOp op) {
  // A table of integers: what is in it is composed with the indices where both
  // are simple.
  unsigned dim = op.getDim();
  const Form own = get(op.getIndices());
  const Form table = get(op.getTable());
  Form form = getUnknown(op.getResult());
  for (unsigned index : table.varies.set_bits())
    if (index != dim)
      form.varies.set(
          index < dim ? index : index + getType(op.getIndices()).getRank() - 1);
  for (unsigned index : own.varies.set_bits())
    form.varies.set(dim + index);
  bool isPositional = table.varies.any() || own.varies.any();
  if (isPositional && !table.hasUnknown)
    return derive(op);
  if (isPositional)
    keepVarying(op.getIndices(), own);
  return form;
}

Form PositionFinder::moveDims(Operation *op) {
  return TypeSwitch<Operation *, Form>(op)
      .Case([&](tp::ReshapeOp reshape) { return evaluateReshape(reshape); })
      .Case([&](tp::ConcatOp concat) { return evaluateConcat(concat); })
      .Case([&](tp::PermuteOp permute) {
        const Form &own = get(permute.getInput());
        Form form = own;
        for (auto [dim, from] : llvm::enumerate(permute.getPermutation())) {
          form.varies[dim] = own.varies[from];
          for (auto [candidate, before] :
               llvm::zip_equal(form.candidates, own.candidates))
            candidate.coefficients[dim] = before.coefficients[from];
        }
        return form;
      })
      .Case([&](tp::SliceOp slice) {
        Form form = get(slice.getInput());
        unsigned dim = slice.getDim();
        int64_t size = getType(slice.getResult()).getDimSize(dim);
        int64_t start = slice.getStart() * (slice.getBlocks() ? size : 1);
        for (Affine &candidate : form.candidates) {
          candidate.constant += candidate.coefficients[dim] * start;
          candidate.coefficients[dim] *= slice.getStep();
        }
        return form;
      })
      .Case([&](tp::BroadcastOp repeated) {
        return broadcast(repeated.getInput(), getType(repeated.getResult()));
      })
      .Case<tp::CopyOp, tp::WaitOp, tp::RegionMarkerOp>(
          [&](auto same) { return get(same->getOperand(0)); })
      .Case([&](tp::RankSliceOp slice) {
        const Form &own = get(slice.getInput());
        unsigned dim = slice.getSliceAxis();
        int64_t size = getType(slice.getResult()).getDimSize(dim);
        Form form = own;
        form.candidates.clear();
        for (const Affine &candidate : own.candidates)
          for (int64_t rank = 0; rank < slice.getGroup().getSize() &&
                                 form.candidates.size() <= maxCandidates;
               ++rank) {
            Affine block = candidate;
            block.constant += candidate.coefficients[dim] * size * rank;
            if (!llvm::is_contained(form.candidates, block))
              form.candidates.push_back(std::move(block));
          }
        return form.candidates.size() > maxCandidates ? derive(op) : form;
      })
      .Case([&](tp::AllGatherOp gather) {
        const Form &own = get(gather.getInput());
        unsigned dim = gather.getGatherAxis();
        int64_t size = getType(gather.getInput()).getDimSize(dim);
        Form form = own;
        form.candidates.clear();
        for (const Affine &candidate : own.candidates)
          for (int64_t rank = 0; rank < gather.getGroup().getSize() &&
                                 form.candidates.size() <= maxCandidates;
               ++rank) {
            Affine block = candidate;
            block.constant -= candidate.coefficients[dim] * size * rank;
            if (!llvm::is_contained(form.candidates, block))
              form.candidates.push_back(std::move(block));
          }
        return form.candidates.size() > maxCandidates ? derive(op) : form;
      })
      .Case([&](tp::CollectiveBroadcastOp same) {
        return get(same->getOperand(0));
      })
      .Default([&](Operation *) { return derive(op); });
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Whether all integers of a form are in the range of a type.
static bool fits(const Form &form, ArrayRef<int64_t> sizes, IntegerType type) {
  if (type.getWidth() >= 32)
    return true;
  int64_t limit = int64_t(1) << (type.getWidth() - !type.isUnsigned());
  for (const Affine &candidate : form.candidates) {
    int64_t low = candidate.constant, high = low;
    for (auto [k, size] : llvm::zip_equal(candidate.coefficients, sizes))
      (k < 0 ? low : high) += k * std::max<int64_t>(size - 1, 0);
    if (low < (type.isUnsigned() ? 0 : -limit) || high >= limit)
      return false;
  }
  return !form.hasDerived;
}

void PositionFinder::visit(Operation *op) {
  if (auto triangular = dyn_cast<tp::TriangularOp>(op)) {
    unsigned last = getType(triangular.getResult()).getRank() - 1;
    // column - row compared with the diagonal.
    listener.onDiagonal(triangular.getResult(), last, triangular.getResult(),
                        last - 1, 1, -1,
                        -static_cast<int64_t>(triangular.getDiagonal()));
    if (isFollowed(triangular.getResult())) {
      Form form = unite(get(triangular.getInput()),
                        getConstants(triangular.getResult(), 0));
      form.varies.set(last);
      form.varies.set(last - 1);
      forms[triangular.getResult()] = std::move(form);
    }
    return;
  }
  if (auto indexing = dyn_cast<tp::IndexingOpInterface>(op))
    visitIndexing(indexing);
  if (auto map = dyn_cast<tp::MapOp>(op)) {
    if (isFollowed(map.getResult()))
      forms[map.getResult()] = evaluateMap(map);
    return;
  }
  if (op->getNumResults() == 0 || !llvm::any_of(op->getResults(), isFollowed))
    return;
  // Opaque ops, and memory that is not initialized.
  if (!isMemoryEffectFree(op))
    return;
  Value result = op->getResult(0);
  Form form =
      TypeSwitch<Operation *, Form>(op)
          .Case([&](tp::ConstantOp constant) {
            auto number = dyn_cast<IntegerAttr>(constant.getValue());
            if (!number)
              return getUnknown(result);
            return getConstants(result, number.getType().isInteger(1)
                                            ? number.getValue().getBoolValue()
                                            : number.getValue().getSExtValue());
          })
          .Case([&](tp::IotaOp iota) {
            auto start = dyn_cast<IntegerAttr>(iota.getStart());
            auto step = dyn_cast<IntegerAttr>(iota.getStep());
            if (!start || !step)
              return getUnknown(result);
            Form form = getConstants(result, start.getInt());
            form.candidates[0].coefficients[0] = step.getInt();
            form.varies.set(0);
            return form;
          })
          .Case([&](tp::CastOp cast) {
            auto from = dyn_cast<IntegerType>(
                getType(cast.getInput()).getElementType());
            auto to = mlir::cast<IntegerType>(getType(result).getElementType());
            if (!from)
              return getUnknown(result);
            const Form own = get(cast.getInput());
            if (to.getWidth() == 1) {
              compare(result, own, getConstants(result, 0));
              Form truth = getConstants(result, {0, 1});
              truth.hasUnknown = own.hasUnknown;
              truth.varies = own.varies;
              return truth;
            }
            if (own.hasUnknown && to.getWidth() < 32) {
              // Where it wraps around.
              int64_t limit = int64_t(1) << to.getWidth();
              for (int64_t number : {limit, limit / 2, -limit / 2})
                listener.onNumber(number);
              Form form = own;
              form.input.reset();
              return form;
            }
            return fits(own, getType(result).getShape(), to) ? own : derive(op);
          })
          .Case([&](tp::TakeOp take) { return evaluateTake(take); })
          .Case([&](tp::RowwiseOp rowwise) {
            const Form own = get(rowwise.getInput());
            auto dim = static_cast<unsigned>(rowwise.getDim());
            bool isNumber = own.candidates.size() == 1 &&
                            own.candidates[0].isConstant() && !own.hasDerived;
            // Prefixes of equal numbers, or of what comes from outside.
            if (rowwise.getFunction() == tp::RowFunction::CumulativeSum &&
                isNumber && own.varies.none()) {
              if (own.hasUnknown)
                return getUnknown(result);
              Form form = own;
              form.candidates[0].coefficients[dim] = own.candidates[0].constant;
              form.varies.set(dim);
              return form;
            }
            return derive(op);
          })
          .Case([&](tp::ReduceOp reduce) {
            const Form &own = get(reduce.getInput());
            bool keepsVarying = false;
            for (unsigned dim : own.varies.set_bits())
              keepsVarying |= !llvm::is_contained(reduce.getDims(),
                                                  static_cast<int64_t>(dim));
            if (keepsVarying)
              return derive(op);
            Form form = getConstants(result, 0);
            form.hasDerived = true;
            form.hasUnknown = own.hasUnknown;
            return form;
          })
          .Case([&](tp::AllReduceOp reduce) {
            const Form &own = get(reduce.getInput());
            if (own.varies.any())
              return derive(op);
            Form form = getConstants(result, 0);
            form.hasDerived = !own.hasUnknown;
            form.hasUnknown = own.hasUnknown;
            return form;
          })
          .Default([&](Operation *) { return moveDims(op); });
  forms[result] = std::move(form);
}

void PositionFinder::visit(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (isFollowed(argument)) {
      Form form = getUnknown(argument);
      form.input = argument.getArgNumber();
      forms[argument] = std::move(form);
    }
  for (Operation &op : function.getBody().front()) {
    TypeSwitch<Operation *>(&op).Case<tp::AttentionOp, tp::AttentionBackwardOp>(
        [&](auto attention) {
          auto getLength = [](Value value) {
            return static_cast<unsigned>(getType(value).getRank() - 2);
          };
          Value key = attention.getKey(), query = attention.getQuery();
          if (attention.getIsCausal())
            listener.onDiagonal(key, getLength(key), query, getLength(query), 1,
                                -1, 0);
        });
    // Rows are compared with offsets.
    if (auto grouped = dyn_cast<tp::GroupedMatmulOp>(op);
        grouped && get(grouped.getOffsets()).hasUnknown)
      listener.onMetByUnknown(grouped.getLhs(),
                              grouped.groupsContraction() ? 1 : 0);
    visit(&op);
  }
}

void equivalence::findPositionNumbers(func::FuncOp function,
                                      PositionListener &listener) {
  PositionFinder(listener).visit(function);
}
