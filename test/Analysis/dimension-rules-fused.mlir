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
