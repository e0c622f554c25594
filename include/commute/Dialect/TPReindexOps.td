//===- TPReindexOps.td - ops that rearrange elements -------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPREINDEXOPS
#define COMMUTE_DIALECT_TPREINDEXOPS

include "commute/Dialect/TPOpBase.td"

def TP_ReshapeOp : TP_TensorOp<"reshape",
    [DeclareOpInterfaceMethods<TP_ReindexOpInterface, ["reindex"]>],
    /*isView=*/true> {
  let summary = "The same elements in row-major order, with new sizes";
  let description = [{
    As in `torch.reshape`, the result is a view if the operand's strides allow
    it, and a copy otherwise. A reshape to the same shape is the identity.

    ```mlir
    %r = tp.reshape %x : tensor<2x4x8xf32> -> tensor<8x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "SymbolSpace &":$symbols,
                   "::llvm::ArrayRef<Size>":$sizes), [{
      $_state.addOperands(input);
      addInferredTypes<ReshapeOp>($_state, symbols, {{{}, Sizes(sizes)}});
    }]>];
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_PermuteOp : TP_TensorOp<"permute",
    [TP_InferredTypes,
     DeclareOpInterfaceMethods<TP_ReindexOpInterface, ["reindex"]>],
    /*isView=*/true> {
  let summary = "Permutation of dims";
  let description = [{
    Dim i of the result is dim `permutation[i]` of the operand. The result is a
    view whose strides are permuted with the dims.

    ```mlir
    %r = tp.permute %x [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32, #tp.layout<strides = [1, 2]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input $permutation attr-dict `:` type($input) `->` type($result)
  }];
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_SliceOp : TP_TensorOp<"slice",
    [DeclareOpInterfaceMethods<TP_ReindexOpInterface, ["reindex"]>],
    /*isView=*/true> {
  let summary = "Every step-th index along one dim";
  let description = [{
    Index i of the result along `dim` is index `start + i * step` of the operand.
    The result type states the number of indices. The result is a view.

    With `blocks`, `start` counts blocks of the size of the result, which may be
    symbolic, and `step` is 1: the result is block number `start`.

    ```mlir
    %r = tp.slice %x dim 0 start 2 step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, I64Attr:$start,
                       I64Attr:$step, UnitAttr:$blocks);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `dim` $dim `start` $start (`blocks` $blocks^)? `step` $step attr-dict
    `:` type($input) `->` type($result)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "SymbolSpace &":$symbols,
                   "uint64_t":$dim, "uint64_t":$start, "uint64_t":$step,
                   "const Size &":$size, CArg<"bool", "false">:$blocks)>];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
    bool keepsEachElement() { return false; }
    void scaleAttributes(const DimensionRule &rule,
                         ::llvm::ArrayRef<int64_t> newSizes);
  }];
  let hasFolder = 1;
}

def TP_ConcatOp : TP_TensorOp<"concat",
    [TP_InferredTypes,
     DeclareOpInterfaceMethods<TP_ReindexOpInterface, ["reindex"]>]> {
  let summary = "Concatenation of tensors along a dim";
  let description = [{
    ```mlir
    %r = tp.concat %a, %b dim 1 : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $inputs `dim` $dim attr-dict `:` functional-type($inputs, $result)
  }];
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
  }];
}

def TP_BroadcastOp : TP_TensorOp<"broadcast",
    [DeclareOpInterfaceMethods<TP_ReindexOpInterface, ["reindex"]>],
    /*isView=*/true> {
  let summary = "Repetition along dims of size 1 and new leading dims";
  let description = [{
    As in `torch.expand`, the result is a view with stride 0 along the repeated
    dims.

    ```mlir
    %r = tp.broadcast %x : tensor<4x1xf32> -> tensor<2x4x8xf32, #tp.layout<strides = [0, 1, 0]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "SymbolSpace &":$symbols,
                   "::llvm::ArrayRef<Size>":$sizes), [{
      $_state.addOperands(input);
      addInferredTypes<BroadcastOp>($_state, symbols, {{{}, Sizes(sizes)}});
    }]>];
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
    bool keepsEachElement() { return false; }
  }];
}

#endif // COMMUTE_DIALECT_TPREINDEXOPS
