//===- FloatAlgebra.h - evaluation over floats and integers -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_FLOATALGEBRA_H
#define COMMUTE_RUNTIME_FLOATALGEBRA_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Runtime/Transport.h"

#include <functional>
#include <map>

namespace commute::runtime {

/// Values of the symbols in sizes, by name.
using SymbolTable = std::map<std::string, int64_t>;
/// Name and source line of an op, for messages.
using LocationPrinter = std::function<std::string(mlir::Location)>;

/// What ops compute on one rank, in the element types that the program states:
/// narrower floats by way of f32, integers by way of i64, each result rounded
/// or wrapped once. Values are Tensors.
class FloatAlgebra : public tp::Algebra {
public:
  FloatAlgebra(Transport &transport, const SymbolTable &symbols,
               const LocationPrinter &describe)
      : transport(transport), symbols(symbols), describe(describe) {}

  /// Why the op that was evaluated last has no result: operands that do not fit
  /// together, an index out of range, a peer that failed. Success where it has
  /// one.
  llvm::Error takeFailure();

  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getSizes(mlir::RankedTensorType type) override;
  bool tryWhole(mlir::Operation *op, mlir::ArrayRef<tp::AlgebraValue> operands,
                mlir::SmallVectorImpl<tp::AlgebraValue> &results) override;
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
  tp::AlgebraValue takeAlong(const tp::AlgebraValue &table,
                             const tp::AlgebraValue &indices,
                             unsigned dim) override;
  tp::AlgebraValue scatter(const tp::AlgebraValue &input,
                           const tp::AlgebraValue &indices,
                           const tp::AlgebraValue &updates, unsigned dim,
                           bool accumulates, bool wrapsNegative) override;
  tp::AlgebraValue sortedOrder(const tp::AlgebraValue &input, unsigned dim,
                               bool descending, mlir::Type type) override;
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

private:
  /// `value`, or where it is null, which is a failure, a stand-in of the sizes
  /// that the rest of the op expects.
  tp::AlgebraValue check(TensorValue value, std::string &failure,
                         mlir::ArrayRef<int64_t> sizes, mlir::Type type);
  void fail(std::string message);
  /// Notes an error of the transport; false for success.
  bool takeError(llvm::Error error);
  tp::AlgebraValue combineInPlace(tp::ReductionKind kind,
                                  mlir::ArrayRef<tp::AlgebraValue> inputs,
                                  mlir::Type type);

  /// A collective that this rank takes part in.
  struct Collective {
    std::unique_ptr<Transfer> transfer;
    /// This rank's, in the group.
    size_t position;
  };
  /// nullopt, with the failure noted, where this rank is in no such group.
  std::optional<CollectiveCall> makeCall(mlir::Operation *op,
                                         tp::GroupAttr group,
                                         const tp::AlgebraTensor &sent);
  /// Begins a collective that is overlapped with what this rank computes.
  std::optional<Collective> startCollective(mlir::Operation *op,
                                            tp::GroupAttr group,
                                            const tp::AlgebraTensor &sent,
                                            mlir::Type elementType,
                                            size_t numTensors);

  // Fused ops, pipelined; false for forms that go by the primitives.
  bool gatherAndMultiply(tp::AllGatherMatmulOp op,
                         mlir::ArrayRef<tp::AlgebraValue> operands,
                         mlir::SmallVectorImpl<tp::AlgebraValue> &results);
  bool multiplyAndScatter(tp::MatmulReduceScatterOp op,
                          mlir::ArrayRef<tp::AlgebraValue> operands,
                          mlir::SmallVectorImpl<tp::AlgebraValue> &results);
  TensorValue scaled(const tp::AlgebraValue &input,
                     const tp::AlgebraValue &factor, mlir::Type compute);
  /// The bias as one row, where it has one element a column of the product.
  static const Tensor *getRowBias(const tp::AlgebraValue &bias,
                                  int64_t columns);

  Transport &transport;
  const SymbolTable &symbols;
  const LocationPrinter &describe;
  std::optional<std::string> failure;
  bool peerFailed = false;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_FLOATALGEBRA_H
