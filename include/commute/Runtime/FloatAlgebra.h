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

/// Values of symbolic sizes, by symbol name.
using SymbolTable = std::map<std::string, int64_t>;
/// Returns an op's name and source line, for messages.
using LocationPrinter = std::function<std::string(mlir::Location)>;

/// Evaluates ops on one rank in the element types of the program. Narrow floats
/// are computed in f32 and integers in i64, and each result is rounded or
/// wrapped once. Values are Tensors.
class FloatAlgebra : public tp::Algebra {
public:
  FloatAlgebra(Transport &transport, const SymbolTable &symbols,
               const LocationPrinter &describe)
      : transport(transport), symbols(symbols), describe(describe) {}

  /// Returns the error of the last op: operands that do not match, an index out
  /// of range, or the failure of a peer. Returns success if the op has a
  /// result.
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
                               const tp::SortOrder &order,
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
  mlir::FailureOr<mlir::SmallVector<tp::AlgebraValue>>
  exchange(mlir::Operation *op, tp::GroupAttr group,
           mlir::ArrayRef<tp::AlgebraValue> toMembers) override;
  mlir::FailureOr<int64_t> getPosition(tp::GroupAttr group) override;

private:
  /// Returns `value`. If it is null, records the failure and returns a
  /// placeholder of the sizes that the rest of the op expects.
  tp::AlgebraValue check(TensorValue value, std::string &failure,
                         mlir::ArrayRef<int64_t> sizes, mlir::Type type);
  void fail(std::string message);
  /// Records an error of the transport. Returns false for success.
  bool takeError(llvm::Error error);
  tp::AlgebraValue combineInPlace(tp::ReductionKind kind,
                                  mlir::ArrayRef<tp::AlgebraValue> inputs,
                                  mlir::Type type);

  /// A collective in which this rank takes part.
  struct Collective {
    std::unique_ptr<Transfer> transfer;
    /// This rank's position in the group.
    size_t position;
  };
  /// Returns nullopt after recording a failure if this rank is not in the
  /// group.
  std::optional<CollectiveCall> makeCall(mlir::Operation *op,
                                         tp::GroupAttr group,
                                         const tp::AlgebraTensor &sent);
  /// Starts a collective that overlaps with this rank's computation.
  std::optional<Collective> startCollective(mlir::Operation *op,
                                            tp::GroupAttr group,
                                            const tp::AlgebraTensor &sent,
                                            mlir::Type elementType,
                                            size_t numTensors);

  // Pipelined fused ops. Return false for forms that are evaluated by
  // decomposition.
  bool gatherAndMultiply(tp::AllGatherMatmulOp op,
                         mlir::ArrayRef<tp::AlgebraValue> operands,
                         mlir::SmallVectorImpl<tp::AlgebraValue> &results);
  bool multiplyAndScatter(tp::MatmulReduceScatterOp op,
                          mlir::ArrayRef<tp::AlgebraValue> operands,
                          mlir::SmallVectorImpl<tp::AlgebraValue> &results);
  TensorValue scaled(const tp::AlgebraValue &input,
                     const tp::AlgebraValue &factor, mlir::Type compute);
  /// Returns the bias as one row if it has one element per column of the
  /// product, and nullptr otherwise.
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
