// Strides of reindexing ops.
// RUN: commute-opt %s --print-op-facts="strides=true" -verify-diagnostics

// Result types state no strides, so that what is found comes from the ops' rules.
// Expected strides are those that PyTorch 2.13 gives.

func.func @permute(%a: tensor<2x3x4xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 12, 4]}}
  %r = tp.permute %a [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @permute_back(%a: tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.permute %a [1, 2, 0] : tensor<4x2x3xf32, #tp.layout<strides = [1, 12, 4]>> -> tensor<2x3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @permute_size_one(%a: tensor<4x1xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.permute %a [1, 0] : tensor<4x1xf32> -> tensor<1x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @permute_size_one_in_front(%a: tensor<1x4x8xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.permute %a [1, 0, 2] : tensor<1x4x8xf32> -> tensor<4x1x8xf32, #tp.layout<strides = ?>>
  return
}

func.func @slice_rows(%a: tensor<8x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.slice %a dim 0 start 2 step 1 : tensor<8x4xf32> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @slice_columns(%a: tensor<4x8xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [8, 1]}}
  %r = tp.slice %a dim 1 start 2 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = ?>>
  return
}

func.func @slice_with_step(%a: tensor<8x4xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [8, 1]}}
  %r = tp.slice %a dim 0 start 0 step 2 : tensor<8x4xf32> -> tensor<4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @slice_one_row_with_step(%a: tensor<2x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.slice %a dim 0 start 0 step 2 : tensor<2x4xf32> -> tensor<1x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @slice_one_column(%a: tensor<4x8xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [8, 1]}}
  %r = tp.slice %a dim 1 start 2 step 1 : tensor<4x8xf32> -> tensor<4x1xf32, #tp.layout<strides = ?>>
  return
}

func.func @slice_of_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.slice %a dim 0 start 1 step 1 : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<1x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @slice_nothing(%a: tensor<4x8xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.slice %a dim 1 start 2 step 1 : tensor<4x8xf32> -> tensor<4x0xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_dense(%a: tensor<4x6xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<4x6xf32> -> tensor<2x2x6xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_same(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.reshape %a : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_splits_sliced(%a: tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [16, 8, 1]}}
  %r = tp.reshape %a : tensor<4x4xf32, #tp.layout<strides = [8, 1]>> -> tensor<2x2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_merges_sliced(%a: tensor<4x4xf32, #tp.layout<strides = [8, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<4x4xf32, #tp.layout<strides = [8, 1]>> -> tensor<16xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_merges_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<8xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_splits_transposed(%a: tensor<6x4xf32, #tp.layout<strides = [1, 6]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [3, 1, 6]}}
  %r = tp.reshape %a : tensor<6x4xf32, #tp.layout<strides = [1, 6]>> -> tensor<2x3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_merges_swapped(%a: tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<3x2x4xf32, #tp.layout<strides = [4, 12, 1]>> -> tensor<3x8xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_splits_heads(%a: tensor<2x4x12xf32, #tp.layout<strides = [96, 12, 1]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [96, 12, 4, 1]}}
  %r = tp.reshape %a : tensor<2x4x12xf32, #tp.layout<strides = [96, 12, 1]>> -> tensor<2x4x3x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_merges_heads(%a: tensor<2x3x8x4xf32, #tp.layout<strides = [96, 4, 12, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<2x3x8x4xf32, #tp.layout<strides = [96, 4, 12, 1]>> -> tensor<2x3x32xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_merges_swapped_heads(%a: tensor<2x8x3x4xf32, #tp.layout<strides = [96, 4, 32, 1]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<2x8x3x4xf32, #tp.layout<strides = [96, 4, 32, 1]>> -> tensor<2x8x12xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_adds_dim(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 8, 2]}}
  %r = tp.reshape %a : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x1x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_drops_dim(%a: tensor<1x2x4xf32, #tp.layout<strides = [8, 1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.reshape %a : tensor<1x2x4xf32, #tp.layout<strides = [8, 1, 2]>> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_expanded_view(%a: tensor<4x3xf32, #tp.layout<strides = [1, 0]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [2, 1, 0]}}
  %r = tp.reshape %a : tensor<4x3xf32, #tp.layout<strides = [1, 0]>> -> tensor<2x2x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_expanded_copy(%a: tensor<4x3xf32, #tp.layout<strides = [1, 0]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<4x3xf32, #tp.layout<strides = [1, 0]>> -> tensor<12xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_empty(%a: tensor<4x0xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.reshape %a : tensor<4x0xf32, #tp.layout<strides = [1, 4]>> -> tensor<2x0xf32, #tp.layout<strides = ?>>
  return
}

func.func @reshape_merges_run(%a: tensor<4x2x3xf32, #tp.layout<strides = [1, 24, 8]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 8]}}
  %r = tp.reshape %a : tensor<4x2x3xf32, #tp.layout<strides = [1, 24, 8]>> -> tensor<4x6xf32, #tp.layout<strides = ?>>
  return
}

func.func @broadcast_column(%a: tensor<4x1xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [0, 1, 0]}}
  %r = tp.broadcast %a : tensor<4x1xf32> -> tensor<2x4x8xf32, #tp.layout<strides = ?>>
  return
}

func.func @broadcast_new_dim_of_one(%a: tensor<4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.broadcast %a : tensor<4xf32> -> tensor<1x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @broadcast_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [0, 1, 2]}}
  %r = tp.broadcast %a : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<3x2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @broadcast_transposed_new_dim_of_one(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [2, 1, 2]}}
  %r = tp.broadcast %a : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<1x2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @broadcast_scalar(%a: tensor<f32>) {
  // expected-remark @below {{result 0 is strided: its strides are [0, 0]}}
  %r = tp.broadcast %a : tensor<f32> -> tensor<2x3xf32, #tp.layout<strides = ?>>
  return
}

func.func @broadcast_same(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %r = tp.broadcast %a : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @concat_dense(%a: tensor<2x4xf32>, %b: tensor<3x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.concat %a, %b dim 0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<5x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @concat_transposed(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, %b: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.concat %a, %b dim 0 : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<4x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @concat_columns(%a: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, %b: tensor<2x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.concat %a, %b dim 1 : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>, tensor<2x4xf32>) -> tensor<2x8xf32, #tp.layout<strides = ?>>
  return
}

func.func @concat_images(%a: tensor<2x3x4x4xf32>, %b: tensor<2x3x4x4xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.concat %a, %b dim 1 : (tensor<2x3x4x4xf32>, tensor<2x3x4x4xf32>) -> tensor<2x6x4x4xf32, #tp.layout<strides = ?>>
  return
}
