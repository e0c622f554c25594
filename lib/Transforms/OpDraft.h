//===- OpDraft.h - ops that are not yet in a program ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_OPDRAFT_H
#define COMMUTE_LIB_TRANSFORMS_OPDRAFT_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Target/PriceModel.h"

#include "mlir/IR/Builders.h"

namespace commute {

/// Ops that may replace others: they are built to be priced, and inserted into
/// the program only if they pay.
class OpDraft {
public:
  explicit OpDraft(mlir::MLIRContext *context)
      : builder(context), symbols(context) {}
  /// Ops may have sizes over the symbols of `symbols`.
  explicit OpDraft(const tp::SymbolSpace &symbols)
      : builder(symbols.getContext()), symbols(symbols) {}
  OpDraft(OpDraft &&) = default;
  OpDraft &operator=(OpDraft &&other);
  ~OpDraft();

  tp::Sizes getSizes(mlir::Value value);
  /// For ops whose sizes are stated.
  tp::SymbolSpace &getSymbols() { return symbols; }

  /// Adds an op whose result types are inferred from its operands.
  template <typename Op, typename... Arguments>
  Op add(mlir::Location location, Arguments &&...arguments) {
    auto op =
        Op::create(builder, location, std::forward<Arguments>(arguments)...);
    ops.push_back(op);
    return op;
  }
  /// Applies an op with one operand and one result to another value. `sizes`
  /// are the sizes of the result if the op does not determine them.
  mlir::Value addLike(mlir::Operation *op, mlir::Value operand,
                      const tp::Sizes &sizes);
  /// Reshapes a value. Returns the value itself if it already has these sizes.
  mlir::Value reshape(mlir::Value value, const tp::Sizes &sizes,
                      mlir::Location location);
  /// Swaps the last two dims.
  mlir::Value transpose(mlir::Value matrix, mlir::Location location);
  /// Converts a value to this type, which has the same sizes: adds a copy if
  /// the strides differ.
  mlir::Value convert(mlir::Value value, mlir::RankedTensorType type,
                      mlir::Location location);

  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// Returns the seconds of all ops; nullopt if a size is unknown.
  std::optional<double> getSeconds(const target::PriceModel &price) const;
  /// Inserts the ops into the program.
  void insertBefore(mlir::Operation *position);
  /// Inserts the ops after the op that defines `value`.
  void insertAfter(mlir::Value value);

private:
  void clear();

  mlir::OpBuilder builder;
  tp::SymbolSpace symbols;
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_OPDRAFT_H
