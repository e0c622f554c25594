//===- ShapeInference.h - result types from operands ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Every op of tp defines the element types and sizes of its results once, in
// `inferShapes`. Its verifier and its builders are derived from this
// definition.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_SHAPEINFERENCE_H
#define COMMUTE_DIALECT_SHAPEINFERENCE_H

#include "commute/Dialect/SymbolicSize.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace commute::tp {

/// Element type and sizes of a result. Parts that operands and attributes do
/// not determine, such as the sizes of a reshape or the element type of a cast,
/// are stated by the builder of an op, or by the result type of an op that is
/// verified.
struct ResultShape {
  /// Null if not stated.
  mlir::Type elementType = {};
  std::optional<Sizes> sizes = {};
};

/// The shapes of an op's results during the call of its `inferShapes`.
class ShapeInference {
public:
  /// `emitError` starts a diagnostic at the op. `results` contains the stated
  /// shapes, and receives the inferred ones.
  ShapeInference(SymbolSpace &symbols,
                 llvm::SmallVectorImpl<ResultShape> &results,
                 llvm::function_ref<mlir::InFlightDiagnostic()> emitError)
      : symbols(symbols), results(results), emitError(emitError) {}

  mlir::InFlightDiagnostic emitOpError() { return emitError(); }
  mlir::InFlightDiagnostic emitOpError(const llvm::Twine &message) {
    return std::move(emitError() << message);
  }

  Sizes getSizes(mlir::Value value) {
    return symbols.getSizes(
        mlir::cast<mlir::RankedTensorType>(value.getType()));
  }

  /// Returns the number of stated results; 0 if the op is being built from its
  /// operands and attributes alone.
  size_t getNumStated() const { return results.size(); }
  std::optional<Sizes> getStatedSizes(unsigned result = 0) const {
    return result < results.size() ? results[result].sizes : std::nullopt;
  }
  /// Returns the stated element type of a result, or `otherwise` if none is
  /// stated.
  mlir::Type getStatedElementType(mlir::Type otherwise,
                                  unsigned result = 0) const {
    return result < results.size() && results[result].elementType
               ? results[result].elementType
               : otherwise;
  }

  /// Sets the shape of a result. Emits an error if the stated shape is
  /// certainly different: "result has size 3 along dim 1, expected 4". Keeps
  /// the stated sizes, because equal sizes may be expressed in different
  /// symbols.
  mlir::LogicalResult setResult(mlir::Type elementType,
                                llvm::ArrayRef<Size> sizes, unsigned result = 0,
                                llvm::StringRef name = "result");
  /// Sets a result to the element type and the sizes of `value`.
  mlir::LogicalResult setResultLike(mlir::Value value, unsigned result = 0);

  //===--------------------------------------------------------------------===//
  // Checks of operands and attributes
  //===--------------------------------------------------------------------===//

  /// Checks that a tensor has these sizes. `name` is the tensor's name in the
  /// error.
  mlir::LogicalResult verifySizes(llvm::StringRef name, mlir::Value value,
                                  llvm::ArrayRef<Size> expected) {
    return verifySizes(name, getSizes(value), expected);
  }
  /// Checks that a tensor can be broadcast to the sizes `target`.
  mlir::LogicalResult verifyBroadcastsTo(llvm::StringRef name,
                                         mlir::Value value,
                                         llvm::ArrayRef<Size> target);
  /// Checks `0 <= dim < rank`. `name` is the name of the attribute.
  mlir::LogicalResult verifyDim(llvm::StringRef name, int64_t dim,
                                int64_t rank);
  std::string toText(const Size &size) const;

private:
  mlir::LogicalResult verifySizes(llvm::StringRef name,
                                  llvm::ArrayRef<Size> sizes,
                                  llvm::ArrayRef<Size> expected);

  SymbolSpace &symbols;
  llvm::SmallVectorImpl<ResultShape> &results;
  llvm::function_ref<mlir::InFlightDiagnostic()> emitError;
};

/// Computes the result types of an op whose results have the shapes `shapes`
/// and the strides that `inferStrides` returns.
void addResultTypes(
    SymbolSpace &symbols, mlir::ValueRange operands,
    llvm::ArrayRef<ResultShape> shapes,
    llvm::function_ref<Strides(unsigned, llvm::ArrayRef<StridedShape>,
                               llvm::ArrayRef<Size>)>
        inferStrides,
    llvm::SmallVectorImpl<mlir::Type> &types);

/// Starts an error at an op that may not exist yet.
mlir::InFlightDiagnostic emitOpError(mlir::Location location,
                                     llvm::StringRef opName);

/// Appends the result types of an `Op` with the operands and attributes of
/// `adaptor`, with sizes over `symbols`.
template <typename Op>
mlir::LogicalResult
inferResultTypes(SymbolSpace &symbols, typename Op::Adaptor adaptor,
                 llvm::ArrayRef<ResultShape> stated, mlir::Location location,
                 llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::SmallVector<ResultShape, 2> shapes(stated);
  auto emitError = [&] {
    return emitOpError(location, Op::getOperationName());
  };
  ShapeInference inference(symbols, shapes, emitError);
  if (failed(Op::inferShapes(adaptor, inference)))
    return mlir::failure();
  addResultTypes(
      symbols, adaptor.getOperands(), shapes,
      [&](unsigned result, llvm::ArrayRef<StridedShape> operandShapes,
          llvm::ArrayRef<Size> sizes) {
        return Op::inferStrides(adaptor, result, operandShapes, sizes);
      },
      types);
  return mlir::success();
}

/// Ends the process, because an op is built with mismatched operands.
[[noreturn]] void reportInferenceFailure(mlir::OperationState &state);

/// Adds the result types of an op that is being built. Its operands and
/// attributes are in `state` and must match.
template <typename Op>
void addInferredTypes(mlir::OperationState &state, SymbolSpace &symbols,
                      llvm::ArrayRef<ResultShape> stated) {
  llvm::SmallVector<mlir::Type, 2> types;
  typename Op::Adaptor adaptor(
      state.operands, state.attributes.getDictionary(state.getContext()),
      state.getRawProperties());
  if (failed(inferResultTypes<Op>(symbols, adaptor, stated, state.location,
                                  types)))
    reportInferenceFailure(state);
  state.addTypes(types);
}

/// Replaces the inferred element types of the last results of an op that is
/// being built.
void stateElementTypes(mlir::OperationState &state,
                       mlir::TypeRange elementTypes);

/// Returns the element types and sizes that result types state.
llvm::SmallVector<ResultShape, 2> getStatedShapes(SymbolSpace &symbols,
                                                  mlir::TypeRange types);

/// Verifies the types of an op against its operands and attributes.
template <typename Op>
mlir::LogicalResult verifyResultTypes(Op op) {
  SymbolSpace symbols(op.getContext());
  llvm::SmallVector<ResultShape, 2> shapes =
      getStatedShapes(symbols, op->getResultTypes());
  auto emitError = [&] { return op.emitOpError(); };
  ShapeInference inference(symbols, shapes, emitError);
  if (failed(Op::inferShapes(typename Op::Adaptor(op), inference)))
    return mlir::failure();
  if constexpr (requires { op.verifyLayout(); })
    return op.verifyLayout();
  else
    return mlir::success();
}

/// Ops that define `inferShapes`; see TP_TensorOp.
template <typename ConcreteOp>
class InfersShapes : public mlir::OpTrait::TraitBase<ConcreteOp, InfersShapes> {
};
/// Ops whose result types are determined by operands and attributes alone.
template <typename ConcreteOp>
class InfersTypes : public mlir::OpTrait::TraitBase<ConcreteOp, InfersTypes> {};

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SHAPEINFERENCE_H
