// Work of reductions, row-wise ops and norms.
// RUN: commute-opt %s --print-op-facts="work=true" -verify-diagnostics

func.func @reduce(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 64, bytes read 256, bytes written 64}}
  %0 = tp.reduce sum %a dims [1] : tensor<2x4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 64, bytes read 256, bytes written 64}}
  %1 = tp.reduce max %a dims [1] keep_dims : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 64, bytes read 256, bytes written 16}}
  %2 = tp.reduce avg %a dims [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 64, bytes read 256, bytes written 4}}
  %3 = tp.reduce product %a dims [2, 1, 0] : tensor<2x4x8xf32> -> tensor<f32>
  return
}

func.func @rowwise(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 768, bytes read 256, bytes written 256}}
  %0 = tp.rowwise softmax %a dim 1 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 64, bytes read 256, bytes written 256}}
  %1 = tp.rowwise cumulative_sum %a dim 2 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

func.func @rms_norm(%a: tensor<2x4x8xf32>, %b: tensor<8xf32>, %c: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 256, bytes read 288, bytes written 256}}
  %0 = tp.rms_norm %a weight %b dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 256, bytes read 384, bytes written 256}}
  %1 = tp.rms_norm %a weight %c dims 2 : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 256, bytes read 256, bytes written 256}}
  %2 = tp.rms_norm %a dims 1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

func.func @layer_norm(%a: tensor<2x4x8xf32>, %b: tensor<8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 448, bytes read 320, bytes written 256}}
  %0 = tp.layer_norm %a weight %b bias %b epsilon 1.0e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return
}

func.func @add_rms_norm(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 160, bytes read 288, bytes written 256}}
  %n, %s = tp.add_rms_norm %a, %a weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // expected-remark @below {{matmul flops 0, elementwise flops 160, bytes read 288, bytes written 128}}
  %1 = tp.add_rms_norm %a, %a weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}
