// Strides that are not known, or depend on symbols, get the copy.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s
// Once more changes nothing.
// RUN: commute-opt %s --contiguous-collectives | commute-opt --contiguous-collectives | FileCheck %s

// CHECK-LABEL: func.func @unknown(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0 : tensor<4x8xf32, #tp.layout<strides = ?>> -> tensor<4x8xf32>
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @unknown(%x: tensor<4x8xf32, #tp.layout<strides = ?>>) {
  // expected-remark @below {{copied operand 0 to dense memory: its strides are not known}}
  %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = ?>> -> tensor<8x8xf32>
  return
}

// CHECK-LABEL: func.func @symbolic_sizes(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-SAME: -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64]>>
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @symbolic_sizes(%x: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64], strides = [1, s0]>>) {
  // expected-remark @below {{copied operand 0 to dense memory: whether strides [1, s0] are dense depends on symbols}}
  %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0, 64], strides = [1, s0]>> -> tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 2, 64]>>
  return
}

// CHECK-LABEL: func.func @symbolic_strides(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-SAME: -> tensor<4x8xf32>
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @symbolic_strides(%x: tensor<4x8xf32, #tp.layout<[s0] strides = [s0, 1]>>) {
  // expected-remark @below {{copied operand 0 to dense memory: whether strides [s0, 1] are dense depends on symbols}}
  %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<[s0] strides = [s0, 1]>> -> tensor<8x8xf32>
  return
}

// A recorded layout that the op's rule contradicts proves nothing.
// CHECK-LABEL: func.func @contradiction(
// CHECK-NEXT: %[[T:.*]] = tp.permute
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[T]]
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @contradiction(%x: tensor<8x4xf32>) {
  %0 = tp.permute %x [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  // expected-remark @below {{copied operand 0 to dense memory: the recorded strides contradict those inferred from the op}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// Copies are made even where nothing states the size of a dim.
// CHECK-LABEL: func.func @unstated_sizes(
// CHECK-NEXT: %[[OPAQUE:.*]] = tp.call
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[OPAQUE]] : tensor<?x?xf32> -> tensor<?x?xf32>
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: return
func.func @unstated_sizes() {
  %0 = tp.call "op"() arguments "" : () -> tensor<?x?xf32>
  // expected-remark @below {{copied operand 0 to dense memory: its strides are not known}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<?x?xf32> -> tensor<?x?xf32>
  return
}

// The size of the outermost dim does not matter for the strides of a result;
// an input of unstated size may have any.
// CHECK-LABEL: func.func @unstated_number_of_rows(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: %[[GATHERED:.*]] = tp.all_gather %[[COPY]]
// CHECK-NEXT: tp.all_gather %[[GATHERED]]
// CHECK-NEXT: return
func.func @unstated_number_of_rows(%x: tensor<?x8xf32>) {
  // expected-remark @below {{copied operand 0 to dense memory: its strides are not known}}
  %0 = tp.all_gather %x gather_axis 0 group <"0", [0, 1]> : tensor<?x8xf32> -> tensor<?x8xf32>
  // expected-remark @below {{operand 0 is dense: its strides follow from the ops that compute it}}
  %1 = tp.all_gather %0 gather_axis 0 group <"0", [0, 1]> : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}
