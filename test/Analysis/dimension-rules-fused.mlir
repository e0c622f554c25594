// Dimension rules of fused collectives.
// RUN: commute-opt %s --print-op-facts="dimension-rules=true" -verify-diagnostics

func.func @all_gather_matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<8x32xf32>, %d: tensor<16xf32>) {
  // expected-remark @below {{([i, l], [l, m], [l, n]) -> ([j.i, m], [k.i, n]) {i=4, j=2, k=2, l=8, m=16, n=32} whole={i, j, k, l} fixed={j, k}}}
  %p:2 = tp.all_gather_matmul %a, rhs(%b, %c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
  // expected-remark @below {{([i, l], [l, m], [m]) -> ([j.i, l], [k.i, m]) {i=4, j=2, k=2, l=8, m=16} whole={i, j, k, l} fixed={j, k}}}
  %q:2 = tp.all_gather_matmul %a, rhs(%b) biases(%d) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x8xf32>, tensor<8x16xf32>)
  return
}

func.func @all_gather_matmul_along_the_contraction(%a: tensor<4x8xf32>, %b: tensor<16x5xf32>) {
  // expected-remark @below {{([i, j], [k.j, l]) -> ([i, l]) {i=4, j=8, k=2, l=5} whole={j, k} fixed={k}}}
  %0 = tp.all_gather_matmul %a, rhs(%b) gather_axis 1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<16x5xf32>) -> tensor<4x5xf32>
  return
}

func.func @matmul_reduce_scatter(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>) {
  // expected-remark @below {{([j.i, l], [l, k]) -> ([i, k]) {i=4, j=2, k=16, l=8} reduction={l: sum} whole={i, j} fixed={j}}}
  %0 = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{([i, l], [l, k.j]) -> ([i, j]) {i=8, j=8, k=2, l=8} reduction={l: sum} whole={j, k} fixed={k}}}
  %1 = tp.matmul_reduce_scatter sum %a, %b scatter_axis 1 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  return
}

// Biases and scales go with the dims that they are broadcast to. A bias keeps the
// contraction whole: on shards of it, every rank would add the bias.
func.func @biases(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %c: tensor<16xf32>, %d: tensor<8x1xf32>, %e: tensor<f32>) {
  // expected-remark @below {{([j.i, l], [l, k], [k]) -> ([i, k]) {i=4, j=2, k=16, l=8} whole={i, j, l} fixed={j}}}
  %0 = tp.matmul_reduce_scatter sum %a, %b bias %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{([j.i, l], [l, k], [m.i, 1]) -> ([i, k]) {i=4, j=2, k=16, l=8, m=2} whole={i, j, l, m} fixed={j, m}}}
  %1 = tp.matmul_reduce_scatter sum %a, %b bias %d scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x1xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{([i, l], [l, k.j], []) -> ([i, j]) {i=8, j=8, k=2, l=8} whole={j, k, l} fixed={k}}}
  %2 = tp.matmul_reduce_scatter sum %a, %b bias %e scatter_axis 1 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x8xf32>
  // expected-remark @below {{([i, k], [k, l], []) -> ([j.i, l]) {i=8, j=2, k=8, l=16} whole={i, j, k} fixed={j}}}
  %3 = tp.all_gather_matmul %a, rhs(%b) biases(%e) gather_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<f32>) -> tensor<16x16xf32>
  return
}

func.func @scales(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %r: tensor<8x1xf32>, %c: tensor<1x16xf32>, %e: tensor<f32>) {
  // expected-remark @below {{([j.i, l], [l, k], [m.i, 1], [1, k]) -> ([i, k]) {i=4, j=2, k=16, l=8, m=2} reduction={l: sum} whole={i, j, m} fixed={j, m}}}
  %0 = tp.matmul_reduce_scatter sum %a, %b lhs_scale %r rhs_scale %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x1xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{([j.i, l], [l, k], [], []) -> ([i, k]) {i=4, j=2, k=16, l=8} reduction={l: sum} whole={i, j} fixed={j}}}
  %1 = tp.matmul_reduce_scatter sum %a, %b lhs_scale %e rhs_scale %e scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<f32>, tensor<f32>) -> tensor<4x16xf32>
  // expected-remark @below {{([i, k], [k, l], [i, 1], [1, l]) -> ([j.i, l]) {i=8, j=2, k=8, l=16} whole={i, j, k} fixed={j}}}
  %2 = tp.all_gather_matmul %a, rhs(%b) shard_scale %r rhs_scales(%c) gather_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x1xf32>, tensor<1x16xf32>) -> tensor<16x16xf32>
  return
}
