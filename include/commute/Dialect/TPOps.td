//===- TPOps.td - the ops of tp ----------------------------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPOPS
#define COMMUTE_DIALECT_TPOPS

include "commute/Dialect/TPAttributes.td"
include "commute/Dialect/TPInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class TP_Op<string mnemonic, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, traits>;

/// What every modelled op says of itself. `isView`: PyTorch may compute it
/// without memory of its own.
class TP_TensorOp<string mnemonic, list<Trait> traits = [], bit isView = false>
    : TP_Op<mnemonic, [Pure,
                       DeclareOpInterfaceMethods<TP_DimensionRuleOpInterface>,
                       DeclareOpInterfaceMethods<TP_EvaluationOpInterface>,
                       DeclareOpInterfaceMethods<TP_WorkOpInterface>,
                       DeclareOpInterfaceMethods<
                           TP_StrideOpInterface,
                           !if(isView, ["inferStrides", "mayShareMemory"],
                               ["inferStrides"])>]#traits> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise ops and factories
//===----------------------------------------------------------------------===//

def TP_MapOp : TP_TensorOp<"map"> {
  let summary = "A scalar function applied elementwise, with broadcasting";
  let description = [{
    Operands are broadcast to the result's shape by PyTorch's rule: aligned at
    the last dim, a dim of size 1 repeated. Operands may have other element
    types than the result; they are promoted as PyTorch does, the function is
    computed in the promoted type, and the result has the stated type (i1 for
    comparisons). `select` takes condition, value where true, value where false.

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
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
    /// Number of operands that the function takes.
    static unsigned getArity(MapFunction function);
    /// Whether the function gives a truth value.
    static bool isPredicate(MapFunction function);
  }];
}

def TP_CastOp : TP_TensorOp<"cast", [], /*isView=*/true> {
  let summary = "Conversion to another element type";
  let description = [{
    Keeps the operand's strides where they are dense in some order, as PyTorch
    does, unless `contiguous` asks for row-major order.

    ```mlir
    %r = tp.cast %x : tensor<4x8xf32> -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$contiguous);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_BitcastOp : TP_TensorOp<"bitcast", [], /*isView=*/true> {
  let summary = "The same bits as another element type";
  let description = [{
    Element types of one width, a view: values of eight-bit floats travel as
    integers where a backend does not know them.

    ```mlir
    %r = tp.bitcast %x : tensor<4x8xf8E4M3FN> -> tensor<4x8xui8>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def TP_CopyOp : TP_TensorOp<"copy", [], /*isView=*/true> {
  let summary = "A copy in fresh memory, dense in row-major order";
  let description = [{
    The same values in a new tensor. With `preserve_strides` the copy keeps the
    operand's strides where they are dense in some order (PyTorch's
    `clone()`); without, it is dense in row-major order
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
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_ConstantOp : TP_TensorOp<"constant", [ConstantLike]> {
  let summary = "A tensor with one value in all elements";
  let description = [{
    Python scalars in a graph are tensors without dims; `torch.full` and the
    like have dims.

    ```mlir
    %r = tp.constant 1.0e-05 : f64 -> tensor<f32>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasFolder = 1;
}

def TP_IotaOp : TP_TensorOp<"iota"> {
  let summary = "Numbers at equal distances";
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

def TP_TriangularOp : TP_TensorOp<"triangular"> {
  let summary = "The upper or lower triangle of the last two dims";
  let description = [{
    Keeps the elements with `column - row >= diagonal` (`upper`) or
    `column - row <= diagonal`, and makes the others zero.

    ```mlir
    %r = tp.triangular %x upper diagonal 1 : tensor<8x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$upper,
      I64Attr:$diagonal);
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

def TP_ReduceOp : TP_TensorOp<"reduce"> {
  let summary = "Elements combined along dims";
  let description = [{
    Combines the elements along `dims` by sum, mean (`avg`), max, min or
    product. `keep_dims` leaves the reduced dims with size 1; else they are
    gone.

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

def TP_RowwiseOp : TP_TensorOp<"rowwise"> {
  let summary = "A function of whole rows along one dim";
  let description = [{
    Every row along `dim` is mapped to a row of the same length, independent of
    the other rows.

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

def TP_RmsNormOp : TP_TensorOp<"rms_norm"> {
  let summary = "Root-mean-square normalization of the last dims";
  let description = [{
    `x * rsqrt(mean(x^2) + epsilon) * weight`, the mean over the last
    `normalized_dims` dims, computed in f32 for narrower element types. Without
    a stated epsilon it is the machine epsilon of the element type, as in
    PyTorch. The weight has the sizes of the normalized dims.

    ```mlir
    %r = tp.rms_norm %x weight %w epsilon 1.0e-05 dims 1
      : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input,
      Optional<AnyRankedTensor>:$weight, OptionalAttr<F64Attr>:$epsilon,
      I64Attr:$normalized_dims);
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

def TP_LayerNormOp : TP_TensorOp<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "Layer normalization of the last dims";
  let description = [{
    `(x - mean(x)) * rsqrt(var(x) + epsilon) * weight + bias`, mean and
    (biased) variance over the last `normalized_dims` dims.

    ```mlir
    %r = tp.layer_norm %x weight %w bias %b epsilon 1.0e-05 dims 1
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input,
      Optional<AnyRankedTensor>:$weight, Optional<AnyRankedTensor>:$bias,
      F64Attr:$epsilon, I64Attr:$normalized_dims);
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
    dim; the second, where present, is `s`. Both operands have the result's
    shape.

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

def TP_MatmulOp : TP_TensorOp<"matmul", [AttrSizedOperandSegments]> {
  let summary = "Matrix product, with batch dims, bias and scales";
  let description = [{
    `lhs[..., M, K] @ rhs[..., K, N] (+ bias)`. `transpose_lhs` and
    `transpose_rhs` read the last two dims of an operand the other way round
    (a linear's weight is [N, K]). Leading dims are batch dims, broadcast
    against each other as in `torch.matmul`. The bias is broadcast to the
    result. Scales (fp8) multiply the operands before the product: a scale has
    one element, or one a row of lhs ([M, 1]) and one a column of rhs ([1, N]).

    ```mlir
    %r = tp.matmul %x, %w transpose_rhs bias %b
      : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$lhs, AnyRankedTensor:$rhs,
      Optional<AnyRankedTensor>:$bias, Optional<AnyRankedTensor>:$lhs_scale,
      Optional<AnyRankedTensor>:$rhs_scale, UnitAttr:$transpose_lhs,
      UnitAttr:$transpose_rhs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_lhs` $transpose_lhs^)?
    (`transpose_rhs` $transpose_rhs^)? (`bias` $bias^)?
    (`lhs_scale` $lhs_scale^)? (`rhs_scale` $rhs_scale^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool addsOperands(::llvm::ArrayRef<bool> operands);
    bool isLinearIn(::llvm::ArrayRef<bool> operands);
  }];
}

def TP_AttentionOp : TP_TensorOp<"attention"> {
  let summary = "Scaled dot-product attention";
  let description = [{
    `softmax(query @ key^T * scale + mask) @ value` over operands
    [..., heads, length, width]. A boolean mask keeps the true positions.
    `is_causal` lets position i attend to positions up to i. With
    `grouped_heads` the heads of key and value each serve several consecutive
    heads of query. Without a stated scale it is `1 / sqrt(width)`.

    ```mlir
    %r = tp.attention %q, %k, %v is_causal
      : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$query, AnyRankedTensor:$key,
      AnyRankedTensor:$value, Optional<AnyRankedTensor>:$mask,
      UnitAttr:$is_causal, UnitAttr:$grouped_heads,
      OptionalAttr<F64Attr>:$scale);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? (`is_causal` $is_causal^)?
    (`grouped_heads` $grouped_heads^)? (`scale` $scale^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def TP_TakeOp : TP_TensorOp<"take"> {
  let summary = "Slices of a tensor chosen by indices along one dim";
  let description = [{
    An embedding look-up: dim `dim` of `table` is replaced by all dims of
    `indices`. Indices are integers; with `wraps_negative`, -1 is the last one,
    as in Python indexing.

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

//===----------------------------------------------------------------------===//
// Reindexing
//===----------------------------------------------------------------------===//

def TP_ReshapeOp : TP_TensorOp<"reshape", [], /*isView=*/true> {
  let summary = "The same elements in row-major order, under other sizes";
  let description = [{
    A view where the operand's strides allow it, else a copy, as
    `torch.reshape`. To the same shape it is the identity.

    ```mlir
    %r = tp.reshape %x : tensor<2x4x8xf32> -> tensor<8x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_PermuteOp : TP_TensorOp<"permute", [], /*isView=*/true> {
  let summary = "Dims in another order";
  let description = [{
    Dim i of the result is dim `permutation[i]` of the operand. A view: the
    strides move with the dims.

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

def TP_SliceOp : TP_TensorOp<"slice", [], /*isView=*/true> {
  let summary = "Every step-th index along one dim";
  let description = [{
    Result index i along `dim` is operand index `start + i * step`. How many
    there are is said by the result type. A view.

    With `blocks` the start counts in sizes of the result, which may be
    symbolic: it is the start-th block of that size, at step 1.

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
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
    void scaleAttributes(const DimensionRule &rule,
                         ::llvm::ArrayRef<int64_t> newSizes);
  }];
  let hasFolder = 1;
}

def TP_ConcatOp : TP_TensorOp<"concat"> {
  let summary = "Tensors one behind the other along a dim";
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

def TP_BroadcastOp : TP_TensorOp<"broadcast", [], /*isView=*/true> {
  let summary = "Dims of size 1, and new leading dims, repeated";
  let description = [{
    As `torch.expand`: a view with stride 0 along the repeated dims.

    ```mlir
    %r = tp.broadcast %x : tensor<4x1xf32> -> tensor<2x4x8xf32, #tp.layout<strides = [0, 1, 0]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasFolder = 1;
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

class TP_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : TP_TensorOp<mnemonic, [DeclareOpInterfaceMethods<
                                TP_CollectiveOpInterface>]#traits>;

/// Collectives that may write their result into their operand.
class TP_InPlaceCollectiveOp<string mnemonic>
    : TP_TensorOp<
          mnemonic,
          [DeclareOpInterfaceMethods<TP_CollectiveOpInterface>,
           DeclareOpInterfaceMethods<
               TP_DenseOperandsOpInterface, ["requiresDense", "writesInto"]>],
          /*isView=*/true> {
  let extraClassDefinition = [{
    bool $cppClass::mayShareMemory() { return getInPlace(); }
    bool $cppClass::requiresDense(::mlir::OpOperand &) { return getInPlace(); }
    bool $cppClass::writesInto(::mlir::OpOperand &) { return getInPlace(); }
    Strides $cppClass::inferStrides(
        unsigned, ::llvm::ArrayRef<StridedShape> operandShapes,
        ::llvm::ArrayRef<Size> resultSizes) {
      // The functional form copies its input to row-major order first.
      return getInPlace() ? operandShapes[0].strides
                          : getContiguousStrides(resultSizes);
    }
  }];
}

defvar TP_AsyncDescription = [{

    With `async` the result may be read only through `tp.wait`.
}];

defvar TP_InPlaceDescription = [{

    With `in_place` PyTorch writes the result into the operand's memory, which
    therefore has to be dense, and gives the result the operand's strides. It is
    a function all the same: the flag is there only where nobody reads the old
    value later, and an exporter for which that no longer holds writes the
    functional form.
}];

def TP_AllReduceOp : TP_InPlaceCollectiveOp<"all_reduce"> {
  let summary = "Values of all ranks combined, the result on every rank";
  let description = [{
    ```mlir
    %r = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }]#TP_InPlaceDescription#TP_AsyncDescription;
  let arguments = (ins TP_ReductionKindAttr:$reduction, AnyRankedTensor:$input,
      TP_GroupAttr:$group, UnitAttr:$async, UnitAttr:$in_place);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $reduction $input `group` $group (`async` $async^)? (`in_place` $in_place^)?
    attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) {
      return operands[0] && (getReduction() == ReductionKind::Sum ||
                             getReduction() == ReductionKind::Avg);
    }
  }];
}

def TP_CollectiveBroadcastOp : TP_InPlaceCollectiveOp<"collective_broadcast"> {
  let summary = "The value of one rank, on every rank";
  let description = [{
    Every member of the group gets the operand of the member at position `root`
    of the group.

    ```mlir
    %r = tp.collective_broadcast %x root 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }]#TP_InPlaceDescription#TP_AsyncDescription;
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$root,
      TP_GroupAttr:$group, UnitAttr:$async, UnitAttr:$in_place);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `root` $root `group` $group (`async` $async^)?
    (`in_place` $in_place^)? attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_AllGatherOp
    : TP_CollectiveOp<
          "all_gather", [DeclareOpInterfaceMethods<
                            TP_DenseOperandsOpInterface, ["requiresDense"]>]> {
  let summary = "The shards of all ranks one behind the other";
  let description = [{
    Concatenates the operands of the ranks, in the order of the group's members,
    along `gather_axis`.

    ```mlir
    %r = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
    ```
  }]#TP_AsyncDescription;
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$gather_axis,
      TP_GroupAttr:$group, UnitAttr:$async);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `gather_axis` $gather_axis `group` $group (`async` $async^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_ReduceScatterOp
    : TP_CollectiveOp<"reduce_scatter",
                      [DeclareOpInterfaceMethods<
                          TP_DenseOperandsOpInterface, ["requiresDense"]>]> {
  let summary = "Values of all ranks combined, one block on each rank";
  let description = [{
    Combines the operands of the ranks, cuts the result along `scatter_axis`
    into equal blocks, and gives block i to the i-th member of the group.

    ```mlir
    %r = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]>
      : tensor<8x8xf32> -> tensor<4x8xf32>
    ```
  }]#TP_AsyncDescription;
  let arguments = (ins TP_ReductionKindAttr:$reduction, AnyRankedTensor:$input,
      I64Attr:$scatter_axis, TP_GroupAttr:$group, UnitAttr:$async);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $reduction $input `scatter_axis` $scatter_axis `group` $group
    (`async` $async^)? attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) {
      return operands[0] && (getReduction() == ReductionKind::Sum ||
                             getReduction() == ReductionKind::Avg);
    }
  }];
}

def TP_AllToAllOp
    : TP_CollectiveOp<
          "all_to_all", [DeclareOpInterfaceMethods<
                            TP_DenseOperandsOpInterface, ["requiresDense"]>]> {
  let summary = "Every rank sends a piece to every other";
  let description = [{
    Cuts the operand along dim 0 into one piece for each member of the group, of
    `input_splits` rows, sends piece i to member i, and concatenates the
    received pieces in the order of their senders; `output_splits` are the rows
    received. Empty splits mean equal pieces.

    ```mlir
    %r = tp.all_to_all %x output_splits [2, 2] input_splits [2, 2] group <"0", [0, 1]>
      : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }]#TP_AsyncDescription;
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$output_splits,
      DenseI64ArrayAttr:$input_splits, TP_GroupAttr:$group, UnitAttr:$async);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `output_splits` $output_splits `input_splits` $input_splits
    `group` $group (`async` $async^)? attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
    void scaleAttributes(const DimensionRule &rule,
                         ::llvm::ArrayRef<int64_t> newSizes);
  }];
}

def TP_RankSliceOp : TP_TensorOp<"rank_slice", [], /*isView=*/true> {
  let summary = "This rank's block of a replicated value";
  let description = [{
    Cuts the operand along `slice_axis` into equal blocks and takes that of this
    rank's position in the group. No communication.

    ```mlir
    %r = tp.rank_slice %x slice_axis 0 group <"0", [0, 1]> : tensor<8x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$slice_axis,
      TP_GroupAttr:$group);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `slice_axis` $slice_axis `group` $group attr-dict
    `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

def TP_WaitOp
    : TP_TensorOp<"wait", [DeclareOpInterfaceMethods<TP_CompletionOpInterface>],
                  /*isView=*/true> {
  let summary = "The value of an async collective, once it is there";
  let description = [{
    ```mlir
    %r = tp.wait %x : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
  }];
}

//===----------------------------------------------------------------------===//
// Fused ops
//===----------------------------------------------------------------------===//

def TP_AllGatherMatmulOp
    : TP_CollectiveOp<"all_gather_matmul", [AttrSizedOperandSegments]> {
  let summary = "All-gather of one operand, pipelined with its matrix products";
  let description = [{
    With `A = all_gather(shard, gather_axis)`, one result `A @ rhs_i (+ bias_i)`
    for every right-hand side, and, with `returns_gathered`, A itself as the
    first result. Right-hand sides are [K, N]. `shard_scale` and `rhs_scales`
    are those of `tp.matmul`; the shard's scale is gathered with it when it has
    one element a row.

    ```mlir
    %r:2 = tp.all_gather_matmul %x, rhs(%b0, %b1) gather_axis 0 group <"0", [0, 1]>
      : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$shard, Variadic<AnyRankedTensor>:$rhs,
      Variadic<AnyRankedTensor>:$biases, Optional<AnyRankedTensor>:$shard_scale,
      Variadic<AnyRankedTensor>:$rhs_scales, I64Attr:$gather_axis,
      TP_GroupAttr:$group, UnitAttr:$returns_gathered);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $shard `,` `rhs` `(` $rhs `)` (`biases` `(` $biases^ `)`)?
    (`shard_scale` $shard_scale^)? (`rhs_scales` `(` $rhs_scales^ `)`)?
    `gather_axis` $gather_axis `group` $group
    (`returns_gathered` $returns_gathered^)?
    attr-dict `:` functional-type(operands, results)
  }];
}

def TP_MatmulReduceScatterOp
    : TP_CollectiveOp<"matmul_reduce_scatter", [AttrSizedOperandSegments]> {
  let summary =
      "Matrix product, pipelined with the reduce-scatter of its result";
  let description = [{
    `reduce_scatter(lhs @ rhs (+ bias), scatter_axis)`; `rhs` is [K, N]. Scales
    are those of `tp.matmul`.

    ```mlir
    %r = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]>
      : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins TP_ReductionKindAttr:$reduction, AnyRankedTensor:$lhs,
      AnyRankedTensor:$rhs, Optional<AnyRankedTensor>:$bias,
      Optional<AnyRankedTensor>:$lhs_scale,
      Optional<AnyRankedTensor>:$rhs_scale, I64Attr:$scatter_axis,
      TP_GroupAttr:$group);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $reduction $lhs `,` $rhs (`bias` $bias^)? (`lhs_scale` $lhs_scale^)?
    (`rhs_scale` $rhs_scale^)? `scatter_axis` $scatter_axis `group` $group
    attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Markers and opaque calls
//===----------------------------------------------------------------------===//

def TP_RegionMarkerOp
    : TP_TensorOp<"region_marker",
                  [DeclareOpInterfaceMethods<TP_RepetitionOpInterface>],
                  /*isView=*/true> {
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

def TP_CallOp
    : TP_Op<
          "call",
          [DeclareOpInterfaceMethods<TP_DimensionRuleOpInterface>,
           DeclareOpInterfaceMethods<TP_WorkOpInterface>,
           DeclareOpInterfaceMethods<TP_StrideOpInterface, ["inferStrides",
                                                            "mayShareMemory"]>,
           DeclareOpInterfaceMethods<
               TP_DenseOperandsOpInterface, ["requiresDense", "writesInto"]>]> {
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
}

#endif // COMMUTE_DIALECT_TPOPS
