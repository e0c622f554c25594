// Strides of elementwise results (TensorIterator).
// RUN: commute-opt %s --print-op-facts="strides=true" -verify-diagnostics

// Result types state no strides, so that what is found comes from the ops' rules.
// Expected strides are those that PyTorch 2.13 gives.

func.func @dense(%a: tensor<2x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map neg(%a) : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @both_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, %b: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map add(%a, %b) : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @first_operand_leads(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, %b: tensor<2x4xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map add(%a, %b) : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, tensor<2x4xf32>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @first_operand_leads_dense(%a: tensor<2x4xf32>, %b: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map add(%a, %b) : (tensor<2x4xf32>, tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @scalar_has_no_say(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, %b: tensor<f32>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map add(%a, %b) : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, tensor<f32>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @row_has_no_say(%a: tensor<4xf32>, %b: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map add(%a, %b) : (tensor<4xf32>, tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @column(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, %b: tensor<2x1xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map add(%a, %b) : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, tensor<2x1xf32>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @row_and_column(%a: tensor<4x1xf32>, %b: tensor<1x3xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map add(%a, %b) : (tensor<4x1xf32>, tensor<1x3xf32>) -> tensor<4x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @row_first(%a: tensor<1x3xf32>, %b: tensor<4x1xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map add(%a, %b) : (tensor<1x3xf32>, tensor<4x1xf32>) -> tensor<4x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @expanded(%a: tensor<4x3xf32, #tp.layout<strides = [1, 0]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<4x3xf32, #tp.layout<strides = [1, 0]>>) -> tensor<4x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @expanded_and_transposed(%a: tensor<3x4xf32, #tp.layout<strides = [0, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<3x4xf32, #tp.layout<strides = [0, 1]>>) -> tensor<3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @permuted(%a: tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 12, 4]}}
  %r = tp.map neg(%a) : (tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>>) -> tensor<4x2x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @permuted_and_row(%a: tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>>, %b: tensor<3xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 12, 4]}}
  %r = tp.map add(%a, %b) : (tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>>, tensor<3xf32>) -> tensor<4x2x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @permuted_twice(%a: tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>>, %b: tensor<4x2x3xf32, #tp.layout<strides = [1, 4, 8]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 12, 4]}}
  %r = tp.map add(%a, %b) : (tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>>, tensor<4x2x3xf32, #tp.layout<strides = [1, 4, 8]>>) -> tensor<4x2x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @gaps(%a: tensor<4x4xf32, #tp.layout<strides = [8, 2]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<4x4xf32, #tp.layout<strides = [8, 2]>>) -> tensor<4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @gaps_transposed(%a: tensor<4x4xf32, #tp.layout<strides = [2, 8]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 4]}}
  %r = tp.map neg(%a) : (tensor<4x4xf32, #tp.layout<strides = [2, 8]>>) -> tensor<4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @gaps_permuted(%a: tensor<6x4x4xf32, #tp.layout<strides = [1, 48, 6]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 24, 6]}}
  %r = tp.map neg(%a) : (tensor<6x4x4xf32, #tp.layout<strides = [1, 48, 6]>>) -> tensor<6x4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @equal_strides(%a: tensor<2x3xf32, #tp.layout<strides = [1, 1]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map neg(%a) : (tensor<2x3xf32, #tp.layout<strides = [1, 1]>>) -> tensor<2x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @equal_strides_other_sizes(%a: tensor<3x2xf32, #tp.layout<strides = [1, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<3x2xf32, #tp.layout<strides = [1, 1]>>) -> tensor<3x2xf32, #tp.layout<strides = ?>>
  return
}

func.func @ambiguous_order(%a: tensor<4x5xf32, #tp.layout<strides = [0, 1]>>, %b: tensor<4x5xf32, #tp.layout<strides = [1, 0]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map add(%a, %b) : (tensor<4x5xf32, #tp.layout<strides = [0, 1]>>, tensor<4x5xf32, #tp.layout<strides = [1, 0]>>) -> tensor<4x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @select_of_transposed_condition(%a: tensor<4x5xi1, #tp.layout<strides = [1, 4]>>, %b: tensor<4x5xf32>, %c: tensor<4x1xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 4]}}
  %r = tp.map select(%a, %b, %c) : (tensor<4x5xi1, #tp.layout<strides = [1, 4]>>, tensor<4x5xf32>, tensor<4x1xf32>) -> tensor<4x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @select_of_dense_condition(%a: tensor<4x5xi1>, %b: tensor<4x5xf32, #tp.layout<strides = [1, 4]>>, %c: tensor<4x1xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map select(%a, %b, %c) : (tensor<4x5xi1>, tensor<4x5xf32, #tp.layout<strides = [1, 4]>>, tensor<4x1xf32>) -> tensor<4x5xf32, #tp.layout<strides = ?>>
  return
}

func.func @comparison(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.map is_nan(%a) : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<2x4xi1, #tp.layout<strides = ?>>
  return
}

func.func @size_one_has_no_say(%a: tensor<4x1xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<4x1xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x1xf32, #tp.layout<strides = ?>>
  return
}

func.func @size_one_between(%a: tensor<4x1x8xf32, #tp.layout<strides = [8, 1000, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<4x1x8xf32, #tp.layout<strides = [8, 1000, 1]>>) -> tensor<4x1x8xf32, #tp.layout<strides = ?>>
  return
}

func.func @size_one_beside_transposed(%a: tensor<4x1x8xf32, #tp.layout<strides = [1, 1000, 4]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 1000, 4]}}
  %r = tp.map neg(%a) : (tensor<4x1x8xf32, #tp.layout<strides = [1, 1000, 4]>>) -> tensor<4x1x8xf32, #tp.layout<strides = ?>>
  return
}

func.func @empty(%a: tensor<4x0xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<4x0xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x0xf32, #tp.layout<strides = ?>>
  return
}

func.func @empty_between(%a: tensor<4x0x2xf32, #tp.layout<strides = [1, 4, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<4x0x2xf32, #tp.layout<strides = [1, 4, 4]>>) -> tensor<4x0x2xf32, #tp.layout<strides = ?>>
  return
}

func.func @scalar(%a: tensor<f32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.map neg(%a) : (tensor<f32>) -> tensor<f32, #tp.layout<strides = ?>>
  return
}
