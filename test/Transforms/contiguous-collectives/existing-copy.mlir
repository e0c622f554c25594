// A dense copy that the program makes anyway is taken, if it is made in time.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s
// Once more changes nothing.
// RUN: commute-opt %s --contiguous-collectives | commute-opt --contiguous-collectives | FileCheck %s

// CHECK-LABEL: func.func @made_before(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return %[[COPY]]
func.func @made_before(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32> {
  %copy = tp.copy %t : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  // expected-remark @below {{operand 0 reuses an existing dense copy: its strides are [1, 4]}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return %copy : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @made_after(
// CHECK-NEXT: %[[OWN:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[OWN]]
// CHECK-NEXT: %[[LATER:.*]] = tp.copy %arg0
// CHECK-NEXT: return %[[LATER]]
func.func @made_after(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32> {
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  %copy = tp.copy %t : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  return %copy : tensor<4x8xf32>
}

// A copy that keeps the strides is none.
// CHECK-LABEL: func.func @copy_of_same_strides(
// CHECK-NEXT: %[[SAME:.*]] = tp.copy %arg0 {preserve_strides}
// CHECK-NEXT: %[[OWN:.*]] = tp.copy %arg0 :
// CHECK-NEXT: tp.all_gather %[[OWN]]
// CHECK-NEXT: return %[[SAME]]
func.func @copy_of_same_strides(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>> {
  %copy = tp.copy %t {preserve_strides} : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return %copy : tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
}
