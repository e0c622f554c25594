// Work of collectives, waits, markers and opaque calls.
// RUN: commute-opt %s --print-op-facts="work=true" -verify-diagnostics

func.func @all_reduce(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 128, bytes written 128}}
  %0 = tp.all_reduce sum %a group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @collective_broadcast(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 128, bytes written 128}}
  %0 = tp.collective_broadcast %a root 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @all_gather(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 128, bytes written 256}}
  %0 = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<8x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 128, bytes written 256}}
  %1 = tp.all_gather %a gather_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

func.func @reduce_scatter(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 128, bytes written 64}}
  %0 = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 32, bytes read 128, bytes written 64}}
  %1 = tp.reduce_scatter sum %a scatter_axis 1 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

func.func @all_to_all(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 128, bytes written 128}}
  %0 = tp.all_to_all %a output_splits [] input_splits [] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 128, bytes written 192}}
  %1 = tp.all_to_all %a output_splits [2, 4] input_splits [1, 3] group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<6x8xf32>
  return
}

func.func @symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>) {
  // expected-remark @below {{work depends on symbols}}
  %0 = tp.all_gather %a gather_axis 0 group <"0", [0, 1]> : tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>> -> tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 8, 8]>>
  return
}

func.func @rank_slice(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.rank_slice %a slice_axis 0 group <"0", [0, 1]> : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

func.func @rank_select(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.rank_select %a, %a group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

func.func @wait_and_marker(%a: tensor<4x8xf32>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %0 = tp.wait %a : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  %1 = tp.region_marker begin %a id 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

func.func @call(%a: tensor<4x8xf32>, %b: i64) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 128, bytes written 128}}
  %0 = tp.call "op"(%a, %b) arguments "" : (tensor<4x8xf32>, i64) -> tensor<4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 0, bytes written 0}}
  tp.call "op"() arguments "" : () -> ()
  return
}
