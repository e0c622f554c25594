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

/// Ops that would replace others: built to be priced, and put into the program
/// only if they pay.
class OpDraft {
public:
  explicit OpDraft(mlir::MLIRContext *context)
      : builder(context), symbols(context) {}
  /// Sizes over the symbols of `symbols` may be used.
  explicit OpDraft(const tp::SymbolSpace &symbols)
      : builder(symbols.getContext()), symbols(symbols) {}
  OpDraft(OpDraft &&) = default;
  OpDraft &operator=(OpDraft &&other);
  ~OpDraft();

  tp::Sizes getSizes(mlir::Value value);
  /// For ops whose sizes are stated.
  tp::SymbolSpace &getSymbols() { return symbols; }

  /// Adds an op, whose result types follow from its operands.
  template <typename Op, typename... Arguments>
  Op add(mlir::Location location, Arguments &&...arguments) {
    auto op =
        Op::create(builder, location, std::forward<Arguments>(arguments)...);
    ops.push_back(op);
    return op;
  }
  /// Applies an op of one operand and one result to another value; `sizes` are
  /// those of the result where the op leaves them open.
  mlir::Value addLike(mlir::Operation *op, mlir::Value operand,
                      const tp::Sizes &sizes);
  /// The value itself where it has these sizes.
  mlir::Value reshape(mlir::Value value, const tp::Sizes &sizes,
                      mlir::Location location);
  /// The last two dims of a matrix the other way round.
  mlir::Value transpose(mlir::Value matrix, mlir::Location location);
  /// The value in this type: of the same sizes, and copied where it has other
  /// strides than the type.
  mlir::Value convert(mlir::Value value, mlir::RankedTensorType type,
                      mlir::Location location);

  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// Seconds of all ops; nullopt where a size is not known.
  std::optional<double> getSeconds(const target::PriceModel &price) const;
  /// Puts the ops into the program.
  void insertBefore(mlir::Operation *position);
  /// Puts the ops behind the op that defines `value`.
  void insertAfter(mlir::Value value);

private:
  void clear();

  mlir::OpBuilder builder;
  tp::SymbolSpace symbols;
  llvm::SmallVector<mlir::Operation *> ops;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_OPDRAFT_H
