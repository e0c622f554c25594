// Dimension rules of collectives, waits, markers and opaque calls.
// RUN: commute-opt %s --print-op-facts="dimension-rules=true" -verify-diagnostics

func.func @all_reduce(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @collective_broadcast(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.collective_broadcast %a root 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @all_gather(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([i, k]) -> ([j.i, k]) {i=4, j=2, k=8} whole={i, j} fixed={j}}}
  %0 = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{([i, j]) -> ([i, k.j]) {i=4, j=8, k=2} whole={j, k} fixed={k}}}
  %1 = tp.all_gather %a gather_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

func.func @reduce_scatter(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([j.i, k]) -> ([i, k]) {i=2, j=2, k=8} whole={i, j} fixed={j}}}
  %0 = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{([i, k.j]) -> ([i, j]) {i=4, j=4, k=2} whole={j, k} fixed={k}}}
  %1 = tp.reduce_scatter sum %a scatter_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

func.func @all_to_all(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([j.i, l]) -> ([k.i, l]) {i=2, j=2, k=2, l=8} whole={i, j, k} fixed={j, k}}}
  %0 = tp.all_to_all %a output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{([j.i, l]) -> ([k.i, l]) {i=1, j=4, k=6, l=8} whole={i, j, k} fixed={j, k}}}
  %1 = tp.all_to_all %a output_splits [2, 4] input_splits [1, 3] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<6x8xf32>
  return
}

func.func @symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  // expected-remark @below {{([j, l]) -> ([k, l]) {i=?, j=?, k=?, l=8} whole={i, j, k}}}
  %0 = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 8, 8]>>
  return
}

func.func @rank_slice(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([j.i, k]) -> ([i, k]) {i=2, j=2, k=8} whole={i, j} fixed={j}}}
  %0 = tp.rank_slice %a slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

func.func @rank_select(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.rank_select %a, %b group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

func.func @wait_and_marker(%a: tensor<4x8xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %0 = tp.wait %a : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{([i, j]) -> ([i, j]) {i=4, j=8}}}
  %1 = tp.region_marker begin %a id 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// Nothing is known of an opaque op: every dim of everything is whole.
func.func @call(%a: tensor<4x8xf32>, %b: i64) {
  // expected-remark @below {{([i, j], []) -> ([k, l]) {i=4, j=8, k=4, l=8} whole={i, j, k, l}}}
  %0 = tp.call "op"(%a, %b) arguments "" : (tensor<4x8xf32>, i64) -> tensor<4x8xf32>
  // expected-remark @below {{() -> () {}}}
  tp.call "op"() arguments "" : () -> ()
  return
}
