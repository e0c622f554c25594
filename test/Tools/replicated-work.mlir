// What all ranks compute alike is counted, and explains why a program stays as it is.
// RUN: split-file %s %t
// RUN: commute opt %t/most.mlir -o %t/out.mlir | FileCheck %s --check-prefix=MOST
// RUN: commute show %t/most.mlir | FileCheck %s --check-prefix=SHOW
// RUN: commute show %t/most.mlir --json | FileCheck %s --check-prefix=JSON
// RUN: commute estimate %t/most.mlir | FileCheck %s --check-prefix=ESTIMATE
// RUN: commute opt %t/sharded.mlir -o %t/out.mlir | FileCheck %s --check-prefix=SHARDED
// RUN: commute estimate %t/sharded.mlir | FileCheck %s --check-prefix=NONE
// RUN: commute opt %t/alone.mlir -o %t/out.mlir | FileCheck %s --check-prefix=ALONE

// MOST: .mlir: the graph is unchanged, 4 ops
// MOST-NEXT: 2 of 3 ops ({{.*}} of {{.*}} ms) compute the same on all 2 ranks
// MOST-NEXT: 1 rewrite was refused for the reasons above; what each would gain: commute explain {{.*}}most.mlir --refused
// SHOW: work of the ranks:
// SHOW-NEXT: 2 of 3 ops ({{.*}} of {{.*}} ms) compute the same on all 2 ranks on the default target
// JSON: "replicated": {
// JSON-NEXT: "ops": 3
// JSON-NEXT: "ranks": 2
// JSON-NEXT: "replicated_ops": 2
// ESTIMATE: replicated 2 of 3 ops

// Nothing is replicated: the placement of x is not stated.
// SHARDED: .mlir: the graph is unchanged, 3 ops
// SHARDED-NOT: compute the same
// NONE-NOT: compute the same

// ALONE: .mlir: the graph is unchanged, 1 ops
// ALONE-NEXT: the program has no collectives

//--- most.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<64x512xf32> {tp.name = "x", tp.placements = {"0" = #tp.placement<replicated>}}, %w: tensor<512x512xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<replicated>}}, %head: tensor<512x8xf32> {tp.name = "head", tp.placements = {"0" = #tp.placement<shard(1)>}}) -> tensor<128x8xf32> {
    %0 = tp.matmul %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %1 = tp.matmul %0, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %2 = tp.matmul %1, %head : (tensor<64x512xf32>, tensor<512x8xf32>) -> tensor<64x8xf32>
    %3 = tp.all_gather %2 gather_axis 0 group <"0", [0, 1]> : tensor<64x8xf32> -> tensor<128x8xf32>
    return %3 : tensor<128x8xf32>
  }
}

//--- sharded.mlir
module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
  func.func @main(%x: tensor<64x512xf32> {tp.name = "x"}, %w: tensor<512x512xf32> {tp.name = "w", tp.placements = {"0" = #tp.placement<replicated>}}) -> tensor<64x512xf32> {
    %0 = tp.matmul %x, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %1 = tp.matmul %0, %w : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
    %2 = tp.all_reduce sum %1 group <"0", [0, 1]> : tensor<64x512xf32> -> tensor<64x512xf32>
    return %2 : tensor<64x512xf32>
  }
}

//--- alone.mlir
module {
  func.func @main(%x: tensor<64x512xf32> {tp.name = "x"}) -> tensor<64x512xf32> {
    %0 = tp.map tanh(%x) : (tensor<64x512xf32>) -> tensor<64x512xf32>
    return %0 : tensor<64x512xf32>
  }
}
