// RUN: commute run %s --print-elements | FileCheck %s

// Products of groups of rows, and uninitialized memory.
func.func @main() -> (tensor<4x1xf32>, tensor<4x1xf32>, tensor<2x1x1xf32>, tensor<2xf32>, tensor<1xi8>) {
  %i = tp.iota 1 : i64 step 1 : i64 -> tensor<4xf32>
  %x = tp.reshape %i : tensor<4xf32> -> tensor<4x1xf32>
  %f = tp.iota 10 : i64 step 90 : i64 -> tensor<2xf32>
  %w = tp.reshape %f : tensor<2xf32> -> tensor<2x1x1xf32>
  // A row of no group is zero, or that of the rest.
  // CHECK: output0 F32 [4, 1]: 10 200 300 0{{$}}
  %ends = tp.iota 1 : i64 step 2 : i64 -> tensor<2xi32>
  %0 = tp.grouped_matmul %x, %w offsets %ends : (tensor<4x1xf32>, tensor<2x1x1xf32>, tensor<2xi32>) -> tensor<4x1xf32>
  // CHECK: output1 F32 [4, 1]: 10 200 300 7{{$}}
  %seven = tp.constant 7.0 : f64 -> tensor<4x1xf32>
  %1 = tp.grouped_matmul %x, %w offsets %ends rest %seven : (tensor<4x1xf32>, tensor<2x1x1xf32>, tensor<2xi32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  // The contraction dim is grouped; an empty group is zero.
  // CHECK: output2 F32 [2, 1, 1]: 0 14{{$}}
  %row = tp.reshape %i : tensor<4xf32> -> tensor<1x4xf32>
  %late = tp.iota 0 : i64 step 3 : i64 -> tensor<2xi64>
  %2 = tp.grouped_matmul %row, %x offsets %late : (tensor<1x4xf32>, tensor<4x1xf32>, tensor<2xi64>) -> tensor<2x1x1xf32>
  // CHECK: output3 F32 [2]: nan nan{{$}}
  %3 = tp.empty : tensor<2xf32>
  // CHECK: output4 I8 [1]: 127{{$}}
  %4 = tp.empty : tensor<1xi8>
  return %0, %1, %2, %3, %4 : tensor<4x1xf32>, tensor<4x1xf32>, tensor<2x1x1xf32>, tensor<2xf32>, tensor<1xi8>
}
