//===- TPOps.td - the ops of tp ----------------------------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPOPS
#define COMMUTE_DIALECT_TPOPS

include "commute/Dialect/TPComputeOps.td"
include "commute/Dialect/TPIndexingOps.td"
include "commute/Dialect/TPReindexOps.td"
include "commute/Dialect/TPCollectiveOps.td"

//===----------------------------------------------------------------------===//
// Markers and opaque calls
//===----------------------------------------------------------------------===//

def TP_RegionMarkerOp : TP_TensorOp<"region_marker", [
    TP_InferredTypes,
    DeclareOpInterfaceMethods<TP_RepetitionOpInterface>], /*isView=*/true> {
  let summary = "TensorCast's bracket around a repeated layer";
  let description = [{
    The identity on values. `begin` and `end` bracket a layer that stands for
    several; `copy` says that the layer `id` is repeated.

    ```mlir
    %r = tp.region_marker begin %x id 3 : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TP_RegionMarkerKindAttr:$kind, AnyRankedTensor:$input,
                       I64Attr:$id);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $kind $input `id` $id attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_CallOp : TP_Op<"call", [
    DeclareOpInterfaceMethods<TP_DimensionRuleOpInterface>,
    DeclareOpInterfaceMethods<TP_WorkOpInterface>,
    DeclareOpInterfaceMethods<TP_StrideOpInterface,
                              ["inferStrides", "mayShareMemory"]>,
    DeclareOpInterfaceMethods<TP_DenseOperandsOpInterface,
                              ["requiresDense", "writesInto"]>]> {
  let summary = "An operator that Commute does not model";
  let description = [{
    Carried whole and never touched: it may read all its operands, have effects,
    and write into the operands listed in `mutated_operands`. `arguments` is the
    PyTorch node's list of arguments as JSON text, in which the operands stand as
    "%0", "%1", ... in order. `dense_operands` lists the operands that PyTorch
    requires to be dense (the `out` forms of collectives, say). With
    `fresh_results` the results are no views of the operands. With `reads_types`
    the op looks at nothing of its operands but their element types, as the
    assertions do that torch.export leaves behind a cast.

    ```mlir
    %r = tp.call "torch.ops.mylib.op.default"(%x) arguments "[...]"
      : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins StrAttr:$callee, Variadic<AnyType>:$operands,
                       StrAttr:$arguments,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dense_operands,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$mutated_operands,
                       UnitAttr:$fresh_results, UnitAttr:$reads_types);
  let results = (outs Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    $callee `(` $operands `)` `arguments` $arguments
    (`dense` $dense_operands^)? (`mutates` $mutated_operands^)?
    (`fresh` $fresh_results^)? (`reads_types` $reads_types^)? attr-dict `:` functional-type($operands, $outputs)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns true if the op computes or writes tensors. Others ask for a size,
    /// compute with sizes, or check a fact: types state what they find.
    bool runsKernel();
  }];
}

#endif // COMMUTE_DIALECT_TPOPS
