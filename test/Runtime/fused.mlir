// RUN: commute run %s --print-elements | FileCheck %s

// What is fused and what it is made of, on every rank.
#world = #tp.group<"0", [1, 0]>
module attributes {tp.groups = [#world]} {
  func.func @main() -> (tensor<2x2xi1>, tensor<2x1xi1>, tensor<2x2xi1>, tensor<1x2xi1>) {
    %numbers = tp.iota 1 : i64 step 1 : i64 -> tensor<4xf32>
    %matrix = tp.reshape %numbers : tensor<4xf32> -> tensor<2x2xf32>
    %shard = tp.rank_slice %matrix slice_axis 0 group #world : tensor<2x2xf32> -> tensor<1x2xf32>
    %a = tp.constant 3.0 : f32 -> tensor<2x2xf32>
    %b = tp.constant 5.0 : f32 -> tensor<2x1xf32>
    %bias = tp.iota 7 : i64 step 1 : i64 -> tensor<2xf32>

    %gathered = tp.all_gather %shard gather_axis 0 group #world : tensor<1x2xf32> -> tensor<2x2xf32>
    %first = tp.matmul %gathered, %a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %second = tp.matmul %gathered, %b : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
    %fused:3 = tp.all_gather_matmul %shard, rhs(%a, %b) gather_axis 0 group #world returns_gathered
      : (tensor<1x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>)
      -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>)
    %same0 = tp.map equal(%fused#1, %first) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>
    %same1 = tp.map equal(%fused#2, %second) : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xi1>
    %same2 = tp.map equal(%fused#0, %matrix) : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1>

    %product = tp.matmul %first, %a bias %bias
      : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
    %scattered = tp.reduce_scatter sum %product scatter_axis 0 group #world
      : tensor<2x2xf32> -> tensor<1x2xf32>
    %fusedToo = tp.matmul_reduce_scatter sum %first, %a bias %bias scatter_axis 0 group #world
      : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    %same3 = tp.map equal(%scattered, %fusedToo)
      : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xi1>
    return %same0, %same1, %same2, %same3
      : tensor<2x2xi1>, tensor<2x1xi1>, tensor<2x2xi1>, tensor<1x2xi1>
  }
}

// CHECK:      rank0.output0 BOOL [2, 2]: 1 1 1 1{{$}}
// CHECK-NEXT: rank0.output1 BOOL [2, 1]: 1 1{{$}}
// CHECK-NEXT: rank0.output2 BOOL [2, 2]: 1 1 1 1{{$}}
// CHECK-NEXT: rank0.output3 BOOL [1, 2]: 1 1{{$}}
// CHECK-NEXT: rank1.output0 BOOL [2, 2]: 1 1 1 1{{$}}
// CHECK-NEXT: rank1.output1 BOOL [2, 1]: 1 1{{$}}
// CHECK-NEXT: rank1.output2 BOOL [2, 2]: 1 1 1 1{{$}}
// CHECK-NEXT: rank1.output3 BOOL [1, 2]: 1 1{{$}}
