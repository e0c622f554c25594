// The mean of no elements is NaN, in PyTorch as well; the sum of none is zero, and
// the product one.
// RUN: rm -rf %t && split-file %s %t
// RUN: not commute verify %t/sum.mlir %t/mean.mlir | FileCheck %s
// RUN: not commute verify %t/sum.mlir %t/product.mlir | FileCheck %s
// RUN: commute verify %t/sum.mlir %t/zero.mlir
// RUN: commute verify %t/mean.mlir %t/mean.mlir --whole
// Zero times it is not zero.
// RUN: sed 's/return %%0/return %%1/' %t/mean.mlir > %t/times-zero.mlir
// RUN: not commute verify %t/zero.mlir %t/times-zero.mlir | FileCheck %s

// CHECK: different: output 0 differs on rank 0 at index [0]

//--- sum.mlir
func.func @main(%x: tensor<0x5xf32>) -> tensor<5xf32> {
  %0 = tp.reduce sum %x dims [0] : tensor<0x5xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

//--- mean.mlir
func.func @main(%x: tensor<0x5xf32>) -> tensor<5xf32> {
  %0 = tp.reduce avg %x dims [0] : tensor<0x5xf32> -> tensor<5xf32>
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %1 = tp.map mul(%0, %z) : (tensor<5xf32>, tensor<f32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

//--- product.mlir
func.func @main(%x: tensor<0x5xf32>) -> tensor<5xf32> {
  %0 = tp.reduce product %x dims [0] : tensor<0x5xf32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

//--- zero.mlir
func.func @main(%x: tensor<0x5xf32>) -> tensor<5xf32> {
  %z = tp.constant 0.0 : f64 -> tensor<f32>
  %0 = tp.broadcast %z : tensor<f32> -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
