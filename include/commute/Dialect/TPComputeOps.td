//===- TPComputeOps.td - ops that compute ------------------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPCOMPUTEOPS
#define COMMUTE_DIALECT_TPCOMPUTEOPS

include "commute/Dialect/TPOpBase.td"

//===----------------------------------------------------------------------===//
// Elementwise ops and factories
//===----------------------------------------------------------------------===//

def TP_MapOp : TP_TensorOp<"map", [TP_InferredTypes]> {
  let summary = "A scalar function applied elementwise, with broadcasting";
  let description = [{
    Operands are broadcast to the result's shape by PyTorch's rule: dims are
    aligned at the last one, and dims of size 1 are repeated. The element types
    of operands and result may differ: operands are promoted as in PyTorch, the
    function is computed in the promoted type, and the result has the stated
    type (i1 for comparisons). The operands of `select` are the condition, the
    value if true, and the value if false.

    ```mlir
    %r = tp.map add(%x, %bias) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TP_MapFunctionAttr:$function,
                       Variadic<AnyRankedTensor>:$operands);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $function `(` $operands `)` attr-dict `:` functional-type($operands, $result)
  }];
  let builders = [
    OpBuilder<(ins "MapFunction":$function, "::mlir::ValueRange":$operands,
                   "::mlir::Type":$elementType), [{
      $_state.addOperands(operands);
      $_state.getOrAddProperties<Properties>().function =
          MapFunctionAttr::get($_builder.getContext(), function);
      SymbolSpace symbols($_builder.getContext());
      addInferredTypes<MapOp>($_state, symbols, {{elementType}});
    }]>];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
    /// Returns the number of operands that the function takes.
    static unsigned getArity(MapFunction function);
    /// Returns true if the function returns a truth value.
    static bool isPredicate(MapFunction function);
  }];
}

def TP_CastOp : TP_TensorOp<"cast", [], /*isView=*/true> {
  let summary = "Conversion to another element type";
  let description = [{
    Keeps the operand's strides if they are dense in some order of the dims, as
    PyTorch does. With `contiguous`, the result is in row-major order.

    ```mlir
    %r = tp.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$contiguous);
  let results = (outs AnyRankedTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::Value":$input, "::mlir::Type":$elementType), [{
      $_state.addOperands(input);
      SymbolSpace symbols($_builder.getContext());
      addInferredTypes<CastOp>($_state, symbols, {{elementType}});
    }]>];
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_BitcastOp : TP_TensorOp<"bitcast",
    [DeclareOpInterfaceMethods<TP_ReindexOpInterface>], /*isView=*/true> {
  let summary = "The same bits reinterpreted as another element type";
  let description = [{
    Both element types have the same width, and the result is a view. Collectives
    of a backend without eight-bit floats transfer them as integers.

    ```mlir
    %r = tp.bitcast %x : tensor<4x8xf8E4M3FN> -> tensor<4x8xui8>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def TP_CopyOp : TP_TensorOp<"copy",
    [TP_InferredTypes, DeclareOpInterfaceMethods<TP_ReindexOpInterface>],
    /*isView=*/true> {
  let summary = "A copy in fresh memory, dense in row-major order";
  let description = [{
    The same values in a new tensor. With `preserve_strides`, the copy keeps the
    operand's strides if they are dense in some order of the dims (PyTorch's
    `clone()`). Otherwise, the copy is dense in row-major order
    (`clone(memory_format=torch.contiguous_format)`).

    ```mlir
    %r = tp.copy %x : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$preserve_strides);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    ::llvm::LogicalResult verifyLayout();
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_ConstantOp : TP_TensorOp<"constant", [ConstantLike]> {
  let summary = "A tensor with the same value in all elements";
  let description = [{
    Python scalars of a graph are tensors of rank 0. `torch.full` and similar
    operators create tensors with dims.

    ```mlir
    %r = tp.constant 1.0e-05 : f64 -> tensor<f32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let builders = [
    OpBuilder<(ins "::mlir::TypedAttr":$value, "SymbolSpace &":$symbols,
                   "::mlir::Type":$elementType,
                   "::llvm::ArrayRef<Size>":$sizes), [{
      $_state.getOrAddProperties<Properties>().value = value;
      addInferredTypes<ConstantOp>($_state, symbols,
                                   {{elementType, Sizes(sizes)}});
    }]>];
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasFolder = 1;
}

def TP_IotaOp : TP_TensorOp<"iota"> {
  let summary = "Evenly spaced numbers";
  let description = [{
    Element i of the one-dimensional result is `start + i * step`.

    ```mlir
    %r = tp.iota 0 : i64 step 1 : i64 -> tensor<16xi64>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$start, TypedAttrInterface:$step);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$start `step` $step attr-dict `->` type($result)";
}

def TP_EmptyOp : TP_TensorOp<"empty", [], /*isView=*/false, /*effects=*/[]> {
  let summary = "A tensor of uninitialized memory";
  let description = [{
    `torch.empty`: the elements are arbitrary, and differ between ranks and
    between two ops. A program whose results depend on them is not equivalent to
    any program, not even to itself.

    ```mlir
    %r = tp.empty : tensor<4x8xf32>
    ```
  }];
  let results = (outs Res<AnyRankedTensor, "", [MemAlloc]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TP_TriangularOp : TP_TensorOp<"triangular", [TP_InferredTypes]> {
  let summary = "The upper or lower triangle of the last two dims";
  let description = [{
    Keeps the elements with `column - row >= diagonal` if `upper` is set, else
    those with `column - row <= diagonal`, and sets all others to zero.

    ```mlir
    %r = tp.triangular %x upper diagonal 1 : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$upper, I64Attr:$diagonal);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input (`upper` $upper^)? `diagonal` $diagonal attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

//===----------------------------------------------------------------------===//
// Reductions and row-wise ops
//===----------------------------------------------------------------------===//

def TP_ReduceOp : TP_TensorOp<"reduce", [TP_InferredTypes]> {
  let summary = "Reduction along dims";
  let description = [{
    Reduces the elements along `dims` by sum, mean (`avg`), max, min or product.
    With `keep_dims`, the reduced dims remain with size 1; otherwise, they are
    removed.

    ```mlir
    %r = tp.reduce avg %x dims [1] keep_dims : tensor<4x8xf32> -> tensor<4x1xf32>
    ```
  }];
  let arguments = (ins TP_ReductionKindAttr:$kind, AnyRankedTensor:$input,
                       DenseI64ArrayAttr:$dims, UnitAttr:$keep_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $kind $input `dims` $dims (`keep_dims` $keep_dims^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
  }];
}

def TP_RowwiseOp : TP_TensorOp<"rowwise", [TP_InferredTypes]> {
  let summary = "A function of whole rows along one dim";
  let description = [{
    Maps every row along `dim` to a row of the same length, independently of the
    other rows.

    ```mlir
    %r = tp.rowwise softmax %x dim 3 : tensor<2x4x8x8xf32> -> tensor<2x4x8x8xf32>
    ```
  }];
  let arguments = (ins TP_RowFunctionAttr:$function, AnyRankedTensor:$input,
                       I64Attr:$dim);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $function $input `dim` $dim attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
  }];
}

def TP_RmsNormOp : TP_TensorOp<"rms_norm", [TP_InferredTypes]> {
  let summary = "Root-mean-square normalization of the last dims";
  let description = [{
    `x * rsqrt(mean(x^2) + epsilon) * weight`, with the mean over the last
    `normalized_dims` dims, computed in f32 for narrower element types. Without
    `epsilon`, the machine epsilon of the element type is used, as in PyTorch.
    The weight has the sizes of the normalized dims.

    ```mlir
    %r = tp.rms_norm %x weight %w epsilon 1.0e-05 dims 1
      : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Optional<AnyRankedTensor>:$weight,
                       OptionalAttr<F64Attr>:$epsilon, I64Attr:$normalized_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input (`weight` $weight^)? (`epsilon` $epsilon^)? `dims` $normalized_dims
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isNormalizationParameter(::mlir::OpOperand &operand) {
      return operand.getOperandNumber() >= 1;
    }
  }];
}

def TP_LayerNormOp : TP_TensorOp<"layer_norm",
    [TP_InferredTypes, AttrSizedOperandSegments]> {
  let summary = "Layer normalization of the last dims";
  let description = [{
    `(x - mean(x)) * rsqrt(var(x) + epsilon) * weight + bias`, with the mean and
    the biased variance over the last `normalized_dims` dims.

    ```mlir
    %r = tp.layer_norm %x weight %w bias %b epsilon 1.0e-05 dims 1
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, Optional<AnyRankedTensor>:$weight,
                       Optional<AnyRankedTensor>:$bias, F64Attr:$epsilon,
                       I64Attr:$normalized_dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input (`weight` $weight^)? (`bias` $bias^)? `epsilon` $epsilon
    `dims` $normalized_dims attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isNormalizationParameter(::mlir::OpOperand &operand) {
      return operand.getOperandNumber() >= 1;
    }
  }];
}

def TP_AddRmsNormOp : TP_TensorOp<"add_rms_norm"> {
  let summary = "Sum of two tensors and its RMS normalization";
  let description = [{
    With `s = x + residual`, the first result is `rms_norm(s)` over the last
    dim, and the optional second result is `s`. Both operands have the shape of
    the result.

    ```mlir
    %n, %s = tp.add_rms_norm %x, %residual weight %w epsilon 1.0e-06
      : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$residual,
                       AnyRankedTensor:$weight, F64Attr:$epsilon);
  let results = (outs AnyRankedTensor:$normalized,
                      Optional<AnyRankedTensor>:$sum);
  let assemblyFormat = [{
    $input `,` $residual `weight` $weight `epsilon` $epsilon attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isNormalizationParameter(::mlir::OpOperand &operand) {
      return operand.getOperandNumber() >= 2;
    }
  }];
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def TP_MatmulOp : TP_TensorOp<"matmul",
    [TP_InferredTypes, AttrSizedOperandSegments]> {
  let summary = "Matrix product, with batch dims, bias and scales";
  let description = [{
    `lhs[..., M, K] @ rhs[..., K, N] (+ bias)`. `transpose_lhs` and
    `transpose_rhs` swap the last two dims of an operand before the product (the
    weight of a linear is [N, K]). Leading dims are batch dims, broadcast
    against each other as in `torch.matmul`. The bias is broadcast to the
    result. Scales (fp8) multiply the operands before the product. A scale has
    one element, or one for each row of lhs ([M, 1]) or column of rhs ([1, N]).

    ```mlir
    %r = tp.matmul %x, %w transpose_rhs bias %b
      : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
                       Optional<AnyRankedTensor>:$bias,
                       Optional<AnyRankedTensor>:$lhs_scale,
                       Optional<AnyRankedTensor>:$rhs_scale,
                       UnitAttr:$transpose_lhs, UnitAttr:$transpose_rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_lhs` $transpose_lhs^)?
    (`transpose_rhs` $transpose_rhs^)? (`bias` $bias^)?
    (`lhs_scale` $lhs_scale^)? (`rhs_scale` $rhs_scale^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let builders = [
    OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                   "::mlir::Value":$bias, "::mlir::Value":$lhsScale,
                   "::mlir::Value":$rhsScale, "bool":$transposeLhs,
                   "bool":$transposeRhs, "::mlir::Type":$elementType), [{
      build($_builder, $_state, lhs, rhs, bias, lhsScale, rhsScale,
            transposeLhs, transposeRhs);
      stateElementTypes($_state, elementType);
    }]>];
  let extraClassDeclaration = [{
    bool addsOperands(::llvm::ArrayRef<bool> operands);
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
  }];
}

def TP_GroupedMatmulOp : TP_TensorOp<"grouped_matmul", [TP_InferredTypes]> {
  let summary = "Matrix products of groups of rows";
  let description = [{
    The products of a mixture of experts. The rows of `lhs[T, K]` are sorted by
    expert, and `rhs[E, K, N]` has one matrix for each expert. The rows in
    `[offsets[e - 1], offsets[e])` are multiplied by `rhs[e]`. Result rows at or
    after the last offset are taken from `rest`, or are zero without `rest`.
    Offsets are non-decreasing integers between 0 and T.

    If `rhs[T, N]` is a matrix, the contraction dim is grouped: for `lhs[M, T]`,
    matrix `e` of the result is `lhs[:, group] @ rhs[group, :]` of size
    `[M, N]`, and zero for an empty group. This is the gradient of the weights.

    ```mlir
    %r = tp.grouped_matmul %x, %w offsets %ends
      : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
                       AnyRankedTensor:$offsets,
                       Optional<AnyRankedTensor>:$rest);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs `offsets` $offsets (`rest` $rest^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) {
      // Like a bias, `rest` belongs to one summand.
      if (getRest() && !operands[3])
        return false;
      return operands[0] != operands[1] && !operands[2];
    }
    bool addsOperands(::llvm::ArrayRef<bool> operands) {
      return getRest() && operands[3];
    }
    /// Returns true if the contraction dim is grouped.
    bool groupsContraction();
  }];
}

def TP_AttentionOp : TP_TensorOp<"attention", [TP_InferredTypes]> {
  let summary = "Scaled dot-product attention";
  let description = [{
    `softmax(query @ key^T * scale + mask) @ value` over operands
    [..., heads, length, width]. A boolean mask keeps the positions that are
    true. With `is_causal`, position i attends to positions up to i. With
    `grouped_heads`, each head of key and value serves several consecutive heads
    of query. The default scale is `1 / sqrt(width)`. The optional second result
    is the logarithm of the sum of exponentials of each row's scores, from which
    a backward graph recomputes the softmax.

    ```mlir
    %r = tp.attention %q, %k, %v is_causal
      : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key,
                       AnyRankedTensor:$value, Optional<AnyRankedTensor>:$mask,
                       UnitAttr:$is_causal, UnitAttr:$grouped_heads,
                       OptionalAttr<F64Attr>:$scale);
  let results = (outs AnyRankedTensor:$result,
                      Optional<AnyRankedTensor>:$logsumexp);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`is_causal` $is_causal^)?
    (`grouped_heads` $grouped_heads^)? (`scale` $scale^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def TP_AttentionBackwardOp : TP_TensorOp<"attention_backward",
    [TP_InferredTypes]> {
  let summary = "Gradients of query, key and value of an attention";
  let description = [{
    The gradients of `tp.attention`, given both of its results and the gradient
    of the first. The softmax is recomputed as
    `exp(query @ key^T * scale + mask - logsumexp)`.

    ```mlir
    %dq, %dk, %dv = tp.attention_backward %g, %q, %k, %v, %out, %lse is_causal
      : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8xf32>)
      -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$gradient, AnyRankedTensor:$query,
                       AnyRankedTensor:$key, AnyRankedTensor:$value,
                       AnyRankedTensor:$output, AnyRankedTensor:$logsumexp,
                       Optional<AnyRankedTensor>:$mask, UnitAttr:$is_causal,
                       UnitAttr:$grouped_heads, OptionalAttr<F64Attr>:$scale);
  let results = (outs AnyRankedTensor:$query_gradient,
                      AnyRankedTensor:$key_gradient,
                      AnyRankedTensor:$value_gradient);
  let assemblyFormat = [{
    $gradient `,` $query `,` $key `,` $value `,` $output `,` $logsumexp
    (`mask` $mask^)? (`is_causal` $is_causal^)?
    (`grouped_heads` $grouped_heads^)? (`scale` $scale^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
  }];
}

def TP_TakeOp : TP_TensorOp<"take", [
    TP_InferredTypes, DeclareOpInterfaceMethods<TP_IndexingOpInterface>]> {
  let summary = "Slices of a tensor selected by indices along one dim";
  let description = [{
    An embedding lookup: dim `dim` of `table` is replaced by all dims of
    `indices`. Indices are integers. With `wraps_negative`, -1 means the last
    index, as in Python.

    ```mlir
    %r = tp.take %table, %ids dim 0 : (tensor<100x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$table, AnyRankedTensor:$indices,
                       I64Attr:$dim, UnitAttr:$wraps_negative);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $table `,` $indices `dim` $dim (`wraps_negative` $wraps_negative^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
  }];
}

#endif // COMMUTE_DIALECT_TPCOMPUTEOPS
