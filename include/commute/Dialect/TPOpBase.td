//===- TPOpBase.td - what all ops of tp have in common -----*- tablegen -*-===//
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
include "mlir/Interfaces/SideEffectInterfaces.td"

class TP_Op<string mnemonic, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, traits>;

/// What every modelled op says of itself. `isView`: PyTorch may compute it
/// without memory of its own.
class TP_TensorOp<string mnemonic, list<Trait> traits = [],
                  bit isView = false>
    : TP_Op<mnemonic, [
        Pure,
        DeclareOpInterfaceMethods<TP_DimensionRuleOpInterface>,
        DeclareOpInterfaceMethods<TP_EvaluationOpInterface>,
        DeclareOpInterfaceMethods<TP_WorkOpInterface>,
        DeclareOpInterfaceMethods<TP_StrideOpInterface,
            !if(isView, ["inferStrides", "mayShareMemory"],
                        ["inferStrides"])>] # traits> {
  let hasVerifier = 1;
}

#endif // COMMUTE_DIALECT_TPOPBASE
