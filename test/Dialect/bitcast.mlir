// RUN: rm -rf %t && split-file %s %t
// RUN: commute-opt %t/legal.mlir | commute-opt | FileCheck %s
// RUN: commute-opt %t/illegal.mlir -split-input-file -verify-diagnostics

//--- legal.mlir
func.func @bits(%x: tensor<4x8xf8E4M3FN>, %y: tensor<4x8xbf16>, %z: tensor<4x2xf32>) {
  // CHECK: tp.bitcast %{{.*}} : tensor<4x8xf8E4M3FN> -> tensor<4x8xui8>
  %0 = tp.bitcast %x : tensor<4x8xf8E4M3FN> -> tensor<4x8xui8>
  // CHECK: tp.bitcast %{{.*}} : tensor<4x8xbf16> -> tensor<4x8xf16>
  %1 = tp.bitcast %y : tensor<4x8xbf16> -> tensor<4x8xf16>
  // CHECK: tp.bitcast %{{.*}} : tensor<4x2xf32> -> tensor<4xcomplex<f32>>
  %3 = tp.bitcast %z : tensor<4x2xf32> -> tensor<4xcomplex<f32>>
  // CHECK: tp.bitcast %{{.*}} : tensor<4xcomplex<f32>> -> tensor<4x2xf32>
  %4 = tp.bitcast %3 : tensor<4xcomplex<f32>> -> tensor<4x2xf32>
  // CHECK: tp.slice %{{.*}} dim 0 start 1 blocks step 1
  %2 = tp.slice %y dim 0 start 1 blocks step 1 : tensor<4x8xbf16> -> tensor<2x8xbf16>
  return
}

//--- illegal.mlir
func.func @width(%x: tensor<4x8xf32>) {
  // expected-error @below {{cannot reinterpret the bits of 'f32' as 'i16'}}
  %0 = tp.bitcast %x : tensor<4x8xf32> -> tensor<4x8xi16>
  return
}

// -----

func.func @sizes(%x: tensor<4x8xf32>) {
  // expected-error @below {{result}}
  %0 = tp.bitcast %x : tensor<4x8xf32> -> tensor<4x9xi32>
  return
}

// -----

func.func @pairs(%x: tensor<4x8xf32>) {
  // expected-error @below {{cannot reinterpret a tensor of 'f32' as 'complex<f32>': its last dim must have size 2}}
  %0 = tp.bitcast %x : tensor<4x8xf32> -> tensor<4x4xcomplex<f32>>
  return
}

// -----

func.func @parts(%x: tensor<4xcomplex<f32>>) {
  // expected-error @below {{cannot reinterpret the bits of 'complex<f32>' as 'f64'}}
  %0 = tp.bitcast %x : tensor<4xcomplex<f32>> -> tensor<4x2xf64>
  return
}

// -----

func.func @blocks(%x: tensor<4x8xf32>) {
  // expected-error @below {{takes 2 elements starting at 2 with step 1, but dim 0 has size 4}}
  %0 = tp.slice %x dim 0 start 2 blocks step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @step(%x: tensor<4x8xf32>) {
  // expected-error @below {{step must be 1 when `blocks` is set}}
  %0 = tp.slice %x dim 0 start 0 blocks step 2 : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}
