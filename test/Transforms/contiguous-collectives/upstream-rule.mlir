// AutoParallel's rule, for comparison: copy every input of an all-gather or
// reduce-scatter that is not itself a dense copy, and nothing else.
// RUN: commute-opt %s --contiguous-collectives=upstream-rule=true --remarks-filter=.* -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @dense_input(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0 : tensor<4x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @dense_input(%x: tensor<4x8xf32>) {
  // expected-remark @below {{copied operand 0 to dense memory without checking its strides}}
  %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// One copy for each collective.
// CHECK-LABEL: func.func @two_collectives(
// CHECK-NEXT: %[[FIRST:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[FIRST]]
// CHECK-NEXT: %[[SECOND:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.reduce_scatter sum %[[SECOND]]
// CHECK-NEXT: return
func.func @two_collectives(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory without checking its strides}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  // expected-remark @below {{copied operand 0 to dense memory without checking its strides}}
  %1 = tp.reduce_scatter sum %t scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<2x8xf32>
  return
}

// CHECK-LABEL: func.func @after_a_collective(
// CHECK-NEXT: %[[WAITED:.*]] = tp.wait
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[WAITED]]
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @after_a_collective(%x: tensor<4x8xf32>) {
  %0 = tp.wait %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{copied operand 0 to dense memory without checking its strides}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @dense_copy(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @dense_copy(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %0 = tp.copy %t : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  // expected-remark @below {{operand 0 is a dense copy already}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @not_its_targets(
// CHECK-NEXT: tp.all_to_all %arg0
// CHECK-NEXT: tp.all_reduce sum %arg0
// CHECK-NEXT: tp.call "op"(%arg0)
// CHECK-NEXT: return
func.func @not_its_targets(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %0 = tp.all_to_all %t output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  %1 = tp.all_reduce sum %t group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  %2 = tp.call "op"(%t) arguments "" dense [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32>
  return
}
