// Strides of matrix products and of ops that write dense results.
// RUN: commute-opt %s --print-op-facts="strides=true" -verify-diagnostics

// Result types state no strides, so that what is found comes from the ops' rules.
// Expected strides are those that PyTorch 2.13 gives.

func.func @matmul_dense(%a: tensor<2x4xf32>, %b: tensor<4x5xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.matmul %a, %b : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @matmul_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, %b: tensor<4x5xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.matmul %a, %b : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, tensor<4x5xf32, #tp.layout<strides = [1, 4]>>) -> tensor<2x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @linear_swapped(%a: tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>, %b: tensor<5x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.matmul %a, %b transpose_rhs : (tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>, tensor<5x4xf32>) -> tensor<3x2x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @linear_bias(%a: tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>, %b: tensor<5x4xf32>, %c: tensor<5xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.matmul %a, %b transpose_rhs bias %c : (tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>, tensor<5x4xf32>, tensor<5xf32>) -> tensor<3x2x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @matmul_batch(%a: tensor<2x2x3x4xf32, #tp.layout<strides = [24, 4, 8, 1]>>, %b: tensor<2x2x4x5xf32, #tp.layout<strides = [20, 0, 5, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.matmul %a, %b : (tensor<2x2x3x4xf32, #tp.layout<strides = [24, 4, 8, 1]>>, tensor<2x2x4x5xf32, #tp.layout<strides = [20, 0, 5, 1]>>) -> tensor<2x2x3x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @matmul_matrix_with_batch(%a: tensor<2x4xf32>, %b: tensor<3x4x5xf32, #tp.layout<strides = [20, 1, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.matmul %a, %b : (tensor<2x4xf32>, tensor<3x4x5xf32, #tp.layout<strides = [20, 1, 4]>>) -> tensor<3x2x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @reduce(%a: tensor<2x3x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reduce sum %a dims [1] keep_dims : tensor<2x3x4xf32> -> tensor<2x1x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @softmax(%a: tensor<2x3x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.rowwise softmax %a dim 1 : tensor<2x3x4xf32> -> tensor<2x3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @layer_norm(%a: tensor<2x3x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.layer_norm %a epsilon 1.0e-05 dims 1 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @rms_norm(%a: tensor<2x3x4xf32>, %b: tensor<4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.rms_norm %a weight %b dims 1 : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @take(%a: tensor<10x4xf32>, %b: tensor<2x3xi64>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.take %a, %b dim 0 : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @take_columns(%a: tensor<4x8x5xf32>, %b: tensor<3xi64>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.take %a, %b dim 1 : (tensor<4x8x5xf32>, tensor<3xi64>) -> tensor<4x3x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @triangular(%a: tensor<2x3x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.triangular %a diagonal 0 : tensor<2x3x4xf32> -> tensor<2x3x4xf32, #tp.layout<strides = ?>>
  return
}
