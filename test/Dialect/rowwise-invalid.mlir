// What the verifiers of reductions, row-wise ops and norms refuse.
// Each is beside a twin that is legal.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @reduce_dim(%a: tensor<2x4x8xf32>) {
  %legal = tp.reduce sum %a dims [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  // expected-error @below {{'tp.reduce' op an element of `dims` is 3, expected a dim of a tensor of rank 3}}
  %illegal = tp.reduce sum %a dims [3] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @reduce_negative_dim(%a: tensor<2x4x8xf32>) {
  %legal = tp.reduce sum %a dims [2] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  // expected-error @below {{'tp.reduce' op an element of `dims` is -1, expected a dim of a tensor of rank 3}}
  %illegal = tp.reduce sum %a dims [-1] : tensor<2x4x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @reduce_twice(%a: tensor<2x4x8xf32>) {
  %legal = tp.reduce sum %a dims [2, 1] : tensor<2x4x8xf32> -> tensor<2xf32>
  // expected-error @below {{'tp.reduce' op dim 1 is reduced twice}}
  %illegal = tp.reduce sum %a dims [1, 1] : tensor<2x4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @reduce_keep_dims(%a: tensor<2x4x8xf32>) {
  %legal = tp.reduce sum %a dims [1] keep_dims : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  // expected-error @below {{'tp.reduce' op result has 2 dims, expected 3}}
  %illegal = tp.reduce sum %a dims [1] keep_dims : tensor<2x4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @rowwise_dim(%a: tensor<2x4x8xf32>) {
  %legal = tp.rowwise softmax %a dim 2 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.rowwise' op dim is 3, expected a dim of a tensor of rank 3}}
  %illegal = tp.rowwise softmax %a dim 3 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @rowwise_size(%a: tensor<2x4x8xf32>) {
  %legal = tp.rowwise softmax %a dim 2 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.rowwise' op result has size 1 along dim 2, expected 8}}
  %illegal = tp.rowwise softmax %a dim 2 : tensor<2x4x8xf32> -> tensor<2x4x1xf32>
  return
}

// -----

func.func @rms_norm_dims(%a: tensor<2x4x8xf32>) {
  %legal = tp.rms_norm %a dims 3 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.rms_norm' op normalizes 4 dims of a tensor of rank 3}}
  %illegal = tp.rms_norm %a dims 4 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @rms_norm_no_dims(%a: tensor<2x4x8xf32>) {
  %legal = tp.rms_norm %a dims 1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.rms_norm' op normalizes 0 dims of a tensor of rank 3}}
  %illegal = tp.rms_norm %a dims 0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @rms_norm_weight(%a: tensor<2x4x8xf32>, %b: tensor<8xf32>, %c: tensor<4xf32>) {
  %legal = tp.rms_norm %a weight %b dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.rms_norm' op weight has size 4 along dim 0, expected 8}}
  %illegal = tp.rms_norm %a weight %c dims 1 : (tensor<2x4x8xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @rms_norm_result(%a: tensor<2x4x8xf32>) {
  %legal = tp.rms_norm %a dims 1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.rms_norm' op result has 2 dims, expected 3}}
  %illegal = tp.rms_norm %a dims 1 : (tensor<2x4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_weight_dims(%a: tensor<2x4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<8xf32>) {
  %legal = tp.layer_norm %a weight %b epsilon 1.0e-05 dims 2 : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.layer_norm' op weight has 1 dims, expected 2}}
  %illegal = tp.layer_norm %a weight %c epsilon 1.0e-05 dims 2 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @layer_norm_bias(%a: tensor<2x4x8xf32>, %b: tensor<8xf32>, %c: tensor<4xf32>) {
  %legal = tp.layer_norm %a bias %b epsilon 1.0e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // expected-error @below {{'tp.layer_norm' op weight has size 4 along dim 0, expected 8}}
  %illegal = tp.layer_norm %a bias %c epsilon 1.0e-05 dims 1 : (tensor<2x4x8xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @add_rms_norm_residual(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  %legal = tp.add_rms_norm %a, %a weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.add_rms_norm' op residual has 1 dims, expected 2}}
  %illegal = tp.add_rms_norm %a, %b weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @add_rms_norm_sum(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  %n, %s = tp.add_rms_norm %a, %a weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // expected-error @below {{'tp.add_rms_norm' op result has 1 dims, expected 2}}
  %n2, %s2 = tp.add_rms_norm %a, %a weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>)
  return
}
