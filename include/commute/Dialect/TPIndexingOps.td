//===- TPIndexingOps.td - sorting, gather and scatter ------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPINDEXINGOPS
#define COMMUTE_DIALECT_TPINDEXINGOPS

include "commute/Dialect/TPOpBase.td"

def TP_TakeAlongOp : TP_TensorOp<"take_along", [
    TP_InferredTypes, DeclareOpInterfaceMethods<TP_IndexingOpInterface>]> {
  let summary = "Elements selected one by one along one dim";
  let description = [{
    For `dim` 1, `result[i, j, k] = table[i, indices[i, j, k], k]`, as in
    NumPy's take_along_axis and in `aten.gather`. The result has the sizes of
    `indices`, and the table has the same sizes along all other dims. Indices
    are integers in `[0, size of dim)`.

    ```mlir
    %r = tp.take_along %table, %indices dim 1
      : (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$indices,
                       I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $table `,` $indices `dim` $dim attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) {
      return operands[0] && !operands[1];
    }
  }];
}

def TP_ScatterOp : TP_TensorOp<"scatter", [
    TP_InferredTypes, DeclareOpInterfaceMethods<TP_IndexingOpInterface>]> {
  let summary = "A tensor with elements replaced, or added to, at indices";
  let description = [{
    A copy of `input` in which, for `dim` 1 and every `i, j, k`, the element
    `[i, indices[i, j, k], k]` is replaced by `updates[i, j, k]`, or, with
    `accumulate`, has it added: `aten.scatter`, `aten.scatter_add`. `indices`
    and `updates` have the same sizes, which `input` also has along all other
    dims. With `wraps_negative`, -1 means the last index. If several updates
    replace one element, the last one wins; PyTorch leaves the winner undefined.

    ```mlir
    %r = tp.scatter %input, %indices, %updates dim 0 accumulate
      : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$indices,
                       AnyRankedTensor:$updates, I64Attr:$dim,
                       UnitAttr:$accumulate, UnitAttr:$wraps_negative);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $indices `,` $updates `dim` $dim (`accumulate` $accumulate^)?
    (`wraps_negative` $wraps_negative^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) {
      return operands[0] && !operands[1] && operands[2];
    }
    bool addsOperands(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_SortOp : TP_TensorOp<"sort", [TP_InferredTypes]> {
  let summary = "Rows in ascending or descending order";
  let description = [{
    Sorts every row along `dim`, independently of the others. `order` holds the
    index that each element had in its row. With `first`, only so many elements
    at the beginning of each sorted row are returned.

    Equal elements keep their order, unless `algorithm` names an algorithm that
    leaves their order open (PyTorch's `sort` without `stable`, `topk`). Which
    of them are returned, and in which order, is then a function of the
    algorithm, of `descending`, `first` and `unordered`, and of how all elements
    of the row compare. With `unordered` (`topk` without `sorted`), so is the
    order of all elements that are returned.

    ```mlir
    %values, %order = tp.sort %x dim 1 descending algorithm "topk" first 2
      : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi64>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim,
                       UnitAttr:$descending, OptionalAttr<StrAttr>:$algorithm,
                       OptionalAttr<I64Attr>:$first, UnitAttr:$unordered);
  let results = (outs AnyRankedTensor:$values, AnyRankedTensor:$order);
  let assemblyFormat = [{
    $input `dim` $dim (`descending` $descending^)?
    (`algorithm` $algorithm^)? (`first` $first^)? (`unordered` $unordered^)?
    attr-dict `:` type($input) `->` type($values) `,` type($order)
  }];
}

#endif // COMMUTE_DIALECT_TPINDEXINGOPS
