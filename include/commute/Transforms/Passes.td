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

#endif // COMMUTE_TRANSFORMS_PASSES
