//===- FieldAlgebra.h - evaluation over a prime field -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Floats are elements of a prime field: sums, products, means and everything
// that moves elements is exact, whatever the order. Scalar nonlinearities are
// random functions with a key each. Integers and truth values stay what they
// are. See PrimeField.h and docs/equivalence.md.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_FIELDALGEBRA_H
#define COMMUTE_EQUIVALENCE_FIELDALGEBRA_H

#include "commute/Dialect/Evaluation.h"
#include "commute/Dialect/SymbolicSize.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Equivalence/IndexSample.h"
#include "commute/Equivalence/ScalarContext.h"

#include <ctime>
#include <vector>

namespace commute::equivalence {

enum class Precision {
  /// Casts between float types change nothing: the algebra alone counts.
  Algebraic,
  /// A cast to a narrower float type is a random function, so that a cast moved
  /// across a sum is a difference.
  Strict,
};

/// A dim of a tensor as it is stored: the elements at the sampled indices, or
/// one element where all along the dim are equal.
struct SampledDim {
  const IndexSample *sample;
  bool isUniform = false;

  int64_t getSize() const { return sample->getSize(); }
  int64_t getCount() const { return isUniform ? 1 : sample->getCount(); }
};

/// Counts bytes as used by the proof for as long as it lives.
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
  /// That a tensor of these dims takes.
  static int64_t getNumBytes(llvm::ArrayRef<SampledDim> dims);

  bool isField() const {
    return !mlir::isa<mlir::IntegerType>(getElementType());
  }
  bool isTruth() const { return getElementType().isInteger(1); }
  llvm::ArrayRef<SampledDim> getDims() const { return dims; }
  /// How many elements are stored along each dim.
  llvm::SmallVector<int64_t> getCounts() const;

  std::vector<uint64_t> elements;

private:
  llvm::SmallVector<SampledDim, 4> dims;
  CountedBytes counted;
};

using FieldValue = std::shared_ptr<const FieldTensor>;

/// Why an op could not be evaluated on the samples.
struct SampleProblem {
  enum Kind {
    /// Samples do not match, or are not cut where the op cuts: the dims of the
    /// op
    /// need samples that do.
    Mismatch,
    /// Sizes that could be equal, symbolic ones, are not.
    Sizes,
    /// An index of a table is not sampled.
    MissingIndices,
    /// The evaluation would need more memory than it may have.
    TooLarge,
    /// The evaluation takes longer than it may.
    TooLong
  };
  Kind kind;
  std::string message;
  /// For MissingIndices.
  std::vector<int64_t> indices;
};

/// What a proof may cost.
struct ProofBudget {
  /// Of processor time, from `start` on.
  double seconds = 60;
  /// Of all tensors and patterns that are alive at one time.
  int64_t bytes = int64_t(4) << 30;
  std::clock_t start = std::clock();
};

/// What the evaluation of a program on all ranks shares.
struct EvaluationContext {
  EvaluationContext(IndexSamples &samples, Precision precision, Choices choices,
                    uint64_t seed, const ProofBudget &budget)
      : samples(samples), precision(precision), scalars(choices, seed),
        budget(budget) {}

  /// Notes a problem where the time is over.
  void checkTime();
  /// Notes a problem where there is no memory left for so many more bytes;
  /// false then.
  bool checkMemory(int64_t bytes = 0);

  IndexSamples &samples;
  Precision precision;
  ScalarContext scalars;
  ProofBudget budget;
  /// Set where the op that is evaluated cannot be.
  std::optional<SampleProblem> problem;
  /// Whether an op has read at an index that its operand does not have, which
  /// ends the program in PyTorch.
  bool hasReadOutside = false;
};

/// The values of one op on one rank. Communication goes through `exchanges`,
/// which the evaluator of all ranks fills.
class FieldAlgebra : public tp::Algebra {
public:
  /// What one rank sends in its n-th exchange of the op being evaluated, and
  /// what it receives once all have sent.
  struct Exchange {
    tp::GroupAttr group;
    llvm::SmallVector<tp::AlgebraValue> toMembers;
    llvm::SmallVector<tp::AlgebraValue> fromMembers;
    bool isComplete = false;
  };

  FieldAlgebra(int64_t rank, EvaluationContext &context)
      : rank(rank), context(context) {}

  /// Starts the evaluation of an op over again, with what is known of its
  /// exchanges. `samples` are those chosen for the dims of the op's first
  /// result.
  void restart(llvm::ArrayRef<tp::AlgebraValue> opOperands,
               llvm::ArrayRef<const IndexSample *> samples) {
    nextExchange = 0;
    operands = opOperands;
    resultSamples = samples;
  }
  void clearExchanges() { exchanges.clear(); }
  llvm::SmallVectorImpl<Exchange> &getExchanges() { return exchanges; }
  /// Whether the evaluation stopped at an exchange that is not complete.
  bool isWaiting() const { return waiting; }

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
  tp::AlgebraValue take(const tp::AlgebraValue &table,
                        const tp::AlgebraValue &indices, unsigned dim,
                        bool wrapsNegative) override;
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
  mlir::FailureOr<mlir::SmallVector<tp::AlgebraValue>>
  exchange(mlir::Operation *op, tp::GroupAttr group,
           mlir::ArrayRef<tp::AlgebraValue> toMembers) override;
  mlir::FailureOr<int64_t> getPosition(tp::GroupAttr group) override;

  /// A tensor with these samples where the stored elements can be chosen: dims
  /// that have all indices are narrowed, and uniform ones note their sample.
  FieldValue assume(const FieldValue &value,
                    llvm::ArrayRef<const IndexSample *> samples);
  /// Two tensors of one shape, stored at the same indices; nullopt, and a
  /// problem of the context, where their samples do not match.
  std::optional<std::pair<FieldValue, FieldValue>> align(const FieldValue &a,
                                                         const FieldValue &b);

private:
  using Dims = llvm::SmallVector<SampledDim, 4>;

  tp::AlgebraValue fail(SampleProblem::Kind kind, const llvm::Twine &message,
                        llvm::ArrayRef<int64_t> sizes, mlir::Type type);
  /// Null where there is too much to store.
  std::shared_ptr<FieldTensor> make(llvm::ArrayRef<SampledDim> dims,
                                    mlir::Type type);
  SampledDim getDim(int64_t size) { return {context.samples.getFull(size)}; }
  SampledDim getUniform(int64_t size) {
    return {context.samples.getFull(size), size != 1};
  }
  /// The sample of positions along a dim of this size in the op that is
  /// evaluated: that of the dims of this size, if they have one sample.
  const IndexSample *guessSample(int64_t size);
  /// The dim that elements of two dims of one size are combined on; nullopt
  /// where their samples do not match.
  static std::optional<SampledDim> join(SampledDim a, SampledDim b);
  /// Stored elements along `dim` as those of `target`, which the dim can be
  /// narrowed or expanded to.
  FieldValue conform(const FieldValue &value, unsigned dim, SampledDim target);
  FieldValue pick(const FieldValue &value, unsigned dim, SampledDim target,
                  llvm::ArrayRef<int64_t> positions);

  int64_t rank;
  EvaluationContext &context;
  llvm::SmallVector<Exchange> exchanges;
  size_t nextExchange = 0;
  /// Of the op that is evaluated.
  llvm::ArrayRef<tp::AlgebraValue> operands;
  llvm::ArrayRef<const IndexSample *> resultSamples;
  bool waiting = false;
};

/// The same tensor with every dim uniform along which all stored elements are
/// equal, so that tensors are comparable however they were computed.
FieldValue collapse(const FieldValue &value);
/// A hash of sizes, samples, element kind and all elements; equal for tensors
/// that `collapse` makes equal.
uint64_t getContentHash(const FieldValue &value);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_FIELDALGEBRA_H
