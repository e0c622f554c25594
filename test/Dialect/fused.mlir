// Text, generic and bytecode forms of collectives fused with matrix products.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @all_gather_matmul(
func.func @all_gather_matmul(%arg0: tensor<4x8xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<8x32xf32>, %arg3: tensor<16xf32>) {
  // CHECK-NEXT: %0 = tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = tp.all_gather_matmul %arg0, rhs(%arg1) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // CHECK-NEXT: %1:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %arg2) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
  %1:2 = tp.all_gather_matmul %arg0, rhs(%arg1, %arg2) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
  // CHECK-NEXT: %2:2 = tp.all_gather_matmul %arg0, rhs(%arg1) biases(%arg3) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x8xf32>, tensor<8x16xf32>)
  %2:2 = tp.all_gather_matmul %arg0, rhs(%arg1) biases(%arg3) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x8xf32>, tensor<8x16xf32>)
  return
}

// CHECK-LABEL: func.func @all_gather_matmul_scaled(
func.func @all_gather_matmul_scaled(%arg0: tensor<4x8xf8E4M3FN>, %arg1: tensor<8x16xf8E4M3FN>, %arg2: tensor<4x1xf32>, %arg3: tensor<1x16xf32>) {
  // CHECK-NEXT: %0 = tp.all_gather_matmul %arg0, rhs(%arg1) shard_scale %arg2 rhs_scales(%arg3) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<8x16xbf16>
  %0 = tp.all_gather_matmul %arg0, rhs(%arg1) shard_scale %arg2 rhs_scales(%arg3) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<8x16xbf16>
  return
}

// CHECK-LABEL: func.func @matmul_reduce_scatter(
func.func @matmul_reduce_scatter(%arg0: tensor<8x8xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<16xf32>) {
  // CHECK-NEXT: %0 = tp.matmul_reduce_scatter sum %arg0, %arg1 scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  %0 = tp.matmul_reduce_scatter sum %arg0, %arg1 scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // CHECK-NEXT: %1 = tp.matmul_reduce_scatter avg %arg0, %arg1 bias %arg2 scatter_axis 1 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x8xf32>
  %1 = tp.matmul_reduce_scatter avg %arg0, %arg1 bias %arg2 scatter_axis 1 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @matmul_reduce_scatter_scaled(
func.func @matmul_reduce_scatter_scaled(%arg0: tensor<8x8xf8E4M3FN>, %arg1: tensor<8x16xf8E4M3FN>, %arg2: tensor<f32>) {
  // CHECK-NEXT: %0 = tp.matmul_reduce_scatter sum %arg0, %arg1 lhs_scale %arg2 rhs_scale %arg2 scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x16xbf16>
  %0 = tp.matmul_reduce_scatter sum %arg0, %arg1 lhs_scale %arg2 rhs_scale %arg2 scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x16xbf16>
  return
}
