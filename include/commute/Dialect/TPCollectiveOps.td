//===- TPCollectiveOps.td - collectives and fused ops ------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_TPCOLLECTIVEOPS
#define COMMUTE_DIALECT_TPCOLLECTIVEOPS

include "commute/Dialect/TPOpBase.td"

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

class TP_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : TP_TensorOp<mnemonic, [
        TP_InferredTypes, DeclareOpInterfaceMethods<TP_GroupOpInterface>,
        DeclareOpInterfaceMethods<TP_CollectiveOpInterface>] # traits>;

/// Collectives that may write their result into their operand.
class TP_InPlaceCollectiveOp<string mnemonic>
    : TP_TensorOp<mnemonic, [
        TP_InferredTypes, DeclareOpInterfaceMethods<TP_GroupOpInterface>,
        DeclareOpInterfaceMethods<TP_CollectiveOpInterface>,
        DeclareOpInterfaceMethods<TP_DenseOperandsOpInterface,
                                  ["requiresDense", "writesInto"]>],
        /*isView=*/true> {
  let extraClassDefinition = [{
    bool $cppClass::mayShareMemory() { return getInPlace(); }
    bool $cppClass::requiresDense(::mlir::OpOperand &) { return getInPlace(); }
    bool $cppClass::writesInto(::mlir::OpOperand &) { return getInPlace(); }
    Strides $cppClass::inferStrides(
        Adaptor op, unsigned, ::llvm::ArrayRef<StridedShape> operandShapes,
        ::llvm::ArrayRef<Size> resultSizes) {
      // The functional form copies its input to row-major order first.
      return op.getInPlace() ? operandShapes[0].strides
                             : getContiguousStrides(resultSizes);
    }
  }];
}

defvar TP_AsyncDescription = [{

    With `async`, the result may be used only by `tp.wait`.
}];

defvar TP_InPlaceDescription = [{

    With `in_place`, PyTorch writes the result into the operand's memory, which
    must be dense, and the result has the operand's strides. The op is still
    pure: the flag is set only if the old value has no later users. If that no
    longer holds on export, the exporter writes the functional form.
}];

def TP_AllReduceOp : TP_InPlaceCollectiveOp<"all_reduce"> {
  let summary = "Reduction over all ranks, with the result on every rank";
  let description = [{
    ```mlir
    %r = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }] # TP_InPlaceDescription # TP_AsyncDescription;
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
    bool dependsOnPositions() { return false; }
    bool dependsOnReceivedOnly() { return true; }
    std::optional<ReductionKind> getCollectiveReduction() {
      return getReduction();
    }
  }];
}

def TP_CollectiveBroadcastOp : TP_InPlaceCollectiveOp<"collective_broadcast"> {
  let summary = "Broadcast of the value of one rank to every rank";
  let description = [{
    Every member of the group receives the operand of the member at position
    `root` of the group.

    ```mlir
    %r = tp.collective_broadcast %x root 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }] # TP_InPlaceDescription # TP_AsyncDescription;
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$root,
                       TP_GroupAttr:$group, UnitAttr:$async, UnitAttr:$in_place);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `root` $root `group` $group (`async` $async^)?
    (`in_place` $in_place^)? attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
    bool dependsOnReceivedOnly() { return true; }
    std::string getCollectiveText();
  }];
}

def TP_AllGatherOp : TP_CollectiveOp<"all_gather",
    [DeclareOpInterfaceMethods<TP_DenseOperandsOpInterface, ["requiresDense"]>]> {
  let summary = "Concatenation of the shards of all ranks";
  let description = [{
    Concatenates the operands of the ranks, in the order of the group's members,
    along `gather_axis`.

    ```mlir
    %r = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
    ```
  }] # TP_AsyncDescription;
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$gather_axis,
                       TP_GroupAttr:$group, UnitAttr:$async);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `gather_axis` $gather_axis `group` $group (`async` $async^)? attr-dict
    `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
    bool dependsOnReceivedOnly() { return true; }
    std::optional<int64_t> getCollectiveAxis() { return getGatherAxis(); }
  }];
}

def TP_ReduceScatterOp : TP_CollectiveOp<"reduce_scatter",
    [DeclareOpInterfaceMethods<TP_DenseOperandsOpInterface, ["requiresDense"]>]> {
  let summary = "Reduction over all ranks, with one block of the result on each";
  let description = [{
    Reduces the operands of the ranks and splits the result along `scatter_axis`
    into equal blocks. The i-th member of the group receives block i.

    ```mlir
    %r = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]>
      : tensor<8x8xf32> -> tensor<4x8xf32>
    ```
  }] # TP_AsyncDescription;
  let arguments = (ins TP_ReductionKindAttr:$reduction, AnyRankedTensor:$input,
                       I64Attr:$scatter_axis, TP_GroupAttr:$group,
                       UnitAttr:$async);
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
    bool dependsOnReceivedOnly() { return true; }
    std::optional<int64_t> getCollectiveAxis() { return getScatterAxis(); }
    std::optional<ReductionKind> getCollectiveReduction() {
      return getReduction();
    }
  }];
}

def TP_AllToAllOp : TP_CollectiveOp<"all_to_all",
    [DeclareOpInterfaceMethods<TP_DenseOperandsOpInterface, ["requiresDense"]>]> {
  let summary = "Exchange of one piece between every pair of ranks";
  let description = [{
    Splits the operand along dim 0 into one piece for each member of the group,
    with the number of rows that `input_splits` states, sends piece i to member
    i, and concatenates the received pieces in the order of their senders.
    `output_splits` states the number of rows received from each member. Empty
    splits mean equal pieces.

    ```mlir
    %r = tp.all_to_all %x output_splits [2, 2] input_splits [2, 2] group <"0", [0, 1]>
      : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }] # TP_AsyncDescription;
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$output_splits,
                       DenseI64ArrayAttr:$input_splits, TP_GroupAttr:$group,
                       UnitAttr:$async);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `output_splits` $output_splits `input_splits` $input_splits
    `group` $group (`async` $async^)? attr-dict `:` type($input) `->` type($result)
  }];
  let extraClassDeclaration = [{
    bool isLinearIn(::llvm::ArrayRef<bool> operands) { return operands[0]; }
    bool dependsOnReceivedOnly() { return true; }
    bool hasEqualOperands() { return false; }
    void scaleAttributes(const DimensionRule &rule,
                         ::llvm::ArrayRef<int64_t> newSizes);
  }];
}

def TP_RankSliceOp : TP_TensorOp<"rank_slice",
    [TP_InferredTypes, DeclareOpInterfaceMethods<TP_GroupOpInterface>],
    /*isView=*/true> {
  let summary = "This rank's block of a replicated value";
  let description = [{
    Splits the operand along `slice_axis` into equal blocks and selects the block
    at this rank's position in the group. No communication.

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

def TP_RankSelectOp : TP_TensorOp<"rank_select",
    [TP_InferredTypes, DeclareOpInterfaceMethods<TP_GroupOpInterface>],
    /*isView=*/true> {
  let summary = "Selection of one operand by this rank's position in a group";
  let description = [{
    Selects the operand at this rank's position in the group. No communication.
    The op stands for a difference between the programs of the ranks: the graph
    of rank r uses operand r, usually a constant, in its place.

    ```mlir
    %first = tp.constant 0 : i64 -> tensor<i64>
    %second = tp.constant 128 : i64 -> tensor<i64>
    %r = tp.rank_select %first, %second group <"0", [0, 1]>
      : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values, TP_GroupAttr:$group);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $values `group` $group attr-dict `:` functional-type($values, $result)
  }];
  let extraClassDeclaration = [{
    /// Returns the operand that `rank` selects, or null if it is not a member.
    ::mlir::Value getValueOfRank(int64_t rank);
    bool isLinearIn(::llvm::ArrayRef<bool> operands) {
      return ::llvm::all_of(operands, [](bool isSummand) { return isSummand; });
    }
  }];
}

def TP_WaitOp : TP_TensorOp<"wait", [
    TP_InferredTypes, DeclareOpInterfaceMethods<TP_ReindexOpInterface>,
    DeclareOpInterfaceMethods<TP_CompletionOpInterface>], /*isView=*/true> {
  let summary = "Completion of an asynchronous collective";
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

def TP_AllGatherMatmulOp : TP_CollectiveOp<"all_gather_matmul",
    [AttrSizedOperandSegments]> {
  let summary = "All-gather of one operand, pipelined with its matrix products";
  let description = [{
    With `A = all_gather(shard, gather_axis)`, the op returns one result
    `A @ rhs_i (+ bias_i)` for each right-hand side. With `returns_gathered`, the
    first result is A itself. Right-hand sides are [K, N]. `shard_scale` and
    `rhs_scales` are as in `tp.matmul`. A scale with one element for each row of
    the shard is gathered with the shard.

    ```mlir
    %r:2 = tp.all_gather_matmul %x, rhs(%b0, %b1) gather_axis 0 group <"0", [0, 1]>
      : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$shard, Variadic<AnyRankedTensor>:$rhs,
                       Variadic<AnyRankedTensor>:$biases,
                       Optional<AnyRankedTensor>:$shard_scale,
                       Variadic<AnyRankedTensor>:$rhs_scales,
                       I64Attr:$gather_axis, TP_GroupAttr:$group,
                       UnitAttr:$returns_gathered);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    $shard `,` `rhs` `(` $rhs `)` (`biases` `(` $biases^ `)`)?
    (`shard_scale` $shard_scale^)? (`rhs_scales` `(` $rhs_scales^ `)`)?
    `gather_axis` $gather_axis `group` $group
    (`returns_gathered` $returns_gathered^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let builders = [
    // With the element types of the products.
    OpBuilder<(ins "::mlir::Value":$shard, "::mlir::ValueRange":$rhs,
                   "::mlir::ValueRange":$biases, "::mlir::Value":$shardScale,
                   "::mlir::ValueRange":$rhsScales, "uint64_t":$gatherAxis,
                   "GroupAttr":$group, "bool":$returnsGathered,
                   "::mlir::TypeRange":$elementTypes), [{
      build($_builder, $_state, shard, rhs, biases, shardScale, rhsScales,
            gatherAxis, group, returnsGathered);
      stateElementTypes($_state, elementTypes);
    }]>];
  let extraClassDeclaration = [{
    std::optional<int64_t> getCollectiveAxis() { return getGatherAxis(); }
  }];
}

def TP_MatmulReduceScatterOp : TP_CollectiveOp<"matmul_reduce_scatter",
    [AttrSizedOperandSegments]> {
  let summary = "Matrix product, pipelined with the reduce-scatter of its result";
  let description = [{
    `reduce_scatter(lhs @ rhs (+ bias), scatter_axis)`, where `rhs` is [K, N].
    Scales are as in `tp.matmul`.

    ```mlir
    %r = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]>
      : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    ```
  }];
  let arguments = (ins TP_ReductionKindAttr:$reduction, AnyRankedTensor:$lhs,
                       AnyRankedTensor:$rhs, Optional<AnyRankedTensor>:$bias,
                       Optional<AnyRankedTensor>:$lhs_scale,
                       Optional<AnyRankedTensor>:$rhs_scale,
                       I64Attr:$scatter_axis, TP_GroupAttr:$group);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    `` $reduction $lhs `,` $rhs (`bias` $bias^)? (`lhs_scale` $lhs_scale^)?
    (`rhs_scale` $rhs_scale^)? `scatter_axis` $scatter_axis `group` $group
    attr-dict `:` functional-type(operands, results)
  }];
  let builders = [
    OpBuilder<(ins "ReductionKind":$reduction, "::mlir::Value":$lhs,
                   "::mlir::Value":$rhs, "::mlir::Value":$bias,
                   "::mlir::Value":$lhsScale, "::mlir::Value":$rhsScale,
                   "uint64_t":$scatterAxis, "GroupAttr":$group,
                   "::mlir::Type":$elementType), [{
      build($_builder, $_state, reduction, lhs, rhs, bias, lhsScale, rhsScale,
            scatterAxis, group);
      stateElementTypes($_state, elementType);
    }]>];
  let extraClassDeclaration = [{
    std::optional<int64_t> getCollectiveAxis() { return getScatterAxis(); }
    std::string getCollectiveText() {
      return ::commute::tp::getCollectiveText(*this, getReduction(),
                                              getCollectiveAxis());
    }
  }];
}

#endif // COMMUTE_DIALECT_TPCOLLECTIVEOPS
