// Dimension rules of reductions, row-wise ops and norms.
// RUN: commute-opt %s --print-op-facts="dimension-rules=true" -verify-diagnostics

func.func @reduce(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{([i, j, k]) -> ([i, k]) {i=2, j=4, k=8} reduction={j: sum}}}
  %0 = tp.reduce sum %a dims [1] : tensor<2x4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{([i, j, k]) -> ([i, 1, k]) {i=2, j=4, k=8} reduction={j: max}}}
  %1 = tp.reduce max %a dims [1] keep_dims : tensor<2x4x8xf32> -> tensor<2x1x8xf32>
  // expected-remark @below {{([i, j, k]) -> ([j]) {i=2, j=4, k=8} reduction={i: avg, k: avg}}}
  %2 = tp.reduce avg %a dims [0, 2] : tensor<2x4x8xf32> -> tensor<4xf32>
  // expected-remark @below {{([i, j, k]) -> ([]) {i=2, j=4, k=8} reduction={i: product, j: product, k: product}}}
  %3 = tp.reduce product %a dims [2, 1, 0] : tensor<2x4x8xf32> -> tensor<f32>
  return
}

func.func @rowwise(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{([i, j, k]) -> ([i, j, k]) {i=2, j=4, k=8} whole={j}}}
  %0 = tp.rowwise softmax %a dim 1 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  // expected-remark @below {{([i, j, k]) -> ([i, j, k]) {i=2, j=4, k=8} whole={k}}}
  %1 = tp.rowwise cumulative_sum %a dim 2 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

func.func @rms_norm(%a: tensor<2x4x8xf32>, %b: tensor<8xf32>, %c: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j, k], [k]) -> ([i, j, k]) {i=2, j=4, k=8} whole={k}}}
  %0 = tp.rms_norm %a weight %b dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // expected-remark @below {{([i, j, k], [j, k]) -> ([i, j, k]) {i=2, j=4, k=8} whole={j, k}}}
  %1 = tp.rms_norm %a weight %c dims 2 : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8xf32>
  // expected-remark @below {{([i, j, k]) -> ([i, j, k]) {i=2, j=4, k=8} whole={k}}}
  %2 = tp.rms_norm %a dims 1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

func.func @layer_norm(%a: tensor<2x4x8xf32>, %b: tensor<8xf32>) {
  // expected-remark @below {{([i, j, k], [k], [k]) -> ([i, j, k]) {i=2, j=4, k=8} whole={k}}}
  %0 = tp.layer_norm %a weight %b bias %b epsilon 1.0e-05 dims 1 : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  return
}

func.func @add_rms_norm(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-remark @below {{([i, j], [i, j], [j]) -> ([i, j], [i, j]) {i=4, j=8} whole={j}}}
  %n, %s = tp.add_rms_norm %a, %a weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  // expected-remark @below {{([i, j], [i, j], [j]) -> ([i, j]) {i=4, j=8} whole={j}}}
  %1 = tp.add_rms_norm %a, %a weight %b epsilon 1.0e-05 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}
