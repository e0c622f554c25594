// Text, generic and bytecode forms of matrix products, attention, look-ups.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @matmul(
func.func @matmul(%arg0: tensor<2x4x8xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<16x8xf32>, %arg3: tensor<16xf32>, %arg4: tensor<2x8x4xf32>) {
  // CHECK-NEXT: %0 = tp.matmul %arg0, %arg1 : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %0 = tp.matmul %arg0, %arg1 : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: %1 = tp.matmul %arg0, %arg2 transpose_rhs : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %1 = tp.matmul %arg0, %arg2 transpose_rhs : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: %2 = tp.matmul %arg0, %arg2 transpose_rhs bias %arg3 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  %2 = tp.matmul %arg0, %arg2 transpose_rhs bias %arg3 : (tensor<2x4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: %3 = tp.matmul %arg4, %arg1 transpose_lhs : (tensor<2x8x4xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  %3 = tp.matmul %arg4, %arg1 transpose_lhs : (tensor<2x8x4xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
  // CHECK-NEXT: %4 = tp.matmul %arg4, %arg2 transpose_lhs transpose_rhs : (tensor<2x8x4xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %4 = tp.matmul %arg4, %arg2 transpose_lhs transpose_rhs : (tensor<2x8x4xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  return
}

// CHECK-LABEL: func.func @matmul_scaled(
func.func @matmul_scaled(%arg0: tensor<4x8xf8E4M3FN>, %arg1: tensor<8x16xf8E4M3FN>, %arg2: tensor<4x1xf32>, %arg3: tensor<1x16xf32>, %arg4: tensor<f32>) {
  // CHECK-NEXT: %0 = tp.matmul %arg0, %arg1 lhs_scale %arg2 rhs_scale %arg3 : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<4x16xbf16>
  %0 = tp.matmul %arg0, %arg1 lhs_scale %arg2 rhs_scale %arg3 : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<4x16xbf16>
  // CHECK-NEXT: %1 = tp.matmul %arg0, %arg1 lhs_scale %arg4 : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>) -> tensor<4x16xbf16>
  %1 = tp.matmul %arg0, %arg1 lhs_scale %arg4 : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>) -> tensor<4x16xbf16>
  // CHECK-NEXT: %2 = tp.matmul %arg0, %arg1 rhs_scale %arg4 : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>) -> tensor<4x16xbf16>
  %2 = tp.matmul %arg0, %arg1 rhs_scale %arg4 : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>) -> tensor<4x16xbf16>
  return
}

// CHECK-LABEL: func.func @matmul_broadcasts_batch(
func.func @matmul_broadcasts_batch(%arg0: tensor<3x1x4x8xf32>, %arg1: tensor<2x8x5xf32>) {
  // CHECK-NEXT: %0 = tp.matmul %arg0, %arg1 : (tensor<3x1x4x8xf32>, tensor<2x8x5xf32>) -> tensor<3x2x4x5xf32>
  %0 = tp.matmul %arg0, %arg1 : (tensor<3x1x4x8xf32>, tensor<2x8x5xf32>) -> tensor<3x2x4x5xf32>
  return
}

// CHECK-LABEL: func.func @attention(
func.func @attention(%arg0: tensor<2x4x8x16xf32>, %arg1: tensor<2x2x8x16xf32>, %arg2: tensor<8x8xi1>) {
  // CHECK-NEXT: %result = tp.attention %arg0, %arg0, %arg0 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %0 = tp.attention %arg0, %arg0, %arg0 : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  // CHECK-NEXT: %result_0 = tp.attention %arg0, %arg0, %arg0 is_causal : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  %1 = tp.attention %arg0, %arg0, %arg0 is_causal : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  // CHECK-NEXT: %result_1 = tp.attention %arg0, %arg1, %arg1 mask %arg2 grouped_heads scale 1.250000e-01 : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<8x8xi1>) -> tensor<2x4x8x16xf32>
  %2 = tp.attention %arg0, %arg1, %arg1 mask %arg2 grouped_heads scale 1.250000e-01 : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<8x8xi1>) -> tensor<2x4x8x16xf32>
  return
}

// CHECK-LABEL: func.func @take(
func.func @take(%arg0: tensor<100x8xf32>, %arg1: tensor<2x4xi64>, %arg2: tensor<3xi32>) {
  // CHECK-NEXT: %0 = tp.take %arg0, %arg1 dim 0 : (tensor<100x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  %0 = tp.take %arg0, %arg1 dim 0 : (tensor<100x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %1 = tp.take %arg0, %arg2 dim 1 wraps_negative : (tensor<100x8xf32>, tensor<3xi32>) -> tensor<100x3xf32>
  %1 = tp.take %arg0, %arg2 dim 1 wraps_negative : (tensor<100x8xf32>, tensor<3xi32>) -> tensor<100x3xf32>
  return
}

// CHECK-LABEL: func.func @attention_backward(
func.func @attention_backward(%arg0: tensor<4x8x16xf32>) {
  // CHECK-NEXT: %result, %logsumexp = tp.attention %arg0, %arg0, %arg0 : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8xf32>)
  %0, %1 = tp.attention %arg0, %arg0, %arg0 : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8xf32>)
  // CHECK-NEXT: %query_gradient, %key_gradient, %value_gradient = tp.attention_backward %arg0, %arg0, %arg0, %arg0, %result, %logsumexp is_causal scale 1.250000e-01 : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  %2, %3, %4 = tp.attention_backward %arg0, %arg0, %arg0, %arg0, %0, %1 is_causal scale 1.250000e-01 : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}

// CHECK-LABEL: func.func @grouped_matmul(
func.func @grouped_matmul(%arg0: tensor<16x8xf32>, %arg1: tensor<4x8x2xf32>, %arg2: tensor<4xi32>, %arg3: tensor<16x2xf32>) {
  // CHECK-NEXT: %0 = tp.grouped_matmul %arg0, %arg1 offsets %arg2 : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  %0 = tp.grouped_matmul %arg0, %arg1 offsets %arg2 : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // CHECK-NEXT: %1 = tp.grouped_matmul %arg0, %arg1 offsets %arg2 rest %arg3 : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  %1 = tp.grouped_matmul %arg0, %arg1 offsets %arg2 rest %arg3 : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  // CHECK-NEXT: %2 = tp.permute
  %2 = tp.permute %arg0 [1, 0] : tensor<16x8xf32> -> tensor<8x16xf32, #tp.layout<strides = [1, 8]>>
  // CHECK-NEXT: %3 = tp.grouped_matmul %2, %arg3 offsets %arg2 : (tensor<8x16xf32, #tp.layout<strides = [1, 8]>>, tensor<16x2xf32>, tensor<4xi32>) -> tensor<4x8x2xf32>
  %3 = tp.grouped_matmul %2, %arg3 offsets %arg2 : (tensor<8x16xf32, #tp.layout<strides = [1, 8]>>, tensor<16x2xf32>, tensor<4xi32>) -> tensor<4x8x2xf32>
  return
}
