// In-place collectives write into their operand: a copy can replace it only
// where nobody else sees the operand's memory.
// RUN: commute-opt %s --contiguous-collectives --remarks-filter=.* -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @nobody_else_reads(
// CHECK-NEXT: %[[SUM:.*]] = tp.map add
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[SUM]] : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x8xf32>
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_reduce_.default"(%[[COPY]])
// CHECK-NEXT: return
func.func @nobody_else_reads(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %sum = tp.map add(%t, %t) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{copied operand 0 to dense memory: its strides are [1, 4]}}
  %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%sum) arguments "" dense [0] mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @another_op_reads(
// CHECK-NEXT: %[[SUM:.*]] = tp.map add
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_reduce_.default"(%[[SUM]])
// CHECK-NEXT: return %[[SUM]]
func.func @another_op_reads(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>> {
  %sum = tp.map add(%t, %t) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{operand 0 is not copied to dense memory: the op writes into it, and another op uses the operand; the operand may not be dense: its strides are [1, 4]}}
  %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%sum) arguments "" dense [0] mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32>
  return %sum : tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
}

// CHECK-LABEL: func.func @input_of_the_graph(
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_reduce_.default"(%arg0)
// CHECK-NEXT: return
func.func @input_of_the_graph(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  // expected-remark @below {{operand 0 is not copied to dense memory: the op writes into it, and the operand is a graph input}}
  %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%t) arguments "" dense [0] mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @view(
// CHECK-NEXT: %[[VIEW:.*]] = tp.permute
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_reduce_.default"(%[[VIEW]])
// CHECK-NEXT: return
func.func @view(%x: tensor<8x4xf32>) {
  %view = tp.permute %x [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{operand 0 is not copied to dense memory: the op writes into it, and the operand may share memory with other values}}
  %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%view) arguments "" dense [0] mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32>
  return
}

// What an opaque op gives may be a view, too.
// CHECK-LABEL: func.func @opaque(
// CHECK-NEXT: %[[OPAQUE:.*]] = tp.call "op"
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_reduce_.default"(%[[OPAQUE]])
// CHECK-NEXT: return
func.func @opaque(%x: tensor<8x4xf32>) {
  %opaque = tp.call "op"(%x) arguments "" : (tensor<8x4xf32>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{operand 0 is not copied to dense memory: the op writes into it, and the operand may share memory with other values}}
  %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%opaque) arguments "" dense [0] mutates [0] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @dense(
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_reduce_.default"(%arg0)
// CHECK-NEXT: return
func.func @dense(%x: tensor<4x8xf32>) {
  // expected-remark @below {{operand 0 is dense: the graph declares it as a dense input}}
  %0 = tp.call "torch.ops._c10d_functional.all_reduce_.default"(%x) arguments "" dense [0] mutates [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// Each refused operand is said on its own; the other one is copied.
// CHECK-LABEL: func.func @coalesced(
// CHECK-NEXT: %[[SUM:.*]] = tp.map add
// CHECK-NEXT: %[[COPY:.*]] = tp.copy %[[SUM]]
// CHECK-NEXT: tp.call "torch.ops._c10d_functional.all_reduce_coalesced_.default"(%arg0, %[[COPY]])
// CHECK-NEXT: return
func.func @coalesced(%t: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
  %sum = tp.map add(%t, %t) : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> tensor<4x8xf32, #tp.layout<strides = [1, 4]>>
  // expected-remark @below {{operand 0 is not copied to dense memory}}
  // expected-remark @below {{copied operand 1 to dense memory}}
  %0:2 = tp.call "torch.ops._c10d_functional.all_reduce_coalesced_.default"(%t, %sum) arguments "" dense [0, 1] mutates [0, 1] : (tensor<4x8xf32, #tp.layout<strides = [1, 4]>>, tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  return
}
