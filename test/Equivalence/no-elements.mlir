// Comparisons, conditions and sums of tensors without elements decide nothing. All
// of no truth values are true, and none is.
// RUN: split-file %s %t
// RUN: commute verify %t/first.mlir %t/second.mlir
// RUN: not commute verify %t/first.mlir %t/other.mlir | FileCheck %s
// CHECK: different: output 4 differs
// CHECK: different: output 5 differs
// CHECK: different: output 6 differs

//--- first.mlir
func.func @main(%x: tensor<3x0xf32>, %i: tensor<3x0xi64>, %n: tensor<3x0xi8>) -> (tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi8>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>) {
  %c = tp.constant 0.5 : f32 -> tensor<f32>
  %d = tp.constant 2 : i64 -> tensor<i64>
  %e = tp.constant 100 : i8 -> tensor<i8>
  %0 = tp.map greater(%x, %c) : (tensor<3x0xf32>, tensor<f32>) -> tensor<3x0xi1>
  %1 = tp.map greater(%i, %d) : (tensor<3x0xi64>, tensor<i64>) -> tensor<3x0xi1>
  %2 = tp.map logical_and(%0, %1) : (tensor<3x0xi1>, tensor<3x0xi1>) -> tensor<3x0xi1>
  %3 = tp.map add(%n, %e) : (tensor<3x0xi8>, tensor<i8>) -> tensor<3x0xi8>
  %4 = tp.reduce sum %x dims [1] : tensor<3x0xf32> -> tensor<3xf32>
  %5 = tp.reduce min %2 dims [1] : tensor<3x0xi1> -> tensor<3xi1>
  %6 = tp.reduce max %2 dims [1] : tensor<3x0xi1> -> tensor<3xi1>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi8>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>
}

//--- second.mlir
func.func @main(%x: tensor<3x0xf32>, %i: tensor<3x0xi64>, %n: tensor<3x0xi8>) -> (tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi8>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>) {
  %c = tp.constant 0.5 : f32 -> tensor<f32>
  %d = tp.constant 2 : i64 -> tensor<i64>
  %e = tp.constant 100 : i8 -> tensor<i8>
  %0 = tp.map less(%c, %x) : (tensor<f32>, tensor<3x0xf32>) -> tensor<3x0xi1>
  %1 = tp.map less(%d, %i) : (tensor<i64>, tensor<3x0xi64>) -> tensor<3x0xi1>
  %2 = tp.map logical_and(%1, %0) : (tensor<3x0xi1>, tensor<3x0xi1>) -> tensor<3x0xi1>
  %3 = tp.map add(%e, %n) : (tensor<i8>, tensor<3x0xi8>) -> tensor<3x0xi8>
  %z = tp.constant 0.0 : f32 -> tensor<f32>
  %4 = tp.broadcast %z : tensor<f32> -> tensor<3xf32>
  %5 = tp.constant true -> tensor<3xi1>
  %6 = tp.constant false -> tensor<3xi1>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi8>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>
}

//--- other.mlir
func.func @main(%x: tensor<3x0xf32>, %i: tensor<3x0xi64>, %n: tensor<3x0xi8>) -> (tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi8>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>) {
  %c = tp.constant 0.5 : f32 -> tensor<f32>
  %d = tp.constant 2 : i64 -> tensor<i64>
  %e = tp.constant 100 : i8 -> tensor<i8>
  %0 = tp.map greater(%x, %c) : (tensor<3x0xf32>, tensor<f32>) -> tensor<3x0xi1>
  %1 = tp.map greater(%i, %d) : (tensor<3x0xi64>, tensor<i64>) -> tensor<3x0xi1>
  %2 = tp.map logical_and(%0, %1) : (tensor<3x0xi1>, tensor<3x0xi1>) -> tensor<3x0xi1>
  %3 = tp.map add(%n, %e) : (tensor<3x0xi8>, tensor<i8>) -> tensor<3x0xi8>
  %z = tp.constant 1.0 : f32 -> tensor<f32>
  %4 = tp.broadcast %z : tensor<f32> -> tensor<3xf32>
  %5 = tp.constant false -> tensor<3xi1>
  %6 = tp.constant true -> tensor<3xi1>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi1>, tensor<3x0xi8>, tensor<3xf32>, tensor<3xi1>, tensor<3xi1>
}
