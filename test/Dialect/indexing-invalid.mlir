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

func.func @fewer_than_none_unordered(%arg0: tensor<4x8xf32>) {
  // expected-error @below {{'tp.sort' op has -1 unordered elements}}
  %0, %1 = tp.sort %arg0 dim 1 unordered -1 : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  return
}
