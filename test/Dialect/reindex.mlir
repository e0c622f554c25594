// Text, generic and bytecode forms of reindexing ops.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @reshape(
func.func @reshape(%arg0: tensor<2x4x8xf32>) {
  // CHECK-NEXT: %0 = tp.reshape %arg0 : tensor<2x4x8xf32> -> tensor<8x8xf32>
  %0 = tp.reshape %arg0 : tensor<2x4x8xf32> -> tensor<8x8xf32>
  // CHECK-NEXT: %1 = tp.reshape %arg0 : tensor<2x4x8xf32> -> tensor<64xf32>
  %1 = tp.reshape %arg0 : tensor<2x4x8xf32> -> tensor<64xf32>
  // CHECK-NEXT: %2 = tp.reshape %arg0 : tensor<2x4x8xf32> -> tensor<2x1x4x8xf32>
  %2 = tp.reshape %arg0 : tensor<2x4x8xf32> -> tensor<2x1x4x8xf32>
  return
}

// CHECK-LABEL: func.func @reshape_symbolic(
func.func @reshape_symbolic(%arg0: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>) {
  // CHECK-NEXT: %0 = tp.reshape %arg0 : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?x8x64xf32, #tp.layout<[s0] sizes = [s0, 8, 64]>>
  %0 = tp.reshape %arg0 : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?x8x64xf32, #tp.layout<[s0] sizes = [s0, 8, 64]>>
  return
}

// CHECK-LABEL: func.func @permute(
func.func @permute(%arg0: tensor<4x2xf32>) {
  // CHECK-NEXT: %0 = tp.permute %arg0 [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32, #tp.layout<strides = [1, 2]>>
  %0 = tp.permute %arg0 [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32, #tp.layout<strides = [1, 2]>>
  return
}

// CHECK-LABEL: func.func @slice(
func.func @slice(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.slice %arg0 dim 0 start 2 step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
  %0 = tp.slice %arg0 dim 0 start 2 step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
  // CHECK-NEXT: %1 = tp.slice %arg0 dim 1 start 1 step 3 : tensor<4x8xf32> -> tensor<4x3xf32, #tp.layout<strides = [8, 3]>>
  %1 = tp.slice %arg0 dim 1 start 1 step 3 : tensor<4x8xf32> -> tensor<4x3xf32, #tp.layout<strides = [8, 3]>>
  return
}

// CHECK-LABEL: func.func @concat(
func.func @concat(%arg0: tensor<4x2xf32>, %arg1: tensor<4x6xf32>) {
  // CHECK-NEXT: %0 = tp.concat %arg0, %arg1 dim 1 : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  %0 = tp.concat %arg0, %arg1 dim 1 : (tensor<4x2xf32>, tensor<4x6xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.concat %arg0 dim 0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = tp.concat %arg0 dim 0 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// CHECK-LABEL: func.func @broadcast(
func.func @broadcast(%arg0: tensor<4x1xf32>) {
  // CHECK-NEXT: %0 = tp.broadcast %arg0 : tensor<4x1xf32> -> tensor<2x4x8xf32, #tp.layout<strides = [0, 1, 0]>>
  %0 = tp.broadcast %arg0 : tensor<4x1xf32> -> tensor<2x4x8xf32, #tp.layout<strides = [0, 1, 0]>>
  return
}
