// Dims cut where no common unit counts are made small all the same: what lies
// before, in and after each piece keeps a size of its own. A wrong place is
// still seen.
// RUN: split-file %s %t
// RUN: commute verify %t/reduced.mlir %t/scattered.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/start 8190/start 8189/' %t/scattered.mlir > %t/other-token.mlir
// RUN: not commute verify %t/reduced.mlir %t/other-token.mlir | FileCheck %s --check-prefix=WRONG
// RUN: sed 's/start 17/start 18/' %t/scattered.mlir > %t/other-table.mlir
// RUN: not commute verify %t/reduced.mlir %t/other-table.mlir | FileCheck %s --check-prefix=WRONG
// RUN: sed 's/start 17/start 0/' %t/scattered.mlir > %t/first-table.mlir
// RUN: not commute verify %t/reduced.mlir %t/first-table.mlir | FileCheck %s --check-prefix=WRONG
// RUN: commute verify %t/cut.mlir %t/joined.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/concat %a, %b, %c/concat %a, %c, %b/; s/x1001x64xf32>, tensor<4x2000x64xf32>, tensor<4x5190x/x1001x64xf32>, tensor<4x5190x64xf32>, tensor<4x2000x/' %t/joined.mlir > %t/swapped.mlir
// RUN: not commute verify %t/cut.mlir %t/swapped.mlir | FileCheck %s --check-prefix=WRONG

// SAME: equivalent on
// WRONG: different: {{.*}}

// A table of which the rows in use are read, and the last token.
//--- reduced.mlir
!whole = tensor<2x8191x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !whole {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %table: tensor<10000x64xf32> {tp.name = "table", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<2x1x64xf32> {
    %0 = tp.all_reduce sum %x group <"0", [0, 1]> : !whole -> !whole
    %1 = tp.slice %table dim 0 start 17 step 1 : tensor<10000x64xf32> -> tensor<8191x64xf32>
    %2 = tp.map mul(%0, %1) : (!whole, tensor<8191x64xf32>) -> !whole
    %3 = tp.slice %2 dim 1 start 8190 step 1 : !whole -> tensor<2x1x64xf32>
    return %3 : tensor<2x1x64xf32>
  }
}

//--- scattered.mlir
!whole = tensor<2x8191x64xf32>
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: !whole {tp.name = "x", tp.placements = {"0" = #tp.placement<varying>}}, %table: tensor<10000x64xf32> {tp.name = "table", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<2x1x64xf32> {
    %0 = tp.reduce_scatter sum %x scatter_axis 0 group <"0", [0, 1]> : !whole -> tensor<1x8191x64xf32>
    %1 = tp.slice %table dim 0 start 17 step 1 : tensor<10000x64xf32> -> tensor<8191x64xf32>
    %2 = tp.map mul(%0, %1) : (tensor<1x8191x64xf32>, tensor<8191x64xf32>) -> tensor<1x8191x64xf32>
    %3 = tp.slice %2 dim 1 start 8190 step 1 : tensor<1x8191x64xf32> -> tensor<1x1x64xf32>
    %4 = tp.all_gather %3 gather_axis 0 group <"0", [0, 1]> : tensor<1x1x64xf32> -> tensor<2x1x64xf32>
    return %4 : tensor<2x1x64xf32>
  }
}

// Pieces that are joined again.
//--- cut.mlir
!whole = tensor<4x8191x64xf32>
func.func @main(%x: !whole {tp.name = "x"}) -> !whole {
  %0 = tp.map silu(%x) : (!whole) -> !whole
  return %0 : !whole
}

//--- joined.mlir
!whole = tensor<4x8191x64xf32>
func.func @main(%x: !whole {tp.name = "x"}) -> !whole {
  %a = tp.slice %x dim 1 start 0 step 1 : !whole -> tensor<4x1001x64xf32>
  %b = tp.slice %x dim 1 start 1001 step 1 : !whole -> tensor<4x2000x64xf32>
  %c = tp.slice %x dim 1 start 3001 step 1 : !whole -> tensor<4x5190x64xf32>
  %0 = tp.concat %a, %b, %c dim 1 : (tensor<4x1001x64xf32>, tensor<4x2000x64xf32>, tensor<4x5190x64xf32>) -> !whole
  %1 = tp.map silu(%0) : (!whole) -> !whole
  return %1 : !whole
}
