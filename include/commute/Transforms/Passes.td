//===- Passes.td - Commute's passes ------------------------*- tablegen -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PASSES
#define COMMUTE_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

/// A pass that registers laws (LawPass.h).
class LawPass<string passArg> : PassBase<passArg, "::commute::LawPass">;

/// Which legal rewrites are made; some passes also have an upstream rule.
class PolicyOption<string desc, bit hasUpstream>
    : Option<"policy", "policy", "::commute::Policy",
             "::commute::Policy::Profitable", desc,
             "::llvm::cl::values("
             "clEnumValN(::commute::Policy::Profitable, \"profitable\", \"\"), "
             "clEnumValN(::commute::Policy::Always, \"always\", \"\")" #
             !if(hasUpstream, ", clEnumValN(::commute::Policy::Upstream, "
                              "\"upstream\", \"\")", "") # ")">;

def ContiguousCollectives : LawPass<"contiguous-collectives"> {
  let summary = "Make the inputs of collectives dense";
  let description = [{
    Some of PyTorch's collectives need an input that is dense in row-major
    order: all-gather, reduce-scatter, all-to-all, and the in-place forms of
    all-reduce and broadcast. Depending on the release and the backend, they
    reject any other input or silently compute wrong values.

    For every such input, the pass proves by stride analysis that it is dense,
    or inserts one `tp.copy` directly before the first op that needs it. All ops
    that need the same value share the copy. No copy is inserted if the input is
    proven dense or a dense copy of it already exists. A copy or cast used only
    by such ops is changed to write dense memory itself. Inputs whose strides
    are unknown or depend on symbols are copied.

    An in-place collective writes into its operand. With a copy, other users of
    the operand would not see the result, so the pass leaves an operand with
    other users alone and emits a remark.

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
           "itself a dense copy, once per collective and without checking "
           "strides: AutoParallel's rule, for comparison">];
  let statistics = [
    Statistic<"numProven", "num-proven", "Inputs proven dense">,
    Statistic<"numCopies", "num-copies", "Copies inserted">,
    Statistic<"numShared", "num-shared",
              "Inputs that reuse an existing dense copy">,
    Statistic<"numMadeDense", "num-made-dense",
              "Copies and casts changed to write dense memory">,
    Statistic<"numRefused", "num-refused",
              "In-place collectives not made dense">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def NormalizeCollectives : LawPass<"normalize-collectives"> {
  let summary = "Recognize collectives along any dim";
  let description = [{
    PyTorch's collectives act on dim 0. A collective along another dim is
    written as one along dim 0 plus a rearrangement of its blocks: `split`,
    `slice` or `narrow` with `cat`, views with `permute`, or a view alone if all
    dims before it have size 1. The pass computes how the ops around a
    collective move every element (index maps, see `IndexMap.h`) and replaces
    them with a single collective along the actual dim, whatever the spelling.

    If the ops do not amount to a collective along any dim, they are left alone
    and a remark gives the reason: shards that are reordered, duplicated or
    dropped; slices that begin inside a shard, end early, or are too few or too
    many; an intermediate value with other users. A slice after a gather remains
    a slice of it. Sizes may be symbolic as long as positions can be proven.

    The original spelling is recorded in the attribute `tp.spelling`. If no
    later pass replaces the collective, `lower-collectives` restores exactly
    these ops.

    A concatenation that merely reassembles a gathered tensor in its original
    order is removed.

    Consecutive all_gathers over several mesh axes are merged into one
    all_gather if the blocks end up along one dim in the order of a group's
    members, and the group is known from an op, the sidecar or `--group`.
    Consecutive reduce_scatters with the same reduction are merged likewise. If
    the group is not known, a remark states its members in order. Collectives
    are not merged if an intermediate value has other users.

    A collective of the same value as the collective before it is removed, and
    its readers read the result of that one: DTensor gathers the input of a
    layer once for each product that reads it. If another collective comes
    between, the program may want to free the memory of the first result, and
    nothing is removed. Nor is it if both results are returned, or views of them:
    callers may write into one of them. The same holds for concatenations that
    merely reassemble a tensor.

    An op that computes a function of one value, and whose operand is computed
    from the result of a collective, is removed in the same way if an earlier
    op computes the same: autocast converts a gathered value once for each
    product that reads it. A gather of the one conversion sends fewer bytes,
    and can be fused. Collectives repeat each other as well if their operands
    are equal functions of one value.

    Before:

    ```mlir
    %h = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<4x4xf32>
    %a = tp.slice %h dim 0 start 0 step 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    %b = tp.slice %h dim 0 start 2 step 1 : tensor<4x4xf32> -> tensor<2x4xf32>
    %g = tp.concat %a, %b dim 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
    ```

    After (`tp.spelling` omitted):

    ```mlir
    %g = tp.all_gather %x gather_axis 1 group <"0", [0, 1]> : tensor<2x4xf32> -> tensor<2x8xf32>
    ```
  }];
  let options = [
    Option<"again", "again", "bool", "false",
           "The pass has already run: report rewrites but not refusals">];
  let statistics = [
    Statistic<"numGathers", "num-all-gathers",
              "All-gathers recognized along another dim">,
    Statistic<"numScatters", "num-reduce-scatters",
              "Reduce-scatters recognized along another dim">,
    Statistic<"numChains", "num-chains",
              "Chains over several groups merged into one collective">,
    Statistic<"numIdentities", "num-identities",
              "Concatenations removed as identities">,
    Statistic<"numRepetitions", "num-repetitions",
              "Collectives and functions removed because they "
              "repeat others">,
    Statistic<"numRefused", "num-refused",
              "Collectives with a reassembly that was not recognized">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def SequenceParallel : LawPass<"sequence-parallel"> {
  let summary = "Run row-wise ops on shards between collectives";
  let description = [{
    An all_reduce is equivalent to a reduce_scatter followed by an all_gather.
    Ops between the two that work row by row on values replicated across the
    group can run on each rank's rows only: norms, residual additions, casts,
    quantization, and products with replicated weights.

    For every group, and every class of dims reachable from its all_reduces, the
    pass finds the ops that can run on shards (by dimension rules and
    placements, see `ShardRegions.h`). An exact minimum cut decides for each op
    whether it runs on the shard or on the whole value. An op costs its time on
    all rows or on its share of them; an all_reduce on shards costs a
    reduce_scatter; a value computed on shards but used whole is gathered once;
    and a replicated value that is needed as a shard is sliced once. If several
    dims qualify (batch or sequence), the pass takes the one that saves the most
    time. Existing all_gathers and rank_slices are part of the choice.

    An op that reduces the rows, such as the gradient of a norm's weight, may
    run on shards as well: an all_reduce of its small result completes the
    reduction, and the rows need not be gathered for it.

    A replicated value is sliced by `tp.rank_slice` in a program compiled for
    one rank (`--rank=R`, TensorCast). In a program shared by all ranks, it is
    sharded by a reduce_scatter(max) of equal values, which is exact.

    An all_gather used only by matrix products, and a reduce_scatter of a
    product, are priced at the time that remains exposed after micro-pipeline,
    the next pass (`pipelined`).

    The rewrite preserves semantics: groups are compared by their members, only
    the outermost part of a merged dim is sharded, sizes not divisible by the
    group size are refused (or padded, with `pad`), and function outputs are not
    sharded.

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
    PolicyOption<"profitable: if the price model predicts a gain; always: "
                 "every all_reduce that can be followed by work on shards",
                 /*hasUpstream=*/false>,
    Option<"targetName", "target", "std::string", "\"h100x8\"",
           "The machine to price for: a name listed by `commute targets`, "
           "or a file">,
    Option<"pad", "pad", "bool", "false",
           "Pad the rows if their number is not divisible by the group size">,
    Option<"pipelined", "pipelined", "bool", "true",
           "Price all_gathers and reduce_scatters next to matrix products "
           "as if micro-pipeline had fused them">,
    Option<"exactRounding", "exact-rounding", "bool", "false",
           "Do not compute sums over rows as sums of the ranks' parts">];
  let statistics = [
    Statistic<"numScatters", "num-reduce-scatters",
              "All-reduces replaced by reduce-scatters">,
    Statistic<"numLocalOps", "num-local-ops", "Ops that run on shards">,
    Statistic<"numGathers", "num-all-gathers", "All-gathers inserted">,
    Statistic<"numSlices", "num-slices", "Replicated values sliced">,
    Statistic<"numReductions", "num-reductions",
              "Reductions of rows completed by an all-reduce">,
    Statistic<"numRefused", "num-refused", "All-reduces not replaced">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def MicroPipeline : LawPass<"micro-pipeline"> {
  let summary = "Fuse collectives with adjacent matrix products";
  let description = [{
    A product of a gathered tensor can start as soon as the first shard arrives:
    if rows are gathered, each shard yields its own rows of the product; if the
    contraction dimension is gathered, each shard contributes one summand. A
    product that is reduce-scattered can likewise be computed block by block. In
    the fused op, the transfer of one shard overlaps with the product of
    another.

    For every all_gather, the pass finds all products that use it: as the left
    operand, or as the right operand (the product is then computed transposed);
    through reshapes that regroup rows; with a bias, which is added afterwards;
    with one matrix for all batches; and with scales, either one element or one
    per row, gathered in the same way. These products become one
    `tp.all_gather_matmul`, which also returns the gathered value if it has
    other users. For every reduce_scatter, the pass finds the product or sum of
    products that it scatters and forms a `tp.matmul_reduce_scatter`. A product
    that could be fused with either collective is fused with the one where it
    saves more.

    If the gathered value is used only as a rearrangement of its shards
    (reordered, partial or repeated), the rows of the product are rearranged
    instead. Along the contraction dimension, the rows of the other operand are
    reordered to match the shards, each of which must occur exactly once. If a
    reduce_scatter assigns blocks to ranks in a different order, the columns or
    rows of the product's operand are reordered to match.

    A collective is not fused if the right operand depends on the gathered
    value, an op in between writes into memory, a product or sum has other
    users, the reduction is not a sum or average, or products scale the same
    value differently. The strides of all values are preserved, if necessary by
    a copy of the fused op's result, and the order of collectives is the same on
    all ranks.

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
    PolicyOption<"profitable: if the price model predicts a gain; always: "
                 "wherever it is legal; upstream: PyTorch Inductor's rule, "
                 "which does not fuse contractions of fewer than 1024 elements "
                 "per rank",
                 /*hasUpstream=*/true>,
    Option<"targetName", "target", "std::string", "\"h100x8\"",
           "The machine to price for: a name listed by `commute targets`, "
           "or a file">,
    Option<"margin", "margin", "double", "0.05",
           "Minimum gain of a fusion for policy=profitable, as a fraction "
           "of the fused time">];
  let statistics = [
    Statistic<"numGathers", "num-gathers", "All-gathers fused with products">,
    Statistic<"numScatters", "num-scatters",
              "Reduce-scatters fused with products">,
    Statistic<"numProducts", "num-products", "Matrix products fused">,
    Statistic<"numRefused", "num-refused",
              "Reasons why collectives were not fused">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def SplitLinear : LawPass<"split-linear"> {
  let summary = "Split matrix products along concatenations and slices";
  let description = [{
    A matrix product can be computed in segments along any of its dims: segments
    of the contraction dimension are added, and segments of rows, columns or
    batches are concatenated. The pass applies this if operands are
    concatenations, only slices of a result are used, or results are
    concatenated:

    ```
    cat_k(a_0, a_1) @ b    =  a_0 @ b_0 + a_1 @ b_1
    cat_m(a_0, a_1) @ b    =  cat_m(a_0 @ b, a_1 @ b)
    slice_n(a @ b)         =  a @ slice_n(b)
    cat_n(a @ b_0, a @ b_1) = a @ cat_n(b_0, b_1)
    gather_k(a) @ b        =  all_reduce(a @ rank_slice_k(b))
    ```

    The last rewrite is tensor parallelism: if parts are gathered along the
    contraction dimension, each rank multiplies its own shard, and one
    all_reduce per group replaces the gathers of all its parts. It needs each
    rank's block of the other operand: either that operand is gathered too, or
    the program is compiled for one rank (`--rank=R`) and the operand is
    replicated.

    Concatenations are found through ops that act uniformly along the dim
    (views, casts, elementwise functions). Sums are accumulated: each product
    adds to the previous one (`addmm`), and the bias is added once. Parts of
    zeros are dropped. If it is profitable, constant parts are folded into the
    bias, parts shared by all rows are multiplied once, and repeated parts are
    multiplied once with the sum of their weights.

    All products that use the same concatenation (the forward product and, in a
    joint graph, the weight gradient) are decided together, because the
    concatenation is removed only if no user is left. A product is not rewritten
    if its parts are promoted to another type, an op in between writes into
    memory, an operand would have to be sliced at a symbolic position, or it has
    scales.

    Reordered sums round differently; each remark states how. With
    `exact-rounding`, only rewrites that preserve every sum are applied.

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
    PolicyOption<"profitable: if the price model predicts a gain; always: "
                 "wherever it is legal and reduces multiplications, "
                 "concatenations or slices of products; upstream: the rule "
                 "proposed for PyTorch Inductor, which splits linears of "
                 "concatenations of a few wide parts",
                 /*hasUpstream=*/true>,
    Option<"targetName", "target", "std::string", "\"h100x8\"",
           "The machine to price for: a name listed by `commute targets`, "
           "or a file">,
    Option<"margin", "margin", "double", "0.01",
           "Minimum gain of a rewrite for policy=profitable, as a fraction "
           "of the rewritten time">,
    Option<"exactRounding", "exact-rounding", "bool", "false",
           "Apply only rewrites that do not reorder a sum">,
    Option<"keepsCollectives", "keep-collectives", "bool", "false",
           "Leave alone parts of one gathered value, and results whose parts "
           "go to one reduce_scatter: later passes may fuse the collective "
           "with the product">,
    Option<"upstreamMaxParts", "max-parts", "unsigned", "3",
           "The largest number of parts for policy=upstream; the smallest is 2">,
    Option<"upstreamMinPartWidth", "min-part-width", "int64_t", "8",
           "The smallest width of a part for policy=upstream">,
    Option<"upstreamMaxWidth", "max-width", "int64_t", "384",
           "The largest total width for policy=upstream">];
  let statistics = [
    Statistic<"numRewritten", "num-rewritten",
              "Products and concatenations of products rewritten">,
    Statistic<"numProducts", "num-products", "Products that replace them">,
    Statistic<"numRefused", "num-refused",
              "Products and concatenations not rewritten">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

def LowerCollectives
    : PassBase<"lower-collectives", "::commute::PipelinePass"> {
  let summary = "Lower collectives along any dim to collectives along dim 0";
  let description = [{
    PyTorch's collectives act on dim 0. A collective along another dim is
    lowered to one along dim 0 and a rearrangement of its blocks: the blocks are
    split and concatenated (`chunk` and `cat`) or, for symbolic sizes, a
    separate rank dim is permuted. If all dims before it have size 1, a view
    suffices. TensorCast's collectives, whose groups have no names, act on any
    dim and are not lowered.

    A collective that `normalize-collectives` created, and that no other pass
    replaced, is expanded to its original ops in their original positions.

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
    Statistic<"numLowered", "num-lowered", "Collectives lowered to dim 0">,
    Statistic<"numRestored", "num-restored",
              "Collectives restored to their original ops">];
  let dependentDialects = ["::commute::tp::TPDialect"];
}

#endif // COMMUTE_TRANSFORMS_PASSES
