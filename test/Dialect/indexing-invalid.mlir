// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @indices_are_floats(%arg0: tensor<4x8xf32>, %arg1: tensor<4x2xf32>) {
  // expected-error @below {{'tp.take_along' op indices have element type 'f32', expected integers}}
  %0 = tp.take_along %arg0, %arg1 dim 1 : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @indices_of_another_rank(%arg0: tensor<4x8xf32>, %arg1: tensor<2xi64>) {
  // expected-error @below {{'tp.take_along' op indices has rank 1, expected 2}}
  %0 = tp.take_along %arg0, %arg1 dim 1 : (tensor<4x8xf32>, tensor<2xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @indices_of_other_rows(%arg0: tensor<4x8xf32>, %arg1: tensor<3x2xi64>) {
  // expected-error @below {{'tp.take_along' op indices has size 3 along dim 0, expected 4}}
  %0 = tp.take_along %arg0, %arg1 dim 1 : (tensor<4x8xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return
}

// -----

func.func @no_such_dim(%arg0: tensor<4x8xf32>, %arg1: tensor<4x2xi64>) {
  // expected-error @below {{'tp.take_along' op dim}}
  %0 = tp.take_along %arg0, %arg1 dim 2 : (tensor<4x8xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @updates_of_other_sizes(%arg0: tensor<8x4xf32>, %arg1: tensor<2x4xi64>, %arg2: tensor<3x4xf32>) {
  // expected-error @below {{'tp.scatter' op updates has size 3 along dim 0, expected 2}}
  %0 = tp.scatter %arg0, %arg1, %arg2 dim 0 : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @updates_of_another_type(%arg0: tensor<8x4xf32>, %arg1: tensor<2x4xi64>, %arg2: tensor<2x4xf64>) {
  // expected-error @below {{'tp.scatter' op updates have element type 'f64', expected 'f32'}}
  %0 = tp.scatter %arg0, %arg1, %arg2 dim 0 : (tensor<8x4xf32>, tensor<2x4xi64>, tensor<2x4xf64>) -> tensor<8x4xf32>
  return
}

// -----

func.func @order_is_no_integer(%arg0: tensor<4x8xf32>) {
  // expected-error @below {{'tp.sort' op order has element type 'i32', expected 'i64'}}
  %0, %1 = tp.sort %arg0 dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi32>
  return
}

// -----

func.func @first_of_too_few(%arg0: tensor<4x8xf32>) {
  // expected-error @below {{'tp.sort' op returns the first 9 elements of each row, but dim 1 has size 8}}
  %0, %1 = tp.sort %arg0 dim 1 first 9 : tensor<4x8xf32> -> tensor<4x9xf32>, tensor<4x9xi64>
  return
}

// -----

func.func @first_below_zero(%arg0: tensor<4x8xf32>) {
  // expected-error @below {{'tp.sort' op returns the first -1 elements of each row}}
  %0, %1 = tp.sort %arg0 dim 1 first -1 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  return
}

// -----

func.func @first_of_other_size(%arg0: tensor<4x8xf32>) {
  // expected-error @below {{'tp.sort' op}}
  %0, %1 = tp.sort %arg0 dim 1 first 2 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  return
}

// -----

func.func @unordered_by_no_algorithm(%arg0: tensor<4x8xf32>) {
  // expected-error @below {{'tp.sort' op leaves the order of its elements open, but names no algorithm}}
  %0, %1 = tp.sort %arg0 dim 1 first 2 unordered : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi64>
  return
}
