// Strides of casts and copies.
// RUN: commute-opt %s --print-op-facts="strides=true" -verify-diagnostics

// Result types state no strides, so that what is found comes from the ops' rules.
// Expected strides are those that PyTorch 2.13 gives.

func.func @copy_dense(%a: tensor<2x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.copy %a {preserve_strides} : tensor<2x4xf32> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @copy_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.copy %a {preserve_strides} : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @copy_gaps(%a: tensor<4x4xf32, #tp.layout<strides = [8, 2]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.copy %a {preserve_strides} : tensor<4x4xf32, #tp.layout<strides = [8, 2]>> -> tensor<4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @copy_gaps_transposed(%a: tensor<4x4xf32, #tp.layout<strides = [2, 8]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 4]}}
  %r = tp.copy %a {preserve_strides} : tensor<4x4xf32, #tp.layout<strides = [2, 8]>> -> tensor<4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @copy_expanded(%a: tensor<4x3xf32, #tp.layout<strides = [1, 0]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.copy %a {preserve_strides} : tensor<4x3xf32, #tp.layout<strides = [1, 0]>> -> tensor<4x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @copy_expanded_transposed(%a: tensor<3x4xf32, #tp.layout<strides = [0, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.copy %a {preserve_strides} : tensor<3x4xf32, #tp.layout<strides = [0, 1]>> -> tensor<3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @copy_channels_last(%a: tensor<2x3x4x4xf32, #tp.layout<strides = [48, 1, 12, 3]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [48, 1, 12, 3]}}
  %r = tp.copy %a {preserve_strides} : tensor<2x3x4x4xf32, #tp.layout<strides = [48, 1, 12, 3]>> -> tensor<2x3x4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @copy_size_one(%a: tensor<4x1xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.copy %a {preserve_strides} : tensor<4x1xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x1xf32, #tp.layout<strides = ?>>
  return
}

func.func @cast_dense(%a: tensor<2x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.cast %a : tensor<2x4xf32> -> tensor<2x4xbf16, #tp.layout<strides = ?>>
  return
}

func.func @cast_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.cast %a : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xbf16, #tp.layout<strides = ?>>
  return
}

func.func @cast_gaps(%a: tensor<4x4xf32, #tp.layout<strides = [8, 2]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.cast %a : tensor<4x4xf32, #tp.layout<strides = [8, 2]>> -> tensor<4x4xbf16, #tp.layout<strides = ?>>
  return
}

func.func @cast_gaps_permuted(%a: tensor<6x4x4xf32, #tp.layout<strides = [1, 48, 6]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 24, 6]}}
  %r = tp.cast %a : tensor<6x4x4xf32, #tp.layout<strides = [1, 48, 6]>> -> tensor<6x4x4xbf16, #tp.layout<strides = ?>>
  return
}

func.func @cast_expanded(%a: tensor<3x4xf32, #tp.layout<strides = [0, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.cast %a : tensor<3x4xf32, #tp.layout<strides = [0, 1]>> -> tensor<3x4xbf16, #tp.layout<strides = ?>>
  return
}

func.func @cast_contiguous(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.cast %a {contiguous} : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xbf16, #tp.layout<strides = ?>>
  return
}
