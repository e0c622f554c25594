//===- ShapeInference.h - result types from operands ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Every op of tp states once, in `inferShapes`, which element types and sizes
// its results have. Its verifier and its builders follow from that statement.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_SHAPEINFERENCE_H
#define COMMUTE_DIALECT_SHAPEINFERENCE_H

#include "commute/Dialect/SymbolicSize.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace commute::tp {

/// Element type and sizes of a result. What operands and attributes leave open,
/// such as the sizes of a reshape or the element type of a cast, is stated by
/// the builder of the op, or by the type of an op that is verified.
struct ResultShape {
  /// Null if not stated.
  mlir::Type elementType = {};
  std::optional<Sizes> sizes = {};
};

/// The shapes of an op's results, while its `inferShapes` infers them.
class ShapeInference {
public:
  /// `emitError` begins a diagnostic of the op. `results` is what is stated,
  /// and becomes what is inferred.
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

  /// The number of results that are stated; 0 if the op is being built from its
  /// operands and attributes alone.
  size_t getNumStated() const { return results.size(); }
  std::optional<Sizes> getStatedSizes(unsigned result = 0) const {
    return result < results.size() ? results[result].sizes : std::nullopt;
  }
  /// The stated element type of a result, else `otherwise`.
  mlir::Type getStatedElementType(mlir::Type otherwise,
                                  unsigned result = 0) const {
    return result < results.size() && results[result].elementType
               ? results[result].elementType
               : otherwise;
  }

  /// States what a result has. Reports what is certainly stated otherwise:
  /// "result has size 3 along dim 1, expected 4". Stated sizes are kept, since
  /// equal sizes may be spelled in different symbols.
  mlir::LogicalResult setResult(mlir::Type elementType,
                                llvm::ArrayRef<Size> sizes, unsigned result = 0,
                                llvm::StringRef name = "result");
  /// A result with the element type and the sizes of `value`.
  mlir::LogicalResult setResultLike(mlir::Value value, unsigned result = 0);

  //===--------------------------------------------------------------------===//
  // Checks of operands and attributes
  //===--------------------------------------------------------------------===//

  /// Checks that a tensor has these sizes; `name` says which one it is.
  mlir::LogicalResult verifySizes(llvm::StringRef name, mlir::Value value,
                                  llvm::ArrayRef<Size> expected) {
    return verifySizes(name, getSizes(value), expected);
  }
  /// Checks that a tensor can be broadcast to the sizes `target`.
  mlir::LogicalResult verifyBroadcastsTo(llvm::StringRef name,
                                         mlir::Value value,
                                         llvm::ArrayRef<Size> target);
  /// Checks `0 <= dim < rank`; `name` is that of the attribute.
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

/// The result types of an op whose results have the shapes `shapes`: strides
/// are those that `inferStrides` says for a result.
void addResultTypes(
    SymbolSpace &symbols, mlir::ValueRange operands,
    llvm::ArrayRef<ResultShape> shapes,
    llvm::function_ref<Strides(unsigned, llvm::ArrayRef<StridedShape>,
                               llvm::ArrayRef<Size>)>
        inferStrides,
    llvm::SmallVectorImpl<mlir::Type> &types);

/// Begins an error at an op that may not exist yet.
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

/// Ends the process: an op is built of operands that do not fit.
[[noreturn]] void reportInferenceFailure(mlir::OperationState &state);

/// Gives an op that is being built its result types. Its operands and
/// attributes are in `state`, and must fit together.
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

/// Gives the last results of an op that is being built other element types
/// than were inferred.
void stateElementTypes(mlir::OperationState &state,
                       mlir::TypeRange elementTypes);

/// Element types and sizes of results, as their types state them.
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
/// Ops whose result types follow from operands and attributes alone.
template <typename ConcreteOp>
class InfersTypes : public mlir::OpTrait::TraitBase<ConcreteOp, InfersTypes> {};

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SHAPEINFERENCE_H
