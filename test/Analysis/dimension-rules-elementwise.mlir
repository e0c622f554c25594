// Dimension rules of elementwise ops and factories.
// RUN: commute-opt %s --print-op-facts="dimension-rules=true" -verify-diagnostics

func.func @map(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.map neg(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j]) {i=4, j=8}}}
  %1 = tp.map add(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// A repeated dim of size 1 has no factor.
func.func @map_broadcast(%a: tensor<4x8xf32>, %b: tensor<4x1xf32>, %c: tensor<8xf32>, %d: tensor<f32>) {
  // expected-remark @below {{([i, j], [i, 1]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.map add(%a, %b) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{([j], [i, j]) -> ([i, j]) {i=4, j=8}}}
  %1 = tp.map mul(%c, %a) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{([i, j], []) -> ([i, j]) {i=4, j=8}}}
  %2 = tp.map mul(%a, %d) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  // expected-remark @below {{([]) -> ([]) {}}}
  %3 = tp.map exp(%d) : (tensor<f32>) -> tensor<f32>
  return
}

func.func @map_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=?, j=8}}}
  %0 = tp.map exp(%a) : (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>
  return
}

func.func @map_select(%a: tensor<4x8xi1>, %b: tensor<4x8xf32>, %c: tensor<1x8xf32>) {
  // expected-remark @below {{([i, j], [i, j], [1, j]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.map select(%a, %b, %c) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return
}

func.func @cast_and_copy(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.cast %a : tensor<4x8xf32> -> tensor<4x8xbf16>
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %1 = tp.copy %a : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// A shard of a range does not start where the range does.
func.func @factories() {
  // expected-remark @below {{() -> ([]) {}}}
  %0 = tp.constant 0.0 : f64 -> tensor<f32>
  // expected-remark @below {{() -> ([i, j]) {i=4, j=8}}}
  %1 = tp.constant 0.0 : f64 -> tensor<4x8xf32>
  // expected-remark @below {{() -> ([i]) {i=8} whole={i}}}
  %2 = tp.iota 0 : i64 step 1 : i64 -> tensor<8xi64>
  return
}

// Positions matter in the last two dims.
func.func @triangular(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{([i, j, k]) -> ([i, j, k]) {i=2, j=4, k=8} whole={j, k}}}
  %0 = tp.triangular %a diagonal 0 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}
