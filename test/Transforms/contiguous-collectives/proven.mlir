// No copy where density is proven.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s
// Once more changes nothing.
// RUN: commute-opt %s --contiguous-collectives | commute-opt --contiguous-collectives | FileCheck %s

// CHECK-LABEL: func.func @computed(
// CHECK-NOT: tp.copy
// CHECK: return
func.func @computed(%x: tensor<4x8xf32>, %row: tensor<8xf32>) {
  %0 = tp.map add(%x, %row) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{operand 0 is dense: its strides follow from the ops that compute it}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// Transposed and back.
// CHECK-LABEL: func.func @transposed_twice(
// CHECK-NOT: tp.copy
// CHECK: return
func.func @transposed_twice(%x: tensor<4x8xf32>) {
  %0 = tp.permute %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  %1 = tp.map neg(%0) : (tensor<8x4xf32, #tp.layout<strides = [1, 8]>>) -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  %2 = tp.permute %1 [1, 0] : tensor<8x4xf32, #tp.layout<strides = [1, 8]>> -> tensor<4x8xf32>
  // expected-remark @below {{operand 0 is dense}}
  %3 = tp.all_gather %2 gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// What a collective gives is dense, whatever it was given.
// CHECK-LABEL: func.func @output_of_a_collective(
// CHECK-NOT: tp.copy
// CHECK: return
func.func @output_of_a_collective(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %0 = tp.all_reduce sum %t group <"0", [0, 1]> async : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  %1 = tp.wait %0 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{operand 0 is dense}}
  %2 = tp.reduce_scatter sum %1 scatter_axis 0 group <"0", [0, 1]> async : tensor<4x8xf32> -> tensor<2x8xf32>
  %3 = tp.wait %2 : tensor<2x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{operand 0 is dense}}
  %4 = tp.all_gather %3 gather_axis 0 group <"0", [0, 1]> : tensor<2x8xf32> -> tensor<4x8xf32>
  return
}

// Packing a dim other than 0 by chunks is a dense copy already.
// CHECK-LABEL: func.func @packed_by_concat(
// CHECK-NOT: tp.copy
// CHECK: return
func.func @packed_by_concat(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %0 = tp.slice %t dim 1 start 0 step 1 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x4xf32, #tp.layout<strides = [1, 4]>>
  %1 = tp.slice %t dim 1 start 4 step 1 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x4xf32, #tp.layout<strides = [1, 4]>>
  %2 = tp.concat %0, %1 dim 0 : (tensor<4x4xf32, #tp.layout<strides = [1, 4]>>, tensor<4x4xf32, #tp.layout<strides = [1, 4]>>) -> tensor<8x4xf32>
  // expected-remark @below {{operand 0 is dense: its strides follow from the ops that compute it}}
  %3 = tp.reduce_scatter sum %2 scatter_axis 0 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<4x4xf32>
  return
}

// CHECK-LABEL: func.func @rows_are_dense(
// CHECK-NEXT: tp.slice
// CHECK-NEXT: tp.all_gather
// CHECK-NEXT: %[[COLUMNS:.*]] = tp.slice
// CHECK-NEXT: tp.copy %[[COLUMNS]]
// CHECK-NEXT: tp.all_gather
// CHECK-NEXT: return
func.func @rows_are_dense(%x: tensor<4x8xf32>) {
  %0 = tp.slice %x dim 0 start 1 step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{operand 0 is dense}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<2x8xf32> -> tensor<4x8xf32>
  %2 = tp.slice %x dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf32, #tp.layout<strides = [8, 1]>>
  // expected-remark @below {{copied operand 0 to dense memory: its strides are [8, 1]}}
  %3 = tp.all_gather %2 gather_axis 0 group <"0", [0, 1]> : tensor<4x4xf32, #tp.layout<strides = [8, 1]>> -> tensor<8x4xf32>
  return
}

// Strides of dims of size 1, and of tensors without elements, mean nothing.
// CHECK-LABEL: func.func @strides_that_mean_nothing(
// CHECK-NOT: tp.copy
// CHECK: return
func.func @strides_that_mean_nothing(%one: tensor<1x8xf32, #tp.layout<strides = [1, 1]>>, %empty: tensor<0x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{operand 0 is dense}}
  %0 = tp.all_gather %one gather_axis 0 group <"0", [0, 1]> : tensor<1x8xf32, #tp.layout<strides = [1, 1]>> -> tensor<2x8xf32>
  // expected-remark @below {{operand 0 is dense}}
  %1 = tp.all_gather %empty gather_axis 0 group <"0", [0, 1]> : tensor<0x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<0x8xf32>
  return
}

// CHECK-LABEL: func.func @symbolic(
// CHECK-NOT: tp.copy
// CHECK: return
func.func @symbolic(%x: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>) {
  %0 = tp.map neg(%x) : (tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>) -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>
  // expected-remark @below {{operand 0 is dense}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 16, 64]>>
  return
}
