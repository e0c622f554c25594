// The first program says which indices are legal: with a table that lacks its last rows,
// the second cannot run with all of them, although both read the same where it can.
// RUN: rm -rf %t && split-file %s %t
// RUN: not commute verify %t/whole.mlir %t/shorter.mlir | FileCheck %s
// A longer table reads the same.
// RUN: commute verify %t/shorter.mlir %t/whole.mlir
// RUN: commute verify %t/whole.mlir %t/whole.mlir --whole

// Also where the index is computed: each row of the whole table serves two numbers.
// RUN: not commute verify %t/halves.mlir %t/fewer-halves.mlir | FileCheck %s
// RUN: commute verify %t/fewer-halves.mlir %t/halves.mlir
// RUN: commute verify %t/halves.mlir %t/doubled.mlir

// CHECK: different: the second program reads at an index that is outside of the dim, for inputs that the first program runs with

//--- whole.mlir
func.func @main(%table: tensor<72x3xf32>, %ids: tensor<6xi64>) -> tensor<6x3xf32> {
  %0 = tp.take %table, %ids dim 0 : (tensor<72x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}

//--- shorter.mlir
func.func @main(%table: tensor<72x3xf32>, %ids: tensor<6xi64>) -> tensor<6x3xf32> {
  %t = tp.slice %table dim 0 start 0 step 1 : tensor<72x3xf32> -> tensor<70x3xf32>
  %0 = tp.take %t, %ids dim 0 : (tensor<70x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}

//--- halves.mlir
func.func @main(%table: tensor<72x3xf32>, %ids: tensor<6xi64>) -> tensor<6x3xf32> {
  %n = tp.constant 2 : i64 -> tensor<i64>
  %i = tp.map floor_div(%ids, %n) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
  %0 = tp.take %table, %i dim 0 : (tensor<72x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}

//--- fewer-halves.mlir
func.func @main(%table: tensor<72x3xf32>, %ids: tensor<6xi64>) -> tensor<6x3xf32> {
  %n = tp.constant 2 : i64 -> tensor<i64>
  %i = tp.map floor_div(%ids, %n) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
  %t = tp.slice %table dim 0 start 0 step 1 : tensor<72x3xf32> -> tensor<70x3xf32>
  %0 = tp.take %t, %i dim 0 : (tensor<70x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}

//--- doubled.mlir
func.func @main(%table: tensor<72x3xf32>, %ids: tensor<6xi64>) -> tensor<6x3xf32> {
  %r = tp.reshape %table : tensor<72x3xf32> -> tensor<72x1x3xf32>
  %b = tp.broadcast %r : tensor<72x1x3xf32> -> tensor<72x2x3xf32>
  %t = tp.reshape %b : tensor<72x2x3xf32> -> tensor<144x3xf32>
  %0 = tp.take %t, %ids dim 0 : (tensor<144x3xf32>, tensor<6xi64>) -> tensor<6x3xf32>
  return %0 : tensor<6x3xf32>
}
