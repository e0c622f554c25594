// The order of equal elements: kept, or left to an algorithm.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute verify %t/open.mlir %t/open-shifted.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/open.mlir %t/stable.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/open.mlir %t/other-algorithm.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/values.mlir %t/values-stable.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/ordered.mlir %t/unordered.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/ordered-sum.mlir %t/unordered-sum.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/ordered-sum.mlir %t/unordered-sum-of-three.mlir | FileCheck %s --check-prefix=DIFFERENT
// EQUAL: equivalent
// DIFFERENT: different

//--- open.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 algorithm "sort" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- open-shifted.mlir
// The elements compare as before.
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %one = tp.constant 1 : i64 -> tensor<i64>
  %more = tp.map add(%x, %one) : (tensor<40xi64>, tensor<i64>) -> tensor<40xi64>
  %values, %order = tp.sort %more dim 0 algorithm "sort" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- stable.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- other-algorithm.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 algorithm "topk" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %order : tensor<40xi64>
}

//--- values.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 algorithm "sort" : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %values : tensor<40xi64>
}

//--- values-stable.mlir
func.func @main(%x: tensor<40xi64>) -> tensor<40xi64> {
  %values, %order = tp.sort %x dim 0 : tensor<40xi64> -> tensor<40xi64>, tensor<40xi64>
  return %values : tensor<40xi64>
}

//--- ordered.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<4xf32> {
  %values, %order = tp.sort %x dim 0 descending algorithm "topk" : tensor<40xf32> -> tensor<40xf32>, tensor<40xi64>
  %first = tp.slice %values dim 0 start 0 step 1 : tensor<40xf32> -> tensor<4xf32>
  return %first : tensor<4xf32>
}

//--- unordered.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<4xf32> {
  %values, %order = tp.sort %x dim 0 descending algorithm "topk" unordered 4 : tensor<40xf32> -> tensor<40xf32>, tensor<40xi64>
  %first = tp.slice %values dim 0 start 0 step 1 : tensor<40xf32> -> tensor<4xf32>
  return %first : tensor<4xf32>
}

//--- ordered-sum.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<f32> {
  %values, %order = tp.sort %x dim 0 descending algorithm "topk" : tensor<40xf32> -> tensor<40xf32>, tensor<40xi64>
  %first = tp.slice %values dim 0 start 0 step 1 : tensor<40xf32> -> tensor<4xf32>
  %sum = tp.reduce sum %first dims [0] : tensor<4xf32> -> tensor<f32>
  return %sum : tensor<f32>
}

//--- unordered-sum.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<f32> {
  %values, %order = tp.sort %x dim 0 descending algorithm "topk" unordered 4 : tensor<40xf32> -> tensor<40xf32>, tensor<40xi64>
  %first = tp.slice %values dim 0 start 0 step 1 : tensor<40xf32> -> tensor<4xf32>
  %sum = tp.reduce sum %first dims [0] : tensor<4xf32> -> tensor<f32>
  return %sum : tensor<f32>
}

//--- unordered-sum-of-three.mlir
func.func @main(%x: tensor<40xf32>) -> tensor<f32> {
  %values, %order = tp.sort %x dim 0 descending algorithm "topk" unordered 4 : tensor<40xf32> -> tensor<40xf32>, tensor<40xi64>
  %first = tp.slice %values dim 0 start 0 step 1 : tensor<40xf32> -> tensor<3xf32>
  %sum = tp.reduce sum %first dims [0] : tensor<3xf32> -> tensor<f32>
  return %sum : tensor<f32>
}
