// Work of reindexing ops.
// RUN: commute-opt %s --print-op-facts="work=true" -verify-diagnostics

func.func @reshape(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %1 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<2x2x2x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %2 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<2x1x4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %3 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<64xf32>
  return
}

func.func @reshape_across(%a: tensor<6x4xf32>, %b: tensor<2x3x5xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.reshape %a : tensor<6x4xf32> -> tensor<4x6xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %1 = tp.reshape %a : tensor<6x4xf32> -> tensor<2x12xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %2 = tp.reshape %b : tensor<2x3x5xf32> -> tensor<2x5x3xf32>
  return
}

func.func @reshape_symbolic(%a: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.reshape %a : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?x8x64xf32, #tp.layout<[s0] sizes = [s0, 8, 64]>>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %1 = tp.reshape %a : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 512]>>
  return
}

func.func @permute(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.permute %a [2, 0, 1] : tensor<2x4x8xf32> -> tensor<8x2x4xf32, #tp.layout<strides = [1, 32, 8]>>
  return
}

func.func @slice(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.slice %a dim 0 start 2 step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %1 = tp.slice %a dim 1 start 0 step 3 : tensor<4x8xf32> -> tensor<4x3xf32, #tp.layout<strides = [8, 3]>>
  // All of a dim is no cut.
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %3 = tp.slice %a dim 0 start 0 step 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @slice_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.slice %a dim 0 start 0 step 1 : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 2, 8]>>
  return
}

func.func @concat(%a: tensor<4x8xf32>, %b: tensor<4x2xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 256, bytes written 256}}
  %0 = tp.concat %a, %a dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 160, bytes written 160}}
  %1 = tp.concat %a, %b dim 1 : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
  return
}

func.func @broadcast(%a: tensor<4x1xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.broadcast %a : tensor<4x1xf32> -> tensor<2x4x8xf32, #tp.layout<strides = [0, 1, 0]>>
  return
}
