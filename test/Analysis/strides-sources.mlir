// Where what is known of a layout comes from: an input's type, the ops' rules,
// or, for ops without a rule, the type that PyTorch recorded.
// RUN: commute-opt %s --print-op-facts="strides=true" -verify-diagnostics

func.func @no_rule_recorded_dense(%q: tensor<2x4x8x16xf32>) {
  // expected-remark @below {{result 0 is dense: PyTorch recorded it as dense}}
  %r = tp.attention %q, %q, %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

func.func @no_rule_recorded_strided(%q: tensor<2x4x8x16xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [512, 16, 64, 1]}}
  %r = tp.attention %q, %q, %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32, #tp.layout<strides = [512, 16, 64, 1]>>
  return
}

func.func @no_rule_nothing_recorded(%q: tensor<2x4x8x16xf32>) {
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %r = tp.attention %q, %q, %q : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32, #tp.layout<strides = ?>>
  // What follows from it is not known either, but for ops that write dense.
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %n = tp.map neg(%r) : (tensor<2x4x8x16xf32, #tp.layout<strides = ?>>) -> tensor<2x4x8x16xf32, #tp.layout<strides = ?>>
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %s = tp.reshape %n : tensor<2x4x8x16xf32, #tp.layout<strides = ?>> -> tensor<8x128xf32, #tp.layout<strides = ?>>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %c = tp.copy %r : tensor<2x4x8x16xf32, #tp.layout<strides = ?>> -> tensor<2x4x8x16xf32>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %m = tp.matmul %r, %r transpose_rhs : (tensor<2x4x8x16xf32, #tp.layout<strides = ?>>, tensor<2x4x8x16xf32, #tp.layout<strides = ?>>) -> tensor<2x4x8x8xf32>
  return
}

// An opaque op may do anything: its type is all there is.
func.func @call(%x: tensor<4x2xf32>) {
  // expected-remark @below {{result 0 is dense: PyTorch recorded it as dense}}
  // expected-remark @below {{result 1 is strided: its strides are [1, 4]}}
  // expected-remark @below {{result 2 is unknown: its layout is unknown}}
  %r:3 = tp.call "op"(%x) arguments "" : (tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32, #tp.layout<strides = [1, 4]>>, i64)
  return
}

// A recorded layout that the op's rule contradicts: one of them is wrong.
func.func @contradiction(%x: tensor<4x2xf32>) {
  // expected-remark @below {{result 0 is unknown: the recorded strides contradict those inferred from the op}}
  %r = tp.permute %x [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  // expected-remark @below {{result 0 is strided: its strides are [1, 2]}}
  %s = tp.permute %x [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32, #tp.layout<strides = [1, 2]>>
  return
}

// Strides of dims of size 1, and of tensors without elements, mean nothing.
func.func @no_contradiction(%x: tensor<4x1xf32>, %empty: tensor<4x0xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %r = tp.permute %x [1, 0] : tensor<4x1xf32> -> tensor<1x4xf32, #tp.layout<strides = [17, 1]>>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %s = tp.permute %empty [1, 0] : tensor<4x0xf32> -> tensor<0x4xf32, #tp.layout<strides = [5, 9]>>
  return
}

func.func @collectives_write_dense(%x: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %a = tp.all_reduce sum %x group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %b = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %c = tp.wait %b : tensor<8x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %d = tp.reduce_scatter sum %c scatter_axis 1 group <"0", [0, 1]> : tensor<8x8xf32> -> tensor<8x4xf32>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %e = tp.all_to_all %d output_splits [] input_splits [] group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

func.func @rank_slice_is_a_view(%x: tensor<4x8xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %a = tp.rank_slice %x slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{result 0 is strided: its strides are [8, 1]}}
  %b = tp.rank_slice %x slice_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
  return
}

func.func @rank_select_has_common_strides(%x: tensor<4x2xf32, #tp.layout<strides = [1, 4]>>, %y: tensor<4x2xf32>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 4]}}
  %a = tp.rank_select %x, %x group <"0", [0, 1]> : (tensor<4x2xf32, #tp.layout<strides = [1, 4]>>, tensor<4x2xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %b = tp.rank_select %x, %y group <"0", [0, 1]> : (tensor<4x2xf32, #tp.layout<strides = [1, 4]>>, tensor<4x2xf32>) -> tensor<4x2xf32, #tp.layout<strides = ?>>
  return
}

// Markers are clones, which keep the order of dims.
func.func @region_marker(%x: tensor<4x2xf32, #tp.layout<strides = [1, 4]>>, %gaps: tensor<4x2xf32, #tp.layout<strides = [4, 1]>>) {
  // expected-remark @below {{result 0 is strided: its strides are [1, 4]}}
  %a = tp.region_marker begin %x id 0 : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %b = tp.region_marker end %gaps id 0 : tensor<4x2xf32, #tp.layout<strides = [4, 1]>> -> tensor<4x2xf32>
  return
}

// Fused collectives gather along dim 0 of a moved view, and scatter into fresh
// memory.
func.func @fused(%x: tensor<4x8xf32>, %y: tensor<2x4x8xf32>, %w: tensor<8x16xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %a = tp.all_gather_matmul %x, rhs(%w) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-remark @below {{result 0 is strided: its strides are [16, 32, 1]}}
  %b = tp.all_gather_matmul %y, rhs(%w) gather_axis 1 group <"0", [0, 1]> : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x8x16xf32, #tp.layout<strides = [16, 32, 1]>>
  // expected-remark @below {{result 0 is unknown: the recorded strides contradict those inferred from the op}}
  %c = tp.all_gather_matmul %y, rhs(%w) gather_axis 1 group <"0", [0, 1]> : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x8x16xf32>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %d = tp.matmul_reduce_scatter sum %x, %w scatter_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<2x16xf32>
  return
}

// PyTorch concatenates what looks like channels-last images to such an image.
// With one channel a tensor is dense and looks like one all the same: cat of
// the second pair has strides [32, 1, 8, 2] in PyTorch.
func.func @concat_channels_last(%image: tensor<2x3x4x4xf32, #tp.layout<strides = [48, 1, 12, 3]>>, %one: tensor<2x1x4x4xf32, #tp.layout<strides = [16, 1, 4, 1]>>) {
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %a = tp.concat %image, %image dim 1 : (tensor<2x3x4x4xf32, #tp.layout<strides = [48, 1, 12, 3]>>, tensor<2x3x4x4xf32, #tp.layout<strides = [48, 1, 12, 3]>>) -> tensor<2x6x4x4xf32, #tp.layout<strides = ?>>
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %b = tp.concat %one, %one dim 1 : (tensor<2x1x4x4xf32, #tp.layout<strides = [16, 1, 4, 1]>>, tensor<2x1x4x4xf32, #tp.layout<strides = [16, 1, 4, 1]>>) -> tensor<2x2x4x4xf32, #tp.layout<strides = ?>>
  return
}

// Kernels that differ between devices on strided operands have no rule there.
func.func @rules_for_dense_operands(%x: tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) {
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %a = tp.rowwise softmax %x dim 1 : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %b = tp.rms_norm %x dims 1 : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %c = tp.layer_norm %x epsilon 1.0e-05 dims 1 : (tensor<2x4xf32, #tp.layout<strides = [1, 2]>>) -> tensor<2x4xf32, #tp.layout<strides = ?>>
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %d = tp.reduce sum %x dims [0] keep_dims : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<1x4xf32, #tp.layout<strides = ?>>
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  %e = tp.triangular %x diagonal 0 : tensor<2x4xf32, #tp.layout<strides = [1, 2]>> -> tensor<2x4xf32, #tp.layout<strides = ?>>
  return
}

func.func @two_results(%x: tensor<4x8xf32>, %t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %w: tensor<8xf32>) {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  // expected-remark @below {{result 1 is dense: its strides follow from the ops that compute it}}
  %n, %s = tp.add_rms_norm %x, %t weight %w epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // expected-remark @below {{result 0 is unknown: its strides are not known}}
  // expected-remark @below {{result 1 is strided: its strides are [1, 4]}}
  %n2, %s2 = tp.add_rms_norm %t, %x weight %w epsilon 1.0e-05 : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32, #tp.layout<strides = ?>>, tensor<4x8xf32, #tp.layout<strides = ?>>)
  return
}

func.func @factories() {
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %a = tp.constant 0.0 : f64 -> tensor<4x2xf32>
  // expected-remark @below {{result 0 is dense: its strides follow from the ops that compute it}}
  %b = tp.iota 0 : i64 step 1 : i64 -> tensor<4xi64>
  return
}
