// One copy for all that need the same value.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s
// Once more changes nothing.
// RUN: commute-opt %s --contiguous-collectives | commute-opt --contiguous-collectives | FileCheck %s

// CHECK-LABEL: func.func @several_collectives(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: tp.reduce_scatter sum %[[COPY]]
// CHECK-NEXT: tp.all_to_all %[[COPY]]
// CHECK-NEXT: return
func.func @several_collectives(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  // expected-remark @below {{operand 0 reuses an existing dense copy: its strides are [1, 4]}}
  %1 = tp.reduce_scatter sum %t scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<2x8xf32>
  // expected-remark @below {{operand 0 reuses an existing dense copy}}
  %2 = tp.all_to_all %t output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  return
}

// Readers that take any strides keep the value itself: reading a copy would
// change the layout of what they compute.
// CHECK-LABEL: func.func @other_readers(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: tp.map neg(%arg0)
// CHECK-NEXT: return
func.func @other_readers(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  %1 = tp.map neg(%t) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  return
}

// Other values get copies of their own.
// CHECK-LABEL: func.func @two_values(
// CHECK-NEXT: %[[FIRST:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[FIRST]]
// CHECK-NEXT: %[[SECOND:.*]] = tp.copy %arg1
// CHECK-NEXT: tp.all_gather %[[SECOND]]
// CHECK-NEXT: return
func.func @two_values(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %u: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %1 = tp.all_gather %u gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return
}
