//===- TPOpBase.td - base classes of the ops of tp ---------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPOPBASE
#define COMMUTE_DIALECT_TPOPBASE

include "commute/Dialect/TPAttributes.td"
include "commute/Dialect/TPInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class TP_Op<string mnemonic, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, traits>;

/// Result types of a modelled op: `inferShapes` infers the shapes and
/// `inferStrides` the strides of the results. Both take operands and attributes
/// that need not belong to an op yet. The verifier, `inferResultTypes` and the
/// builders without result types are derived from them.
def TP_InfersShapes : NativeOpTrait<"InfersShapes", [], [{
    static ::llvm::LogicalResult inferShapes(Adaptor op,
                                             ShapeInference &inference);
    static Strides inferStrides(Adaptor op, unsigned resultIndex,
                                ::llvm::ArrayRef<StridedShape> operandShapes,
                                ::llvm::ArrayRef<Size> resultSizes);
  }], [{
    ::llvm::LogicalResult $cppClass::verify() {
      return verifyResultTypes(*this);
    }
    Strides $cppClass::inferStrides(
        unsigned resultIndex, ::llvm::ArrayRef<StridedShape> operandShapes,
        ::llvm::ArrayRef<Size> resultSizes) {
      return inferStrides(Adaptor(*this), resultIndex, operandShapes,
                          resultSizes);
    }
    ::llvm::LogicalResult $cppClass::inferResultTypes(
        SymbolSpace &symbols, ::llvm::ArrayRef<ResultShape> stated,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::commute::tp::inferResultTypes<$cppClass>(
          symbols, Adaptor(*this), stated, getLoc(), types);
    }
  }]> {
  let cppNamespace = "::commute::tp";
}

/// The part of `TP_InferredTypes` that is the same for all ops.
def TP_InfersTypes : NativeOpTrait<"InfersTypes", [], [{}], [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, std::optional<::mlir::Location> location,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      // Without a location, errors are not reported.
      std::optional<::mlir::ScopedDiagnosticHandler> silence;
      if (!location)
        silence.emplace(context, [](::mlir::Diagnostic &) {
          return ::llvm::success();
        });
      SymbolSpace symbols(context);
      return ::commute::tp::inferResultTypes<$cppClass>(
          symbols, Adaptor(operands, attributes, properties, regions), {},
          location.value_or(::mlir::UnknownLoc::get(context)), types);
    }
    // The verifier compares only shapes: the type may have the strides that
    // PyTorch recorded, which may differ from the inferred ones.
    ::llvm::LogicalResult $cppClass::refineReturnTypes(
        ::mlir::MLIRContext *, std::optional<::mlir::Location>,
        ::mlir::ValueRange, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties,
        ::mlir::RegionRange, ::llvm::SmallVectorImpl<::mlir::Type> &) {
      return ::llvm::success();
    }
  }]> {
  let cppNamespace = "::commute::tp";
}

/// Ops whose result types are determined by operands and attributes alone. MLIR
/// declares builders without result types for them.
def TP_InferredTypes : TraitList<[
    DeclareOpInterfaceMethods<InferTypeOpInterface, ["refineReturnTypes"]>,
    TP_InfersTypes]>;

/// The base class of modelled ops. `isView`: PyTorch may compute the op without
/// allocating memory. `effects`: by default, equal ops with equal operands have
/// equal results.
class TP_TensorOp<string mnemonic, list<Trait> traits = [],
                  bit isView = false, list<Trait> effects = [Pure]>
    : TP_Op<mnemonic, effects # [
        TP_InfersShapes,
        DeclareOpInterfaceMethods<TP_ResultTypeOpInterface>,
        DeclareOpInterfaceMethods<TP_DimensionRuleOpInterface>,
        DeclareOpInterfaceMethods<TP_EvaluationOpInterface>,
        DeclareOpInterfaceMethods<TP_WorkOpInterface>,
        DeclareOpInterfaceMethods<TP_StrideOpInterface,
            !if(isView, ["inferStrides", "mayShareMemory"],
                        ["inferStrides"])>] # traits> {
  let hasVerifier = 1;
}

#endif // COMMUTE_DIALECT_TPOPBASE
