// The order of equal elements: kept, or left to an algorithm.
// RUN: rm -rf %t && split-file %s %t
// RUN: commute verify %t/open.mlir %t/open-shifted.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/open.mlir %t/stable.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/open.mlir %t/other-algorithm.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/values.mlir %t/values-stable.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/ordered.mlir %t/unordered.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/ordered-sum.mlir %t/unordered-sum.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/ordered-sum.mlir %t/unordered-sum-of-three.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: not commute verify %t/float-open.mlir %t/float-stable.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/float-open.mlir %t/float-open.mlir --whole | FileCheck %s --check-prefix=EQUAL
// RUN: not commute verify %t/experts-first.mlir %t/experts-any.mlir | FileCheck %s --check-prefix=DIFFERENT
// RUN: commute verify %t/experts-any.mlir %t/experts-any.mlir --whole | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/compared-before.mlir %t/compared-after.mlir | FileCheck %s --check-prefix=EQUAL
// RUN: commute verify %t/counted-before.mlir %t/counted-before.mlir --whole | FileCheck %s --check-prefix=EQUAL
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

//--- float-open.mlir
func.func @main(%x: tensor<5x24xbf16>) -> tensor<5x24xi64> {
  %values, %order = tp.sort %x dim 1 algorithm "sort" : tensor<5x24xbf16> -> tensor<5x24xbf16>, tensor<5x24xi64>
  return %order : tensor<5x24xi64>
}

//--- float-stable.mlir
func.func @main(%x: tensor<5x24xbf16>) -> tensor<5x24xi64> {
  %values, %order = tp.sort %x dim 1 : tensor<5x24xbf16> -> tensor<5x24xbf16>, tensor<5x24xi64>
  return %order : tensor<5x24xi64>
}

//--- experts-first.mlir
// Of two experts with one score, the first is chosen.
func.func @main(%x: tensor<6x16xf32>, %w: tensor<16x8xf32>) -> tensor<6x8xi64> {
  %scores = tp.matmul %x, %w : (tensor<6x16xf32>, tensor<16x8xf32>) -> tensor<6x8xf32>
  %values, %order = tp.sort %scores dim 1 descending : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %order : tensor<6x8xi64>
}

//--- experts-any.mlir
func.func @main(%x: tensor<6x16xf32>, %w: tensor<16x8xf32>) -> tensor<6x8xi64> {
  %scores = tp.matmul %x, %w : (tensor<6x16xf32>, tensor<16x8xf32>) -> tensor<6x8xf32>
  %values, %order = tp.sort %scores dim 1 descending algorithm "topk" : tensor<6x8xf32> -> tensor<6x8xf32>, tensor<6x8xi64>
  return %order : tensor<6x8xi64>
}

//--- compared-before.mlir
func.func @main(%x: tensor<2x8xf64>) -> (tensor<2xi64>, tensor<2x8xi64>) {
  %two = tp.constant 2.0 : f64 -> tensor<f64>
  %above = tp.map greater(%x, %two) : (tensor<2x8xf64>, tensor<f64>) -> tensor<2x8xi1>
  %number = tp.cast %above : tensor<2x8xi1> -> tensor<2x8xi64>
  %count = tp.reduce sum %number dims [1] : tensor<2x8xi64> -> tensor<2xi64>
  %values, %order = tp.sort %x dim 1 : tensor<2x8xf64> -> tensor<2x8xf64>, tensor<2x8xi64>
  return %count, %order : tensor<2xi64>, tensor<2x8xi64>
}

//--- compared-after.mlir
// The count is that of the others, so that equality is met by its law.
func.func @main(%x: tensor<2x8xf64>) -> (tensor<2xi64>, tensor<2x8xi64>) {
  %values, %order = tp.sort %x dim 1 : tensor<2x8xf64> -> tensor<2x8xf64>, tensor<2x8xi64>
  %two = tp.constant 2.0 : f64 -> tensor<f64>
  %all = tp.constant 8 : i64 -> tensor<i64>
  %below = tp.map less_equal(%x, %two) : (tensor<2x8xf64>, tensor<f64>) -> tensor<2x8xi1>
  %number = tp.cast %below : tensor<2x8xi1> -> tensor<2x8xi64>
  %others = tp.reduce sum %number dims [1] : tensor<2x8xi64> -> tensor<2xi64>
  %count = tp.map sub(%all, %others) : (tensor<i64>, tensor<2xi64>) -> tensor<2xi64>
  return %count, %order : tensor<2xi64>, tensor<2x8xi64>
}

//--- counted-before.mlir
// Whether a count is below a number does not depend on the numbers that other
// parts of the program compute with.
func.func @main(%c: tensor<12x3xi64>, %x: tensor<3xf64>) -> (tensor<3xi1>, tensor<3xf64>) {
  %seven = tp.constant 7 : i64 -> tensor<i64>
  %half = tp.constant 0.5 : f64 -> tensor<f64>
  %is = tp.map equal(%c, %seven) : (tensor<12x3xi64>, tensor<i64>) -> tensor<12x3xi1>
  %number = tp.cast %is : tensor<12x3xi1> -> tensor<12x3xf64>
  %count = tp.reduce sum %number dims [0] : tensor<12x3xf64> -> tensor<3xf64>
  %none = tp.map less_equal(%count, %half) : (tensor<3xf64>, tensor<f64>) -> tensor<3xi1>
  %one = tp.constant 1.0 : f64 -> tensor<f64>
  %more = tp.map add(%x, %one) : (tensor<3xf64>, tensor<f64>) -> tensor<3xf64>
  return %none, %more : tensor<3xi1>, tensor<3xf64>
}
