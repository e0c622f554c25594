// Dimension rules of reindexing ops.
// RUN: commute-opt %s --print-op-facts="dimension-rules=true" -verify-diagnostics

func.func @reshape(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{([i, j, k]) -> ([i.j, k]) {i=2, j=4, k=8}}}
  %0 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{([i, j.k, l]) -> ([i, j, k, l]) {i=2, j=2, k=2, l=8}}}
  %1 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<2x2x2x8xf32>
  // expected-remark @below {{([i, j, k]) -> ([i, 1, j, k]) {i=2, j=4, k=8}}}
  %2 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<2x1x4x8xf32>
  // expected-remark @below {{([i, j, k]) -> ([i.j.k]) {i=2, j=4, k=8}}}
  %3 = tp.reshape %a : tensor<2x4x8xf32> -> tensor<64xf32>
  return
}

// 6 x 4 to 4 x 6 has a common factor only after the first dim.
func.func @reshape_across(%a: tensor<6x4xf32>, %b: tensor<2x3x5xf32>) {
  // expected-remark @below {{([i, j]) -> ([k, l]) {i=6, j=4, k=4, l=6} whole={i, j, k, l}}}
  %0 = tp.reshape %a : tensor<6x4xf32> -> tensor<4x6xf32>
  // expected-remark @below {{([i.j, k]) -> ([i, j.k]) {i=2, j=3, k=4}}}
  %1 = tp.reshape %a : tensor<6x4xf32> -> tensor<2x12xf32>
  // expected-remark @below {{([i, j, k]) -> ([i, l, m]) {i=2, j=3, k=5, l=5, m=3} whole={j, k, l, m}}}
  %2 = tp.reshape %b : tensor<2x3x5xf32> -> tensor<2x5x3xf32>
  return
}

func.func @reshape_symbolic(%a: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>) {
  // expected-remark @below {{([i.j, k]) -> ([i, j, k]) {i=?, j=8, k=64}}}
  %0 = tp.reshape %a : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?x8x64xf32, #tp.layout<[s0] sizes = [s0, 8, 64]>>
  // expected-remark @below {{([i, j]) -> ([i.j]) {i=?, j=64}}}
  %1 = tp.reshape %a : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 512]>>
  return
}

func.func @permute(%a: tensor<2x4x8xf32>) {
  // expected-remark @below {{([j, k, i]) -> ([i, j, k]) {i=8, j=2, k=4}}}
  %0 = tp.permute %a [2, 0, 1] : tensor<2x4x8xf32> -> tensor<8x2x4xf32, #tp.layout<strides = [1, 32, 8]>>
  return
}

func.func @slice(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([j.i, k]) -> ([i, k]) {i=2, j=2, k=8} whole={i, j} fixed={j}}}
  %0 = tp.slice %a dim 0 start 2 step 1 : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{([i, k.j]) -> ([i, l.j]) {i=4, j=1, k=8, l=3} whole={j, k, l} fixed={j, k, l}}}
  %1 = tp.slice %a dim 1 start 0 step 3 : tensor<4x8xf32> -> tensor<4x3xf32, #tp.layout<strides = [8, 3]>>
  // All of a dim is no cut.
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %3 = tp.slice %a dim 0 start 0 step 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @slice_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  // expected-remark @below {{([j, l]) -> ([k, l]) {i=?, j=?, k=?, l=8} whole={i, j, k}}}
  %0 = tp.slice %a dim 0 start 0 step 1 : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 2, 8]>>
  return
}

func.func @concat(%a: tensor<4x8xf32>, %b: tensor<4x2xf32>) {
  // expected-remark @below {{([i, k], [i, k]) -> ([j.i, k]) {i=4, j=2, k=8} whole={i, j} fixed={j}}}
  %0 = tp.concat %a, %a dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // expected-remark @below {{([i, k.j], [i, j]) -> ([i, l.j]) {i=4, j=2, k=4, l=5} whole={j, k, l} fixed={k, l}}}
  %1 = tp.concat %a, %b dim 1 : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<4x10xf32>
  return
}

func.func @broadcast(%a: tensor<4x1xf32>) {
  // expected-remark @below {{([j, 1]) -> ([i, j, k]) {i=2, j=4, k=8}}}
  %0 = tp.broadcast %a : tensor<4x1xf32> -> tensor<2x4x8xf32, #tp.layout<strides = [0, 1, 0]>>
  return
}
