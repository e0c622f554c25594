// Dimension rules of matrix products, attention and look-ups.
// RUN: commute-opt %s --print-op-facts="dimension-rules=true" -verify-diagnostics

func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<16x8xf32>, %d: tensor<16xf32>) {
  // expected-remark @below {{([i, k], [k, j]) -> ([i, j]) {i=4, j=16, k=8} reduction={k: sum}}}
  %0 = tp.matmul %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{([i, k], [j, k], [j]) -> ([i, j]) {i=4, j=16, k=8} reduction={k: sum}}}
  %1 = tp.matmul %a, %c transpose_rhs bias %d : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{([k, i], [j, k]) -> ([i, j]) {i=16, j=4, k=8} reduction={k: sum}}}
  %2 = tp.matmul %b, %a transpose_lhs transpose_rhs : (tensor<8x16xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  return
}

func.func @matmul_batch(%a: tensor<3x1x4x8xf32>, %b: tensor<2x8x5xf32>, %c: tensor<8x5xf32>) {
  // expected-remark @below {{([i, 1, k, m], [j, m, l]) -> ([i, j, k, l]) {i=3, j=2, k=4, l=5, m=8} reduction={m: sum}}}
  %0 = tp.matmul %a, %b : (tensor<3x1x4x8xf32>, tensor<2x8x5xf32>) -> tensor<3x2x4x5xf32>
  // expected-remark @below {{([i, l, j], [i, l, k]) -> ([i, j, k]) {i=2, j=5, k=5, l=8} reduction={l: sum}}}
  %1 = tp.matmul %b, %b transpose_lhs : (tensor<2x8x5xf32>, tensor<2x8x5xf32>) -> tensor<2x5x5xf32>
  // expected-remark @below {{([i, j, k, m], [m, l]) -> ([i, j, k, l]) {i=3, j=1, k=4, l=5, m=8} reduction={m: sum}}}
  %2 = tp.matmul %a, %c : (tensor<3x1x4x8xf32>, tensor<8x5xf32>) -> tensor<3x1x4x5xf32>
  return
}

// A scale with one element a row or column is cut with it.
func.func @matmul_scaled(%a: tensor<4x8xf8E4M3FN>, %b: tensor<8x16xf8E4M3FN>, %c: tensor<4x1xf32>, %d: tensor<1x16xf32>, %e: tensor<f32>) {
  // expected-remark @below {{([i, k], [k, j], [i, 1], [1, j]) -> ([i, j]) {i=4, j=16, k=8} reduction={k: sum}}}
  %0 = tp.matmul %a, %b lhs_scale %c rhs_scale %d : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{([i, k], [k, j], [], []) -> ([i, j]) {i=4, j=16, k=8} reduction={k: sum}}}
  %1 = tp.matmul %a, %b lhs_scale %e rhs_scale %e : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x16xf32>
  return
}

func.func @matmul_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>, %b: tensor<8x16xf32>) {
  // expected-remark @below {{([i, k], [k, j]) -> ([i, j]) {i=?, j=16, k=8} reduction={k: sum}}}
  %0 = tp.matmul %a, %b : (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>, tensor<8x16xf32>) -> tensor<?x16xf32, #tp.layout<[s0] sizes = [s0 * 4, 16]>>
  return
}

func.func @attention(%a: tensor<2x4x8x16xf32>, %b: tensor<8x8xi1>, %c: tensor<2x1x8x8xi1>) {
  // expected-remark @below {{([i, j, k, m], [i, j, l, m], [i, j, l, n]) -> ([i, j, k, n]) {i=2, j=4, k=8, l=8, m=16, n=16} whole={l, m}}}
  %0 = tp.attention %a, %a, %a : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-remark @below {{([i, j, k, m], [i, j, l, m], [i, j, l, n], [k, l]) -> ([i, j, k, n]) {i=2, j=4, k=8, l=8, m=16, n=16} whole={l, m}}}
  %1 = tp.attention %a, %a, %a mask %b : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<8x8xi1>) -> tensor<2x4x8x16xf32>
  // expected-remark @below {{([i, j, k, m], [i, j, l, m], [i, j, l, n], [i, 1, k, l]) -> ([i, j, k, n]) {i=2, j=4, k=8, l=8, m=16, n=16} whole={l, m}}}
  %2 = tp.attention %a, %a, %a mask %c : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x1x8x8xi1>) -> tensor<2x4x8x16xf32>
  // With a causal mask the position of a query row counts.
  // expected-remark @below {{([i, j, k, m], [i, j, l, m], [i, j, l, n]) -> ([i, j, k, n]) {i=2, j=4, k=8, l=8, m=16, n=16} whole={k, l, m}}}
  %4 = tp.attention %a, %a, %a is_causal : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// Query heads are (key head, head within its group).
func.func @attention_grouped_heads(%a: tensor<2x4x8x16xf32>, %b: tensor<2x2x8x16xf32>) {
  // expected-remark @below {{([i, j.k, l, n], [i, j, m, n], [i, j, m, o]) -> ([i, j.k, l, o]) {i=2, j=2, k=2, l=8, m=8, n=16, o=16} whole={m, n}}}
  %0 = tp.attention %a, %b, %b grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

func.func @take(%a: tensor<100x8xf32>, %b: tensor<2x4xi64>) {
  // expected-remark @below {{([i, l], [j, k]) -> ([j, k, l]) {i=100, j=2, k=4, l=8} whole={i}}}
  %0 = tp.take %a, %b dim 0 : (tensor<100x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  // expected-remark @below {{([i, j], [k, l]) -> ([i, k, l]) {i=100, j=8, k=2, l=4} whole={j}}}
  %1 = tp.take %a, %b dim 1 : (tensor<100x8xf32>, tensor<2x4xi64>) -> tensor<100x2x4xf32>
  return
}

func.func @grouped_matmul(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>, %r: tensor<16x2xf32>, %t: tensor<8x16xf32>) {
  // expected-remark @below {{([j, l], [i, l, k], [i]) -> ([j, k]) {i=4, j=16, k=2, l=8} reduction={l: sum} whole={i, j} fixed={i, j}}}
  %0 = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-remark @below {{([j, l], [i, l, k], [i], [j, k]) -> ([j, k]) {i=4, j=16, k=2, l=8} reduction={l: sum} whole={i, j} fixed={i, j}}}
  %1 = tp.grouped_matmul %a, %b offsets %o rest %r : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  // expected-remark @below {{([k, j], [j, l], [i]) -> ([i, k, l]) {i=4, j=16, k=8, l=2} whole={i, j} fixed={i, j}}}
  %2 = tp.grouped_matmul %t, %r offsets %o : (tensor<8x16xf32>, tensor<16x2xf32>, tensor<4xi32>) -> tensor<4x8x2xf32>
  return
}

func.func @attention_backward(%a: tensor<2x4x8x16xf32>, %b: tensor<2x2x8x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-remark @below {{([i, j.k, l, o], [i, j.k, l, n], [i, j, m, n], [i, j, m, o], [i, j.k, l, o], [i, j.k, l]) -> ([i, j.k, l, n], [i, j, m, n], [i, j, m, o]) {i=2, j=2, k=2, l=8, m=8, n=16, o=16} whole={k, l, m, n, o}}}
  %0, %1, %2 = tp.attention_backward %a, %a, %b, %b, %a, %l grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>)
  return
}
