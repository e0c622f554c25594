// A cast or copy that serves only ops which need dense inputs writes dense
// memory itself; one that others read stays as it is.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s
// Once more changes nothing.
// RUN: commute-opt %s --contiguous-collectives | commute-opt --contiguous-collectives | FileCheck %s

// CHECK-LABEL: func.func @cast(
// CHECK-NEXT: %[[CAST:.*]] = tp.cast %arg0 {contiguous} : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xbf16>
// CHECK-NEXT: tp.all_gather %[[CAST]] gather_axis 0 group <"0", [0, 1]> : tensor<4x8xbf16> -> tensor<8x8xbf16>
// CHECK-NEXT: tp.reduce_scatter sum %[[CAST]]
// CHECK-NEXT: return
func.func @cast(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %cast = tp.cast %t : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xbf16, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{changed the op that defines operand 0 to write dense memory: its strides are [1, 4]}}
  %0 = tp.all_gather %cast gather_axis 0 group <"0", [0, 1]> : tensor<4x8xbf16, #tp.layout<strides = [1, 4]>> -> tensor<8x8xbf16>
  // expected-remark @below {{operand 0 is dense}}
  %1 = tp.reduce_scatter sum %cast scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xbf16, #tp.layout<strides = [1, 4]>> -> tensor<2x8xbf16>
  return
}

// CHECK-LABEL: func.func @cast_that_others_read(
// CHECK-NEXT: %[[CAST:.*]] = tp.cast %arg0 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xbf16, #tp.layout<strides = [1, 4]>>
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[CAST]]
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return %[[CAST]]
func.func @cast_that_others_read(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xbf16, #tp.layout<strides = [1, 4]>> {
  %cast = tp.cast %t : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xbf16, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %cast gather_axis 0 group <"0", [0, 1]> : tensor<4x8xbf16, #tp.layout<strides = [1, 4]>> -> tensor<8x8xbf16>
  return %cast : tensor<4x8xbf16, #tp.layout<strides = [1, 4]>>
}

// CHECK-LABEL: func.func @copy(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @copy(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %copy = tp.copy %t {preserve_strides} : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{changed the op that defines operand 0 to write dense memory}}
  %0 = tp.all_gather %copy gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @copy_that_others_read(
// CHECK-NEXT: %[[SAME:.*]] = tp.copy %arg0 {preserve_strides}
// CHECK-NEXT: tp.map neg(%[[SAME]])
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[SAME]] :
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @copy_that_others_read(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %copy = tp.copy %t {preserve_strides} : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  %0 = tp.map neg(%copy) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %1 = tp.all_gather %copy gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return
}

// Only casts and copies have the choice.
// CHECK-LABEL: func.func @map(
// CHECK-NEXT: %[[MAP:.*]] = tp.map neg(%arg0)
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[MAP]]
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @map(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %map = tp.map neg(%t) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %map gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return
}
