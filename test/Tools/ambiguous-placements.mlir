// A view that splits the columns of one head off leaves a dim with one index on each rank. The
// blocks are shards along this dim as well, so a mean over the columns is no summand. Where a
// rank has two heads, the columns of both are its shard, and nothing is ambiguous.
// RUN: split-file %s %t
// RUN: commute show %t/one-head.mlir | FileCheck %s --check-prefix=ONE
// RUN: commute verify %t/one-head.mlir %t/one-head.mlir | FileCheck %s --check-prefix=ONE
// RUN: commute show %t/columns.mlir | FileCheck %s --check-prefix=COLUMNS

// ONE-NOT: placements that conflict
// COLUMNS: placements that conflict
// COLUMNS-NEXT: rsqrt (model.py:4) and 1 alike: uses a value that is partial on group '0'

//--- one-head.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x128xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<shard(1)>}}) -> tensor<4x1xf32> {
    %0 = tp.reshape %x : tensor<4x128xf32> -> tensor<4x1x128xf32>
    %1 = tp.map mul(%0, %0) : (tensor<4x1x128xf32>, tensor<4x1x128xf32>) -> tensor<4x1x128xf32>
    %2 = tp.reduce sum %1 dims [2] : tensor<4x1x128xf32> -> tensor<4x1xf32>
    %3 = tp.map rsqrt(%2) : (tensor<4x1xf32>) -> tensor<4x1xf32> loc("rsqrt"("model.py":4:0))
    %4 = tp.all_reduce sum %3 group <"0", [0, 1]> : tensor<4x1xf32> -> tensor<4x1xf32>
    return %4 : tensor<4x1xf32>
  }
}

//--- columns.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<4x128xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<shard(1)>}}) -> (tensor<4xf32>, tensor<4xf32>) {
    %1 = tp.map mul(%x, %x) : (tensor<4x128xf32>, tensor<4x128xf32>) -> tensor<4x128xf32>
    %2 = tp.reduce sum %1 dims [1] : tensor<4x128xf32> -> tensor<4xf32>
    %3 = tp.map rsqrt(%2) : (tensor<4xf32>) -> tensor<4xf32> loc("rsqrt"("model.py":4:0))
    %4 = tp.map rsqrt(%2) : (tensor<4xf32>) -> tensor<4xf32> loc("rsqrt_1"("model.py":4:0))
    %5 = tp.all_reduce sum %3 group <"0", [0, 1]> : tensor<4xf32> -> tensor<4xf32>
    return %5, %4 : tensor<4xf32>, tensor<4xf32>
  }
}
