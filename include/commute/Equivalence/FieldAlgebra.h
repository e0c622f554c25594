//===- FieldAlgebra.h - evaluation over a prime field -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Floats are elements of a prime field: sums, products, means and all moves of
// elements are exact, in any order. Scalar nonlinearities are random functions,
// each with its own key. Integers and truth values are represented exactly. See
// PrimeField.h and docs/equivalence.md.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_FIELDALGEBRA_H
#define COMMUTE_EQUIVALENCE_FIELDALGEBRA_H

#include "commute/Dialect/Evaluation.h"
#include "commute/Dialect/SymbolicSize.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/IndexSample.h"
#include "commute/Equivalence/LockstepAlgebra.h"
#include "commute/Equivalence/ScalarContext.h"
#include "commute/Support/Memory.h"

#include <ctime>
#include <functional>
#include <vector>

namespace commute::equivalence {

enum class Precision {
  /// Casts between float types are the identity.
  Algebraic,
  /// A cast to a narrower float type is a random function, so that moving a
  /// cast across a sum is a difference.
  Strict,
};

/// The stored form of a tensor's dim: the elements at the sampled indices, or
/// one element if all elements along the dim are equal.
struct SampledDim {
  const IndexSample *sample;
  bool isUniform = false;

  int64_t getSize() const { return sample->getSize(); }
  int64_t getCount() const { return isUniform ? 1 : sample->getCount(); }
};

/// Counts bytes as used by the proof during the lifetime of the object.
class CountedBytes {
public:
  explicit CountedBytes(int64_t bytes) : bytes(bytes) { total += bytes; }
  CountedBytes(const CountedBytes &other) : CountedBytes(other.bytes) {}
  CountedBytes &operator=(const CountedBytes &) = delete;
  ~CountedBytes() { total -= bytes; }

  void set(int64_t newBytes) {
    total += newBytes - bytes;
    bytes = newBytes;
  }

  static int64_t getTotal() { return total; }

private:
  int64_t bytes;
  static thread_local int64_t total;
};

/// Elements are field elements for float types and truth values (0, 1, or an
/// unknown), and the bits of an int64 for integers. `getSizes` are the sizes in
/// the program.
class FieldTensor : public tp::AlgebraTensor {
public:
  FieldTensor(llvm::ArrayRef<SampledDim> dims, mlir::Type elementType);
  /// The storage of a tensor with these dims.
  static int64_t getNumBytes(llvm::ArrayRef<SampledDim> dims);

  bool isField() const {
    return !mlir::isa<mlir::IntegerType>(getElementType());
  }
  bool isTruth() const { return getElementType().isInteger(1); }
  llvm::ArrayRef<SampledDim> getDims() const { return dims; }
  /// The number of elements stored along each dim.
  llvm::SmallVector<int64_t> getCounts() const;

  std::vector<uint64_t> elements;

private:
  llvm::SmallVector<SampledDim, 4> dims;
  CountedBytes counted;
};

using FieldValue = std::shared_ptr<const FieldTensor>;

/// The reason why an op could not be evaluated on the samples.
struct SampleProblem {
  enum Kind {
    /// Samples do not match, or have no cuts where the op needs them: the dims
    /// of the op need other samples.
    Mismatch,
    /// Symbolic sizes that could be equal are not.
    Sizes,
    /// An index of a table is not sampled.
    MissingIndices,
    /// The evaluation would exceed the memory budget.
    TooLarge,
    /// The evaluation exceeds the time budget.
    TooLong
  };
  Kind kind;
  std::string message;
  /// The indices that are not sampled, for MissingIndices.
  std::vector<int64_t> indices;
  /// For TooLarge, the memory that the proof would have needed so far.
  int64_t neededBytes = 0;
};

/// Limits on the cost of a proof.
struct ProofBudget {
  /// Processor time, counted from `start`.
  double seconds = 60;
  /// Memory of all that the proof holds at one time: tensors and patterns,
  /// which are counted before they are allocated, and by what the process grows
  /// (`usedAtStart`) with everything else.
  int64_t bytes = int64_t(4) << 30;
  int64_t usedAtStart = getUsedMemory();
  std::clock_t start = std::clock();
  /// Called frequently with the elapsed seconds; may be empty.
  std::function<void(double)> onTime = {};
};

class DecisionCoverage;

/// Which elements of the rows that are sorted count as equal. Programs that
/// agree for every choice of such elements, in one of the two models of them,
/// agree where these are equal.
enum class Ties {
  /// Only those that are equal.
  None,
  /// Some more, where the row is sorted and where it is read at indices.
  SameValues,
  /// Some more, only where the row is sorted: their order is open, and their
  /// values differ.
  OpenOrder,
};

/// One round in so many has ties: those with a seed of 1 modulo it.
inline constexpr unsigned periodOfTies = 4;

/// State shared by the evaluation of a program on all ranks.
struct EvaluationContext {
  EvaluationContext(IndexSamples &samples, Precision precision, Choices choices,
                    uint64_t seed, const ProofBudget &budget)
      : samples(samples), precision(precision), scalars(choices, seed),
        budget(budget) {}

  /// Sets `problem` if the time budget is exceeded, or if the process has grown
  /// by more than the memory budget.
  void checkTime();
  /// Sets `problem` and returns false if another `bytes` bytes would exceed the
  /// memory budget.
  bool checkMemory(int64_t bytes = 0);
  /// Sets `problem` for memory that would be needed in all.
  void setTooLarge(int64_t neededBytes, const llvm::Twine &message);

  IndexSamples &samples;
  Precision precision;
  ScalarContext scalars;
  ProofBudget budget;
  /// Why the current op cannot be evaluated, if it cannot.
  std::optional<SampleProblem> problem;
  /// True if an op has read at an index that is out of bounds of its operand,
  /// which is an error in PyTorch.
  bool hasReadOutside = false;
  /// When the time was last checked, by the system's coarse clock.
  long lastTick = -1;
  /// Random floats occur more than once, so that a sort has equal elements:
  /// drawn from the whole field, they would all be different.
  bool repeatsElements = false;
  Ties ties = Ties::None;
  /// The hashes of all rows of floats that were sorted.
  llvm::DenseSet<uint64_t> sortedRows;
  /// Where to record what decisions about integers were; may be null.
  DecisionCoverage *decisions = nullptr;
};

/// Evaluates one op on one rank.
class FieldAlgebra : public LockstepAlgebra {
public:
  FieldAlgebra(int64_t rank, EvaluationContext &context)
      : LockstepAlgebra(rank), context(context) {}

  /// Restarts the evaluation of an op, with the exchanges known so far.
  /// `samples` are the samples chosen for the dims of the op's first result.
  void restart(llvm::ArrayRef<tp::AlgebraValue> opOperands,
               llvm::ArrayRef<const IndexSample *> samples) {
    LockstepAlgebra::restart();
    operands = opOperands;
    resultSamples = samples;
  }

  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getSizes(mlir::RankedTensorType type) override;
  bool tryWhole(mlir::Operation *, mlir::ArrayRef<tp::AlgebraValue>,
                mlir::SmallVectorImpl<tp::AlgebraValue> &) override {
    return false;
  }
  tp::AlgebraValue constant(mlir::TypedAttr value,
                            mlir::ArrayRef<int64_t> sizes,
                            mlir::Type type) override;
  tp::AlgebraValue iota(mlir::TypedAttr start, mlir::TypedAttr step,
                        int64_t size, mlir::Type type) override;
  tp::AlgebraValue map(tp::MapFunction function,
                       mlir::ArrayRef<tp::AlgebraValue> operands,
                       mlir::Type type) override;
  tp::AlgebraValue bitcast(const tp::AlgebraValue &input,
                           mlir::Type type) override;
  tp::AlgebraValue cast(const tp::AlgebraValue &input,
                        mlir::Type type) override;
  tp::AlgebraValue reduce(tp::ReductionKind kind, const tp::AlgebraValue &input,
                          mlir::ArrayRef<int64_t> dims, bool keepDims,
                          mlir::Type type) override;
  tp::AlgebraValue cumulativeSum(const tp::AlgebraValue &input, unsigned dim,
                                 mlir::Type type) override;
  tp::AlgebraValue matmul(const tp::AlgebraValue &lhs,
                          const tp::AlgebraValue &rhs,
                          mlir::Type type) override;
  tp::AlgebraValue multiplyGroups(const tp::AlgebraValue &lhs,
                                  const tp::AlgebraValue &rhs,
                                  const tp::AlgebraValue &offsets,
                                  const tp::AlgebraValue &rest,
                                  mlir::Type type) override;
  tp::AlgebraValue uninitialized(mlir::Operation *op,
                                 mlir::ArrayRef<int64_t> sizes,
                                 mlir::Type type) override;
  tp::AlgebraValue take(const tp::AlgebraValue &table,
                        const tp::AlgebraValue &indices, unsigned dim,
                        bool wrapsNegative) override;
  tp::AlgebraValue takeAlong(const tp::AlgebraValue &table,
                             const tp::AlgebraValue &indices,
                             unsigned dim) override;
  tp::AlgebraValue scatter(const tp::AlgebraValue &input,
                           const tp::AlgebraValue &indices,
                           const tp::AlgebraValue &updates, unsigned dim,
                           bool accumulates, bool wrapsNegative) override;
  tp::AlgebraValue sortedOrder(const tp::AlgebraValue &input, unsigned dim,
                               const tp::SortOrder &how,
                               mlir::Type type) override;
  tp::AlgebraValue reshape(const tp::AlgebraValue &input,
                           mlir::ArrayRef<int64_t> sizes) override;
  tp::AlgebraValue permute(const tp::AlgebraValue &input,
                           mlir::ArrayRef<int64_t> permutation) override;
  tp::AlgebraValue slice(const tp::AlgebraValue &input, unsigned dim,
                         int64_t start, int64_t step, int64_t size) override;
  tp::AlgebraValue concat(mlir::ArrayRef<tp::AlgebraValue> inputs,
                          unsigned dim) override;
  tp::AlgebraValue broadcast(const tp::AlgebraValue &input,
                             mlir::ArrayRef<int64_t> sizes) override;

  /// Returns a tensor with these samples where the stored elements allow it:
  /// dims with all indices are narrowed, and uniform dims record their sample.
  FieldValue assume(const FieldValue &value,
                    llvm::ArrayRef<const IndexSample *> samples);
  /// Returns two tensors of one shape, stored at the same indices. If their
  /// samples do not match, returns nullopt and sets the context's problem.
  std::optional<std::pair<FieldValue, FieldValue>> align(const FieldValue &a,
                                                         const FieldValue &b);

private:
  using Dims = llvm::SmallVector<SampledDim, 4>;

  tp::AlgebraValue fail(SampleProblem::Kind kind, const llvm::Twine &message,
                        llvm::ArrayRef<int64_t> sizes, mlir::Type type);
  /// Returns null if the tensor would exceed the memory budget.
  std::shared_ptr<FieldTensor> make(llvm::ArrayRef<SampledDim> dims,
                                    mlir::Type type);
  SampledDim getDim(int64_t size) { return {context.samples.getFull(size)}; }
  SampledDim getUniform(int64_t size) {
    return {context.samples.getFull(size), size != 1};
  }
  /// The sample for positions along a dim of this size in the current op: the
  /// common sample of the op's dims of this size, if they have one.
  const IndexSample *guessSample(int64_t size);
  /// The dim on which elements of two dims of one size are combined; nullopt if
  /// their samples do not match.
  static std::optional<SampledDim> join(SampledDim a, SampledDim b);
  /// Stores `dim` as `target`, which the dim can be narrowed or expanded to.
  FieldValue conform(const FieldValue &value, unsigned dim, SampledDim target);
  FieldValue pick(const FieldValue &value, unsigned dim, SampledDim target,
                  llvm::ArrayRef<int64_t> positions);

  /// Stores a tensor at all indices of `dim`. If it is stored at others, sets
  /// the context's problem.
  FieldValue makeWhole(const FieldValue &value, unsigned dim);
  /// Complex numbers of the parts along the last dim, and these of them.
  tp::AlgebraValue joinParts(const tp::AlgebraValue &input, mlir::Type type);
  tp::AlgebraValue splitParts(const tp::AlgebraValue &input, mlir::Type type);
  /// Stores several tensors at the same indices of every dim but `dim`. If
  /// their samples do not match, returns false and sets the context's problem.
  bool joinBeside(llvm::MutableArrayRef<FieldValue> values, unsigned dim);
  /// Returns `table` with those elements of sorted rows along `dim` tied that
  /// count as equal (see Ties::SameValues).
  FieldValue tieSortedRows(const FieldValue &table, unsigned dim);
  /// The value that is read at an index out of range, which no program may
  /// read.
  uint64_t getOutsideElement(uint64_t index, mlir::Type type);
  /// Sets the context's problem if there are indices that are not sampled.
  void noteMissing(llvm::ArrayRef<int64_t> indices);

  EvaluationContext &context;
  /// Operands and result samples of the current op.
  llvm::ArrayRef<tp::AlgebraValue> operands;
  llvm::ArrayRef<const IndexSample *> resultSamples;
};

/// All operands of a FieldAlgebra are its own tensors.
inline FieldValue share(const tp::AlgebraValue &value) {
  return std::static_pointer_cast<const FieldTensor>(value);
}

/// Returns the same tensor with every dim uniform along which all stored
/// elements are equal, so that the form does not depend on the computation.
FieldValue collapse(const FieldValue &value);
/// Returns a hash of sizes, samples, element kind and all elements. Tensors
/// that `collapse` makes equal have equal hashes.
uint64_t getContentHash(const FieldValue &value);
/// Returns true if all elements are the number zero.
bool isZero(const FieldValue &value);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_FIELDALGEBRA_H
