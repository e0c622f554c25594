// Text, generic and bytecode forms of look-ups, gather, scatter and sorting.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @take_along(
func.func @take_along(%arg0: tensor<4x8xf32>, %arg1: tensor<4x2xi64>) {
  // CHECK-NEXT: %0 = tp.take_along %arg0, %arg1 dim 1 : (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  %0 = tp.take_along %arg0, %arg1 dim 1 : (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return
}

// CHECK-LABEL: func.func @scatter(
func.func @scatter(%arg0: tensor<8x4xf32>, %arg1: tensor<2x4xi64>, %arg2: tensor<2x4xf32>) {
  // CHECK-NEXT: %0 = tp.scatter %arg0, %arg1, %arg2 dim 0 : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %0 = tp.scatter %arg0, %arg1, %arg2 dim 0 : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %1 = tp.scatter %arg0, %arg1, %arg2 dim 0 accumulate wraps_negative : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  %1 = tp.scatter %arg0, %arg1, %arg2 dim 0 accumulate wraps_negative : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return
}

// CHECK-LABEL: func.func @sort(
func.func @sort(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %values, %order = tp.sort %arg0 dim 1 descending : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  %0, %1 = tp.sort %arg0 dim 1 descending : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  // CHECK-NEXT: tp.sort %arg0 dim 0 algorithm "topk" first 2 unordered : tensor<4x8xf32> -> tensor<2x8xf32>, tensor<2x8xi64>
  %2, %3 = tp.sort %arg0 dim 0 algorithm "topk" first 2 unordered : tensor<4x8xf32> -> tensor<2x8xf32>, tensor<2x8xi64>
  return
}
