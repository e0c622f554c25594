// Text, generic and bytecode forms of reductions, row-wise ops and norms.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @reduce(
func.func @reduce(%arg0: tensor<2x4x8xf32>) {
  // CHECK-NEXT: %0 = tp.reduce sum %arg0 dims [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
  %0 = tp.reduce sum %arg0 dims [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
  // CHECK-NEXT: %1 = tp.reduce avg %arg0 dims [1] keep_dims : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  %1 = tp.reduce avg %arg0 dims [1] keep_dims : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  // CHECK-NEXT: %2 = tp.reduce max %arg0 dims [] : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %2 = tp.reduce max %arg0 dims [] : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: %3 = tp.reduce min %arg0 dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<f32>
  %3 = tp.reduce min %arg0 dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<f32>
  // CHECK-NEXT: %4 = tp.reduce product %arg0 dims [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  %4 = tp.reduce product %arg0 dims [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  return
}

// CHECK-LABEL: func.func @rowwise(
func.func @rowwise(%arg0: tensor<2x4x8xf32>) {
  // CHECK-NEXT: %0 = tp.rowwise softmax %arg0 dim 0 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %0 = tp.rowwise softmax %arg0 dim 0 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: %1 = tp.rowwise log_softmax %arg0 dim 1 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %1 = tp.rowwise log_softmax %arg0 dim 1 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: %2 = tp.rowwise cumulative_sum %arg0 dim 2 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  %2 = tp.rowwise cumulative_sum %arg0 dim 2 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// CHECK-LABEL: func.func @rms_norm(
func.func @rms_norm(%arg0: tensor<2x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.rms_norm %arg0 weight %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %0 = tp.rms_norm %arg0 weight %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %1 = tp.rms_norm %arg0 weight %arg2 dims 2 : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  %1 = tp.rms_norm %arg0 weight %arg2 dims 2 : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %2 = tp.rms_norm %arg0 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %2 = tp.rms_norm %arg0 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %3 = tp.rms_norm %arg0 dims 3 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %3 = tp.rms_norm %arg0 dims 3 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// CHECK-LABEL: func.func @layer_norm(
func.func @layer_norm(%arg0: tensor<2x4x8xf32>, %arg1: tensor<8xf32>) {
  // CHECK-NEXT: %0 = tp.layer_norm %arg0 weight %arg1 bias %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %0 = tp.layer_norm %arg0 weight %arg1 bias %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %1 = tp.layer_norm %arg0 weight %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %1 = tp.layer_norm %arg0 weight %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %2 = tp.layer_norm %arg0 bias %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  %2 = tp.layer_norm %arg0 bias %arg1 epsilon 1.000000e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK-NEXT: %3 = tp.layer_norm %arg0 epsilon 1.000000e-05 dims 2 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %3 = tp.layer_norm %arg0 epsilon 1.000000e-05 dims 2 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// CHECK-LABEL: func.func @add_rms_norm(
func.func @add_rms_norm(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<8xf32>) {
  // CHECK-NEXT: %normalized = tp.add_rms_norm %arg0, %arg1 weight %arg2 epsilon 1.000000e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %normalized = tp.add_rms_norm %arg0, %arg1 weight %arg2 epsilon 1.000000e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @add_rms_norm_with_sum(
func.func @add_rms_norm_with_sum(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<8xf32>) {
  // CHECK-NEXT: %normalized, %sum = tp.add_rms_norm %arg0, %arg1 weight %arg2 epsilon 1.000000e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %normalized, %sum = tp.add_rms_norm %arg0, %arg1 weight %arg2 epsilon 1.000000e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}
