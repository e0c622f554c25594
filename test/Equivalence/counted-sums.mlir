// A sum over what comes from no input is a number times how much of it there is:
// such extents keep their sizes, in each program for itself.
// RUN: split-file %s %t
// RUN: commute verify %t/a-constant.mlir %t/a-number.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/64xf32/128xf32/g' %t/a-constant.mlir > %t/a-longer.mlir
// RUN: not commute verify %t/a-constant.mlir %t/a-longer.mlir | FileCheck %s --check-prefix=WRONG
// RUN: sed 's/64.0/2.0/' %t/a-number.mlir > %t/a-reduced.mlir
// RUN: not commute verify %t/a-constant.mlir %t/a-reduced.mlir | FileCheck %s --check-prefix=WRONG

// RUN: commute verify %t/b-repeated.mlir %t/b-scaled.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/64x/128x/g' %t/b-repeated.mlir > %t/b-longer.mlir
// RUN: not commute verify %t/b-repeated.mlir %t/b-longer.mlir | FileCheck %s --check-prefix=WRONG

// RUN: commute verify %t/c-product.mlir %t/c-number.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/640/1280/g' %t/c-product.mlir > %t/c-longer.mlir
// RUN: not commute verify %t/c-product.mlir %t/c-longer.mlir | FileCheck %s --check-prefix=WRONG

// RUN: commute verify %t/d-joined.mlir %t/d-added.mlir | FileCheck %s --check-prefix=SAME
// RUN: sed 's/640x/641x/g; s/648x/649x/g' %t/d-joined.mlir > %t/d-longer.mlir
// RUN: not commute verify %t/d-joined.mlir %t/d-longer.mlir | FileCheck %s --check-prefix=WRONG

// SAME: equivalent on 1 rank
// WRONG: different: output 0

//--- a-constant.mlir
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<f32>
  %ones = tp.broadcast %one : tensor<f32> -> tensor<64xf32>
  %sum = tp.reduce sum %ones dims [0] : tensor<64xf32> -> tensor<f32>
  %0 = tp.map mul(%x, %sum) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

//--- a-number.mlir
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %sum = tp.constant 64.0 : f64 -> tensor<f32>
  %0 = tp.map mul(%x, %sum) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

//--- b-repeated.mlir
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = tp.broadcast %x : tensor<4x8xf32> -> tensor<64x4x8xf32>
  %1 = tp.reduce sum %0 dims [0] : tensor<64x4x8xf32> -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

//--- b-scaled.mlir
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %count = tp.constant 64.0 : f64 -> tensor<f32>
  %0 = tp.map mul(%x, %count) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

//--- c-product.mlir
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<f32>
  %left = tp.broadcast %one : tensor<f32> -> tensor<4x640xf32>
  %right = tp.broadcast %one : tensor<f32> -> tensor<640x8xf32>
  %counts = tp.matmul %left, %right : (tensor<4x640xf32>, tensor<640x8xf32>) -> tensor<4x8xf32>
  %0 = tp.map add(%x, %counts) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

//--- c-number.mlir
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %count = tp.constant 640.0 : f64 -> tensor<f32>
  %0 = tp.map add(%x, %count) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Where one part of a concatenation is constant.
//--- d-joined.mlir
func.func @main(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %one = tp.constant 1.0 : f64 -> tensor<f32>
  %ones = tp.broadcast %one : tensor<f32> -> tensor<640x4xf32>
  %all = tp.concat %x, %ones dim 0 : (tensor<8x4xf32>, tensor<640x4xf32>) -> tensor<648x4xf32>
  %0 = tp.reduce sum %all dims [0] : tensor<648x4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

//--- d-added.mlir
func.func @main(%x: tensor<8x4xf32>) -> tensor<4xf32> {
  %count = tp.constant 640.0 : f64 -> tensor<f32>
  %0 = tp.reduce sum %x dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = tp.map add(%0, %count) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
