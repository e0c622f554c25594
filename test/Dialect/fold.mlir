// Ops that give their operand back, each beside a twin that does not.
// RUN: commute-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @cast_to_same_type(
// CHECK-NEXT: return %arg0 : tensor<4xf32>
func.func @cast_to_same_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tp.cast %x : tensor<4xf32> -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @cast_to_other_type(
// CHECK-NEXT: %[[FIRST:.*]] = tp.cast %arg0
// CHECK-NEXT: %[[SECOND:.*]] = tp.cast %[[FIRST]]
// CHECK-NEXT: return %[[SECOND]]
func.func @cast_to_other_type(%x: tensor<4xf32>) -> tensor<4xf32> {
  // Back and forth is no identity: the narrow type rounds.
  %narrow = tp.cast %x : tensor<4xf32> -> tensor<4xbf16>
  %r = tp.cast %narrow : tensor<4xbf16> -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @cast_to_other_layout(
// CHECK-NEXT: tp.cast %arg0 {contiguous}
func.func @cast_to_other_layout(%x: tensor<4x2xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x2xf32> {
  %r = tp.cast %x {contiguous} : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @copy_of_copy(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: return %[[COPY]]
func.func @copy_of_copy(%x: tensor<4xf32>) -> tensor<4xf32> {
  %copy = tp.copy %x : tensor<4xf32> -> tensor<4xf32>
  %r = tp.copy %copy : tensor<4xf32> -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @copy_of_input(
// CHECK-NEXT: tp.copy %arg0
func.func @copy_of_input(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tp.copy %x : tensor<4xf32> -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @copy_of_copy_of_other_layout(
// CHECK-NEXT: tp.copy %arg0 {preserve_strides}
// CHECK-NEXT: tp.copy %0 :
func.func @copy_of_copy_of_other_layout(%x: tensor<4x2xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x2xf32> {
  %copy = tp.copy %x {preserve_strides} : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
  %r = tp.copy %copy : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @reshape_to_same_shape(
// CHECK-NEXT: return %arg0
func.func @reshape_to_same_shape(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %r = tp.reshape %x : tensor<4x2xf32> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @reshape_to_other_shape(
// CHECK-NEXT: tp.reshape
func.func @reshape_to_other_shape(%x: tensor<4x2xf32>) -> tensor<2x4xf32> {
  %r = tp.reshape %x : tensor<4x2xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @permute_in_order(
// CHECK-NEXT: return %arg0
func.func @permute_in_order(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = tp.permute %x [0, 1] : tensor<4x4xf32> -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @permute_of_same_type(
// CHECK-NEXT: tp.permute
func.func @permute_of_same_type(%x: tensor<4x4xf32, #tp.layout<strides = ?>>) -> tensor<4x4xf32, #tp.layout<strides = ?>> {
  %r = tp.permute %x [1, 0] : tensor<4x4xf32, #tp.layout<strides = ?>> -> tensor<4x4xf32, #tp.layout<strides = ?>>
  return %r : tensor<4x4xf32, #tp.layout<strides = ?>>
}

// CHECK-LABEL: func.func @slice_of_all(
// CHECK-NEXT: return %arg0
func.func @slice_of_all(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %r = tp.slice %x dim 0 start 0 step 1 : tensor<4x2xf32> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @slice_of_some(
// CHECK-NEXT: tp.slice
func.func @slice_of_some(%x: tensor<4x2xf32>) -> tensor<3x2xf32> {
  %r = tp.slice %x dim 0 start 0 step 1 : tensor<4x2xf32> -> tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}

// CHECK-LABEL: func.func @slice_of_unknown_size(
// CHECK-NEXT: tp.slice
func.func @slice_of_unknown_size(%x: tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>) -> tensor<?xf32, #tp.layout<[s1] sizes = [s1]>> {
  %r = tp.slice %x dim 0 start 0 step 1 : tensor<?xf32, #tp.layout<[s0] sizes = [s0]>> -> tensor<?xf32, #tp.layout<[s1] sizes = [s1]>>
  return %r : tensor<?xf32, #tp.layout<[s1] sizes = [s1]>>
}

// Sizes that nothing states may differ, though the types are equal.
// CHECK-LABEL: func.func @unstated_sizes(
// CHECK-NEXT: tp.slice
// CHECK-NEXT: tp.reshape
// CHECK-NEXT: tp.broadcast
func.func @unstated_sizes(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %a = tp.slice %x dim 0 start 0 step 1 : tensor<?xf32> -> tensor<?xf32>
  %b = tp.reshape %x : tensor<?xf32> -> tensor<?xf32>
  %c = tp.broadcast %x : tensor<?xf32> -> tensor<?xf32>
  return %a, %b, %c : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @stated_sizes(
// CHECK-NEXT: return %arg0, %arg0
func.func @stated_sizes(%x: tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>) -> (tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>, tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>) {
  %a = tp.slice %x dim 0 start 0 step 1 : tensor<?xf32, #tp.layout<[s0] sizes = [s0]>> -> tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
  %b = tp.reshape %x : tensor<?xf32, #tp.layout<[s0] sizes = [s0]>> -> tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
  return %a, %b : tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>, tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
}

// CHECK-LABEL: func.func @concat_of_one(
// CHECK-NEXT: return %arg0
func.func @concat_of_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = tp.concat %x dim 0 : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @concat_of_two(
// CHECK-NEXT: tp.concat
func.func @concat_of_two(%x: tensor<4xf32>, %empty: tensor<0xf32>) -> tensor<4xf32> {
  %r = tp.concat %x, %empty dim 0 : (tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK-LABEL: func.func @broadcast_to_same_shape(
// CHECK-NEXT: return %arg0
func.func @broadcast_to_same_shape(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %r = tp.broadcast %x : tensor<4x2xf32> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// CHECK-LABEL: func.func @broadcast_to_other_shape(
// CHECK-NEXT: tp.broadcast
func.func @broadcast_to_other_shape(%x: tensor<2xf32>) -> tensor<4x2xf32, #tp.layout<strides = [0, 1]>> {
  %r = tp.broadcast %x : tensor<2xf32> -> tensor<4x2xf32, #tp.layout<strides = [0, 1]>>
  return %r : tensor<4x2xf32, #tp.layout<strides = [0, 1]>>
}

// Equal constants become one; those of other shapes do not.
// CHECK-LABEL: func.func @equal_constants(
// CHECK-DAG: %[[SCALAR:.*]] = tp.constant 1 : i64 -> tensor<f32>
// CHECK-DAG: %[[ROW:.*]] = tp.constant 1 : i64 -> tensor<2xf32>
// CHECK: return %[[SCALAR]], %[[SCALAR]], %[[ROW]]
func.func @equal_constants() -> (tensor<f32>, tensor<f32>, tensor<2xf32>) {
  %a = tp.constant 1 : i64 -> tensor<f32>
  %b = tp.constant 1 : i64 -> tensor<f32>
  %c = tp.constant 1 : i64 -> tensor<2xf32>
  return %a, %b, %c : tensor<f32>, tensor<f32>, tensor<2xf32>
}

// Ops without a reader go, opaque calls and their operands stay.
// CHECK-LABEL: func.func @unread(
// CHECK-NEXT: %[[READ:.*]] = tp.map neg
// CHECK-NEXT: tp.call "op"(%[[READ]])
// CHECK-NEXT: return
func.func @unread(%x: tensor<4xf32>) {
  %unread = tp.map exp(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %read = tp.map neg(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %r = tp.call "op"(%read) arguments "" : (tensor<4xf32>) -> tensor<4xf32>
  return
}
