// Text, generic and bytecode forms of opaque calls.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @call(
func.func @call(%arg0: tensor<4x8xf32>, %arg1: i64, %arg2: !tp.opaque) {
  // CHECK-NEXT: %0 = tp.call "torch.ops.mylib.op.default"(%arg0) arguments "[]" : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tp.call "torch.ops.mylib.op.default"(%arg0) arguments "[]" : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %1:2 = tp.call "torch.ops.mylib.two.default"(%arg0, %arg1) arguments "[1]" : (tensor<4x8xf32>, i64) -> (tensor<4x8xf32>, i64)
  %1:2 = tp.call "torch.ops.mylib.two.default"(%arg0, %arg1) arguments "[1]" : (tensor<4x8xf32>, i64) -> (tensor<4x8xf32>, i64)
  // CHECK-NEXT: tp.call "torch.ops.mylib.effect.default"() arguments "" : () -> ()
  tp.call "torch.ops.mylib.effect.default"() arguments "" : () -> ()
  // CHECK-NEXT: %2 = tp.call "torch.ops.mylib.token.default"(%arg2) arguments "" : (!tp.opaque) -> !tp.opaque
  %2 = tp.call "torch.ops.mylib.token.default"(%arg2) arguments "" : (!tp.opaque) -> !tp.opaque
  return
}

// CHECK-LABEL: func.func @call_collective(
func.func @call_collective(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%arg0) arguments "" dense [0] mutates [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%arg0) arguments "" dense [0] mutates [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.call "torch.ops.mylib.op.default"(%arg0, %arg0) arguments "" dense [0, 1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tp.call "torch.ops.mylib.op.default"(%arg0, %arg0) arguments "" dense [0, 1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %2 = tp.call "torch.ops.mylib.op_.default"(%arg0) arguments "" mutates [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = tp.call "torch.ops.mylib.op_.default"(%arg0) arguments "" mutates [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
