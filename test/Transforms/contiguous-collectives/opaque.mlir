// Collectives that are carried whole: `dense` lists the operands that PyTorch
// needs dense.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s
// Once more changes nothing.
// RUN: commute-opt %s --contiguous-collectives | commute-opt --contiguous-collectives | FileCheck %s

// CHECK-LABEL: func.func @coalesced(
// CHECK-NEXT: %[[FIRST:.*]] = tp.copy %arg0 : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: %[[THIRD:.*]] = tp.copy %arg2
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_gather_into_tensor_coalesced.default"(%[[FIRST]], %arg1, %[[THIRD]]) arguments "" dense [0, 1, 2] : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
// CHECK-NEXT: return
func.func @coalesced(%a: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory}}
  // expected-remark @below {{operand 1 is dense}}
  // expected-remark @below {{copied operand 2 to dense memory}}
  %0:3 = tp.call "torch.ops._c10d_functional.all_gather_into_tensor_coalesced.default"(%a, %b, %c) arguments "" dense [0, 1, 2] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<4x8xf32>, tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
  return
}

// One copy for a value that is passed twice.
// CHECK-LABEL: func.func @coalesced_twice(
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.call "op"(%[[COPY]], %[[COPY]])
// CHECK-NEXT: return
func.func @coalesced_twice(%a: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{copied operand 0 to dense memory}}
  // expected-remark @below {{operand 1 reuses an existing dense copy}}
  %0 = tp.call "op"(%a, %a) arguments "" dense [0, 1] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<8x8xf32>
  return
}

// The forms that write into a tensor given by the caller: the input is copied,
// the tensor that is written must be dense as it is.
// CHECK-LABEL: func.func @out_form(
// CHECK-NEXT: %[[OUT:.*]] = tp.constant
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %arg0
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_gather_into_tensor_out.default"(%[[COPY]], %[[OUT]])
// CHECK-NEXT: return
func.func @out_form(%a: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %out = tp.constant 0.0 : f64 -> tensor<8x8xf32>
  // expected-remark @below {{copied operand 0 to dense memory}}
  // expected-remark @below {{operand 1 is dense}}
  %0 = tp.call "torch.ops._c10d_functional.all_gather_into_tensor_out.default"(%a, %out) arguments "" dense [0, 1] mutates [1] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}

// Ops that need nothing dense are left alone.
// CHECK-LABEL: func.func @any_strides(
// CHECK-NEXT: tp.call "torch.ops.mylib.op.default"(%arg0, %arg1)
// CHECK-NEXT: return
func.func @any_strides(%a: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, %b: i64) {
  %0 = tp.call "torch.ops.mylib.op.default"(%a, %b) arguments "" : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, i64) -> tensor<4x8xf32>
  return
}
