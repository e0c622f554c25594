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
    several layers; `copy` marks a repetition of the layer `id`.

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
    Passes copy the call unchanged. It may read all operands, have side effects,
    and write into the operands listed in `mutated_operands`. `arguments` is the
    argument list of the PyTorch node as JSON text, in which "%0", "%1", ...
    refer to the operands in order. `dense_operands` lists the operands that
    PyTorch requires to be dense, as in the `out` forms of collectives. With
    `fresh_results`, the results are not views of the operands. With
    `reads_types`, the op depends only on the element types of its operands; the
    assertions that torch.export inserts after a cast are such ops.

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
    /// Returns true if the op computes or writes tensors. Other ops query a
    /// size, compute sizes, or check a fact that the types already state.
    bool runsKernel();
  }];
}

#endif // COMMUTE_DIALECT_TPOPS
