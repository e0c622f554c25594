// Work of fused collectives.
// RUN: commute-opt %s --print-op-facts="work=true" -verify-diagnostics

func.func @all_gather_matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<8x32xf32>, %d: tensor<16xf32>) {
  // expected-remark @below {{matmul flops 6144, elementwise flops 0, bytes read 1664, bytes written 1536}}
  %p:2 = tp.all_gather_matmul %a, rhs(%b, %c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8x32xf32>) -> (tensor<8x16xf32>, tensor<8x32xf32>)
  // expected-remark @below {{matmul flops 2048, elementwise flops 128, bytes read 704, bytes written 768}}
  %q:2 = tp.all_gather_matmul %a, rhs(%b) biases(%d) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> (tensor<8x8xf32>, tensor<8x16xf32>)
  return
}

func.func @all_gather_matmul_along_the_contraction(%a: tensor<4x8xf32>, %b: tensor<16x5xf32>) {
  // expected-remark @below {{matmul flops 640, elementwise flops 0, bytes read 448, bytes written 80}}
  %0 = tp.all_gather_matmul %a, rhs(%b) gather_axis 1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<16x5xf32>) -> tensor<4x5xf32>
  return
}

func.func @matmul_reduce_scatter(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>) {
  // expected-remark @below {{matmul flops 2048, elementwise flops 128, bytes read 768, bytes written 256}}
  %0 = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{matmul flops 2048, elementwise flops 128, bytes read 768, bytes written 256}}
  %1 = tp.matmul_reduce_scatter sum %a, %b scatter_axis 1 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  return
}
