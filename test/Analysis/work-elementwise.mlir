// Work of elementwise ops and factories.
// RUN: commute-opt %s --print-op-facts="work=true" -verify-diagnostics

func.func @map(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 128, bytes written 128}}
  %0 = tp.map neg(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 256, bytes written 128}}
  %1 = tp.map add(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

func.func @map_broadcast(%a: tensor<4x8xf32>, %b: tensor<4x1xf32>, %c: tensor<8xf32>, %d: tensor<f32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 144, bytes written 128}}
  %0 = tp.map add(%a, %b) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 160, bytes written 128}}
  %1 = tp.map mul(%c, %a) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 132, bytes written 128}}
  %2 = tp.map mul(%a, %d) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 8, bytes read 4, bytes written 4}}
  %3 = tp.map exp(%d) : (tensor<f32>) -> tensor<f32>
  return
}

func.func @map_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  // expected-remark @below {{work depends on symbols}}
  %0 = tp.map exp(%a) : (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>
  return
}

func.func @map_select(%a: tensor<4x8xi1>, %b: tensor<4x8xf32>, %c: tensor<1x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 192, bytes written 128}}
  %0 = tp.map select(%a, %b, %c) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return
}

func.func @cast_and_copy(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 128, bytes written 64}}
  %0 = tp.cast %a : tensor<4x8xf32> -> tensor<4x8xbf16>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 128, bytes written 128}}
  %1 = tp.copy %a : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @factories() {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.constant 0.0 : f64 -> tensor<f32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 128}}
  %1 = tp.constant 0.0 : f64 -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 8, bytes read 0, bytes written 64}}
  %2 = tp.iota 0 : i64 step 1 : i64 -> tensor<8xi64>
  return
}

func.func @triangular(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 64, bytes read 256, bytes written 256}}
  %0 = tp.triangular %a diagonal 0 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}
