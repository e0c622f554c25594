//===- Passes.td - Commute's passes ------------------------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PASSES
#define COMMUTE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def ContiguousCollectives
    : Pass<"contiguous-collectives", "::mlir::func::FuncOp"> {
  let summary = "Gives collectives that need it a dense input";
  let description = [{
    Some of PyTorch's collectives need an input that is dense in row-major
    order: all-gather, reduce-scatter, all-to-all, and the in-place forms of
    all-reduce and broadcast. Depending on release and backend they refuse
    another one or compute wrong values in silence.

    For every such input the pass proves density by stride analysis, or inserts
    one `tp.copy`, directly in front of the first op that needs it, which all
    ops that need the same value share. No copy is made where density is proven,
    nor where a dense copy of the value exists already; a copy or cast that
    serves only such ops is made to write dense memory itself. Strides that
    depend on symbols or are not known get the copy.

    An in-place collective writes into its operand, so a copy would lose the
    result for everybody who reads the operand itself: where somebody does, the
    pass leaves it alone and says so.

    Before:

    ```mlir
    %t = tp.permute %x [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32, #tp.layout<strides = [1, 2]>>
    %g = tp.all_gather %t gather_axis 0 group <"0", [0, 1]>
      : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<4x4xf32>
    ```

    After:

    ```mlir
    %t = tp.permute %x [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32, #tp.layout<strides = [1, 2]>>
    %c = tp.copy %t : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xf32>
    %g = tp.all_gather %c gather_axis 0 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<4x4xf32>
    ```
  }];
  let options = [
    Option<"upstreamRule", "upstream-rule", "bool", "false",
           "Copy every input of an all-gather or reduce-scatter that is not "
           "itself a dense copy, one copy per collective and without looking "
           "at strides: AutoParallel's rule, for comparison">];
  let statistics = [
    Statistic<"numProven", "num-proven", "Inputs proven dense">,
    Statistic<"numCopies", "num-copies", "Copies inserted">,
    Statistic<"numShared", "num-shared",
              "Inputs that took a copy which was there">,
    Statistic<"numMadeDense", "num-made-dense",
              "Copies and casts made to write dense memory">,
    Statistic<"numRefused", "num-refused",
              "In-place collectives left alone">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def NormalizeCollectives
    : Pass<"normalize-collectives", "::mlir::func::FuncOp"> {
  let summary = "Finds collectives along any dim in their spelling along dim 0";
  let description = [{
    PyTorch's collectives act on dim 0. One along another dim is spelled by the
    rearrangement of its blocks: `split`, `slice` or `narrow` with `cat`, views
    with `permute`, a view alone where the dims in front have size 1. The pass
    computes what the ops around a collective do to every element (index maps,
    see `IndexMap.h`) and makes it one op along the dim that it really is about,
    whatever its spelling.

    What is no collective along any dim is left alone, and a remark says what is
    in the way: shards in another order, taken twice or left out, slices that
    begin inside a shard, that are too few or too many, or that end early; a
    value in between that something else reads. A slice behind a gather stays a
    slice of it. Sizes may be symbolic, as long as positions can be proven.

    The original spelling is noted in the attribute `tp.spelling`, from which
    `lower-collectives` restores the very same ops where no pass has replaced the
    collective.

    A concatenation that only puts together again what was gathered is taken
    away.

    All_gathers over several axes of a mesh, one behind the other, are one
    all_gather where the blocks end up along one dim in the order of a group's
    members, and that group is known: some op has it, or the sidecar or `--group`
    states it. Likewise reduce_scatters with one reduction. Where the group is
    not known, a remark says which members it would have, in which order. A
    value in between that something else reads keeps the two apart.

    Before:

    ```mlir
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<4x4xf32>
    %a = tp.slice %h dim 0 start 0 step 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    %b = tp.slice %h dim 0 start 2 step 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    %g = tp.concat %a, %b dim 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    ```

    After (without the note):

    ```mlir
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<2x8xf32>
    ```
  }];
  let options = [
    Option<"again", "again", "bool", "false",
           "The pass ran before: say only what it does, not what it refuses">];
  let statistics = [
    Statistic<"numGathers", "num-all-gathers",
              "All-gathers found along another dim">,
    Statistic<"numScatters", "num-reduce-scatters",
              "Reduce-scatters found along another dim">,
    Statistic<"numChains", "num-chains",
              "Chains over several groups that are one collective">,
    Statistic<"numIdentities", "num-identities",
              "Concatenations that changed nothing">,
    Statistic<"numRefused", "num-refused",
              "Collectives with reassembly left alone">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def SequenceParallel : Pass<"sequence-parallel", "::mlir::func::FuncOp"> {
  let summary = "Runs row-wise ops on shards between collectives";
  let description = [{
    An all_reduce is a reduce_scatter and an all_gather. Ops between the two that
    work row by row, on values that all ranks of the group have alike, may run
    on this rank's rows only: norms, residual additions, casts, quantization,
    and products with replicated weights.

    For every group, and every class of dims that its all_reduces lead to, the
    pass finds the ops that may run on shards (by dimension rules and placements,
    see `ShardRegions.h`) and chooses for each of them between shard and whole by
    an exact minimum cut: an op costs its time on all rows or on its share, an
    all_reduce on shards is a reduce_scatter, a value that is local where it is
    made and whole for a reader is gathered once, and a replicated value of which
    a shard is needed is cut once. Where several dims would do (batch or
    sequence), the one that saves most is taken. Existing all_gathers and
    rank_slices take part in the choice.

    A replicated value is cut by `tp.rank_slice` where the program is one rank's
    own (`--rank=R`, TensorCast); a program that all ranks share gets a
    reduce_scatter of equal values, by maximum, which is exact.

    A gather that only matrix products read, and a reduce_scatter of a product,
    cost what micro-pipeline, which comes next, leaves of them (`pipelined`).

    Nothing becomes local that is not legal: groups are compared by their
    members, only the outermost part of a merged dim is cut, sizes that the
    group's size does not divide are refused (or padded, with `pad`), and outputs
    of the function are whole.

    Before:

    ```mlir
    %s = tp.all_reduce sum %p group <"0", [0, 1]> : tensor<8x64xbf16> -> tensor<8x64xbf16>
    %n = tp.rms_norm %s weight %w epsilon 1.0e-05 dims 1
      : (tensor<8x64xbf16>, tensor<64xbf16>) -> tensor<8x64xbf16>
    ```

    After:

    ```mlir
    %s = tp.reduce_scatter sum %p scatter_axis 0 group <"0", [0, 1]>
      : tensor<8x64xbf16> -> tensor<4x64xbf16>
    %n = tp.rms_norm %s weight %w epsilon 1.0e-05 dims 1
      : (tensor<4x64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
    %g = tp.all_gather %n gather_axis 0 group <"0", [0, 1]> : tensor<4x64xbf16> -> tensor<8x64xbf16>
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"profitable\"",
           "profitable: where the price model says that it pays; always: every "
           "all_reduce that can be followed by work on shards">,
    Option<"targetName", "target", "std::string", "\"h100x8\"",
           "The machine to price for: a name of commute targets, or a file">,
    Option<"pad", "pad", "bool", "false",
           "Add rows where the group's size does not divide them">,
    Option<"pipelined", "pipelined", "bool", "true",
           "Price gathers and reduce_scatters beside matrix products as "
           "micro-pipeline will leave them">];
  let statistics = [
    Statistic<"numScatters", "num-reduce-scatters",
              "All-reduces that became reduce-scatters">,
    Statistic<"numLocalOps", "num-local-ops", "Ops that run on shards">,
    Statistic<"numGathers", "num-all-gathers", "All-gathers inserted">,
    Statistic<"numSlices", "num-slices", "Replicated values cut">,
    Statistic<"numRefused", "num-refused", "All-reduces left alone">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def MicroPipeline : Pass<"micro-pipeline", "::mlir::func::FuncOp"> {
  let summary = "Fuses collectives with the matrix products beside them";
  let description = [{
    An all_gather whose value is multiplied row by row needs only one rank's rows
    for that rank's part of the product, and one that is summed over adds one
    rank's part after the other; a product of which a reduce_scatter sums the
    blocks can be computed block by block. Fused, the transfer of one part hides
    behind the product of another.

    For every all_gather the pass finds all products that read it: on the left,
    or on the right (which computes the product transposed), through reshapes
    that regroup rows, with a bias (which is added afterwards), with one matrix
    for all batches, with scales (of one element, or one a row and gathered
    alike). They become one `tp.all_gather_matmul`; where others read the
    gathered value, the op gives it too. For every reduce_scatter it looks for
    the product it scatters, or the sum of products, with which it becomes a
    `tp.matmul_reduce_scatter`. A product between both goes with the one where
    that saves more.

    Where the gathered value is only read as its shards put together otherwise (in
    another order, in part, some twice), the rows of the product are put together
    like that; along the contraction the rows of the other operand are put in the
    order of the shards, each of which has to be there once. A reduce_scatter whose
    blocks go to the ranks in another order is fused with the product of columns,
    or rows, in that order.

    Nothing is fused where the right operand depends on the gathered value,
    where an op in between writes into memory, where a product or sum has other
    readers, where the reduction is not a sum or average, or where products scale
    the same value differently. Strides of all values stay as they are, by a copy
    where the fused op gives others; the order of collectives is the same on all
    ranks.

    Before:

    ```mlir
    %g = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x8xbf16> -> tensor<8x8xbf16>
    %q = tp.matmul %g, %a : (tensor<8x8xbf16>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    %k = tp.matmul %g, %b : (tensor<8x8xbf16>, tensor<8x32xbf16>) -> tensor<8x32xbf16>
    ```

    After:

    ```mlir
    %r:2 = tp.all_gather_matmul %x, rhs(%a, %b) gather_axis 0 group <"0", [0, 1]>
      : (tensor<4x8xbf16>, tensor<8x16xbf16>, tensor<8x32xbf16>) -> (tensor<8x16xbf16>, tensor<8x32xbf16>)
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"profitable\"",
           "profitable: where the price model says that it pays; always: "
           "wherever it is legal; upstream: by PyTorch Inductor's rule, which "
           "leaves contractions of less than 1024 elements a rank alone">,
    Option<"targetName", "target", "std::string", "\"h100x8\"",
           "The machine to price for: a name of commute targets, or a file">,
    Option<"margin", "margin", "double", "0.05",
           "By how much, as a part of its own time, a fused op has to be faster "
           "for policy=profitable">];
  let statistics = [
    Statistic<"numGathers", "num-gathers", "All-gathers fused with products">,
    Statistic<"numScatters", "num-scatters",
              "Reduce-scatters fused with products">,
    Statistic<"numProducts", "num-products", "Matrix products fused">,
    Statistic<"numRefused", "num-refused",
              "Reasons why a collective stays apart">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def SplitLinear : Pass<"split-linear", "::mlir::func::FuncOp"> {
  let summary = "Multiplies the parts of concatenations, and only what is read";
  let description = [{
    A matrix product can be computed in segments of any of its dims: along the
    contraction their products are added, along rows, columns and batches they
    lie side by side. The pass uses that where operands are concatenations,
    where only slices of a result are read, and where results are concatenated:

    ```
    cat_k(a_0, a_1) @ b    =  a_0 @ b_0 + a_1 @ b_1
    cat_m(a_0, a_1) @ b    =  cat_m(a_0 @ b, a_1 @ b)
    slice_n(a @ b)         =  a @ slice_n(b)
    cat_n(a @ b_0, a @ b_1) = a @ cat_n(b_0, b_1)
    gather_k(a) @ b        =  all_reduce(a @ rank_slice_k(b))
    ```

    The last is that of tensor parallelism: of parts that are gathered along the
    contraction each rank multiplies its own shard, and one all_reduce a group
    adds up what would have been gathered part by part. It needs the rank's block
    of the other operand: that operand is gathered too, or the program is one
    rank's own (`--rank=R`) and the operand the same on all ranks.

    Concatenations are found through ops that do the same at every place of the
    dim (views, casts, elementwise functions). A sum is accumulated: each product
    adds to the one before (`addmm`), the bias is added once. Parts of zeros are
    dropped, constant ones become part of the bias, parts that all rows share are
    multiplied once, and repeated parts once with the sum of their weights, where
    that pays.

    All products that read one concatenation (forward, and the gradient of the
    weight in a joint graph) are decided together: only if none of its readers is
    left is it saved. Nothing is rewritten where parts are promoted to another
    type, where an op in between writes into memory, where an operand would have
    to be cut at a symbolic position, and where products have scales.

    Sums in another order round differently; each remark says how. With
    `exact-rounding` only rewrites that keep every sum are made.

    Before:

    ```mlir
    %x = tp.concat %a, %b dim 1 : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<8x6xbf16>
    %y = tp.matmul %x, %w transpose_rhs bias %c
      : (tensor<8x6xbf16>, tensor<16x6xbf16>, tensor<16xbf16>) -> tensor<8x16xbf16>
    ```

    After:

    ```mlir
    %u = tp.slice %w dim 1 start 0 step 1
      : tensor<16x6xbf16> -> tensor<16x4xbf16, #tp.layout<strides = [6, 1]>>
    %v = tp.slice %w dim 1 start 4 step 1
      : tensor<16x6xbf16> -> tensor<16x2xbf16, #tp.layout<strides = [6, 1]>>
    %s = tp.matmul %a, %u transpose_rhs bias %c
      : (tensor<8x4xbf16>, tensor<16x4xbf16, #tp.layout<strides = [6, 1]>>, tensor<16xbf16>) -> tensor<8x16xbf16>
    %y = tp.matmul %b, %v transpose_rhs bias %s
      : (tensor<8x2xbf16>, tensor<16x2xbf16, #tp.layout<strides = [6, 1]>>, tensor<8x16xbf16>) -> tensor<8x16xbf16>
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"profitable\"",
           "profitable: where the price model says that it pays; always: "
           "wherever it is legal and multiplies less, joins less, or cuts fewer "
           "slices out of products; upstream: linears of concatenations by the "
           "rule proposed for PyTorch Inductor (2 or 3 parts, each at least 8 "
           "wide and all at most 384)">,
    Option<"targetName", "target", "std::string", "\"h100x8\"",
           "The machine to price for: a name of commute targets, or a file">,
    Option<"margin", "margin", "double", "0.01",
           "By how much, as a part of its own time, a rewrite has to be faster "
           "for policy=profitable">,
    Option<"exactRounding", "exact-rounding", "bool", "false",
           "Leave alone what would make a sum in another order">];
  let statistics = [
    Statistic<"numRewritten", "num-rewritten",
              "Products and concatenations of products rewritten">,
    Statistic<"numProducts", "num-products", "Products that stand for them">,
    Statistic<"numRefused", "num-refused",
              "Products and concatenations left alone">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def LowerCollectives : Pass<"lower-collectives", "::mlir::func::FuncOp"> {
  let summary = "Spells collectives along any dim by those along dim 0";
  let description = [{
    PyTorch's collectives act on dim 0. One along another dim becomes one along
    dim 0 with the rearrangement that makes it the same: blocks are cut and
    joined (`chunk` and `cat`), or, for symbolic sizes, a dim for the ranks is
    moved. Where all dims in front have size 1, a view does. TensorCast's
    collectives, whose groups have no names, act on any dim and stay.

    A collective that `normalize-collectives` made, and that no pass replaced,
    gets its original ops back, in their places.

    Before:

    ```mlir
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<2x8xf32>
    ```

    After:

    ```mlir
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<4x4xf32>
    %a = tp.slice %h dim 0 start 0 step 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    %b = tp.slice %h dim 0 start 2 step 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    %g = tp.concat %a, %b dim 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numLowered", "num-lowered", "Collectives moved to dim 0">,
    Statistic<"numRestored", "num-restored",
              "Collectives that got their original spelling back">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

#endif // COMMUTE_TRANSFORMS_PASSES
