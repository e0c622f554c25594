// A value that some op may write into is copied anew for every collective: a
// copy made before is stale.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @written_between(
// CHECK-NEXT: %[[BEFORE:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[BEFORE]]
// CHECK-NEXT: tp.call "torch.ops.aten.add_.Tensor"(%arg0)
// CHECK-NEXT: %[[AFTER:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[AFTER]]
// CHECK-NEXT: return
func.func @written_between(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  %1 = tp.call "torch.ops.aten.add_.Tensor"(%t) arguments "" mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %2 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return
}

// A copy that the program made before the write is stale as well.
// CHECK-LABEL: func.func @copied_before_the_write(
// CHECK-NEXT: %[[STALE:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.call "torch.ops.aten.add_.Tensor"(%arg0)
// CHECK-NEXT: %[[FRESH:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.all_gather %[[FRESH]]
// CHECK-NEXT: return %[[STALE]]
func.func @copied_before_the_write(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32> {
  %copy = tp.copy %t : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
  %0 = tp.call "torch.ops.aten.add_.Tensor"(%t) arguments "" mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %1 = tp.all_gather %t gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return %copy : tensor<4x8xf32>
}

// What an opaque op gives may be a view of what is written.
// CHECK-LABEL: func.func @opaque_values(
// CHECK: %[[OPAQUE:.*]] = tp.call "op"
// CHECK-NEXT: %[[BEFORE:.*]] = tp.copy %[[OPAQUE]]
// CHECK-NEXT: tp.all_gather %[[BEFORE]]
// CHECK-NEXT: tp.call "torch.ops.aten.add_.Tensor"(%arg0)
// CHECK-NEXT: %[[AFTER:.*]] = tp.copy %[[OPAQUE]]
// CHECK-NEXT: tp.all_gather %[[AFTER]]
// CHECK-NEXT: return
func.func @opaque_values(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %opaque = tp.call "op"(%t) arguments "" : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %0 = tp.all_gather %opaque gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  %1 = tp.call "torch.ops.aten.add_.Tensor"(%t) arguments "" mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %2 = tp.all_gather %opaque gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  return
}

// Values that no opaque op touches are shared all the same.
// CHECK-LABEL: func.func @untouched_values(
// CHECK-NEXT: %[[MAP:.*]] = tp.map neg(%arg0)
// CHECK-NEXT: tp.call "torch.ops.aten.add_.Tensor"(%arg1)
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[MAP]]
// CHECK-NEXT: tp.all_gather %[[COPY]]
// CHECK-NEXT: tp.reduce_scatter sum %[[COPY]]
// CHECK-NEXT: return
func.func @untouched_values(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %other: tensor<4x8xf32>) {
  %map = tp.map neg(%t) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  %0 = tp.call "torch.ops.aten.add_.Tensor"(%other) arguments "" mutates [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{copied operand 0 to dense memory}}
  %1 = tp.all_gather %map gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x8xf32>
  // expected-remark @below {{operand 0 reuses an existing dense copy}}
  %2 = tp.reduce_scatter sum %map scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<2x8xf32>
  return
}
