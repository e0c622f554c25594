// Work of matrix products, attention and look-ups.
// RUN: commute-opt %s --print-op-facts="work=true" -verify-diagnostics

func.func @matmul(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<16x8xf32>, %d: tensor<16xf32>, %e: tensor<4x16xf32>) {
  // expected-remark @below {{matmul flops 1024, elementwise flops 0, bytes read 640, bytes written 256}}
  %0 = tp.matmul %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{matmul flops 1024, elementwise flops 64, bytes read 704, bytes written 256}}
  %1 = tp.matmul %a, %c transpose_rhs bias %d : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // A matrix is copied into the result first.
  // expected-remark @below {{matmul flops 1024, elementwise flops 64, bytes read 1152, bytes written 512}}
  %3 = tp.matmul %a, %c transpose_rhs bias %e : (tensor<4x8xf32>, tensor<16x8xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{matmul flops 1024, elementwise flops 0, bytes read 640, bytes written 256}}
  %2 = tp.matmul %b, %a transpose_lhs transpose_rhs : (tensor<8x16xf32>, tensor<4x8xf32>) -> tensor<16x4xf32>
  return
}

func.func @matmul_batch(%a: tensor<3x1x4x8xf32>, %b: tensor<2x8x5xf32>, %c: tensor<8x5xf32>) {
  // expected-remark @below {{matmul flops 1920, elementwise flops 0, bytes read 704, bytes written 480}}
  %0 = tp.matmul %a, %b : (tensor<3x1x4x8xf32>, tensor<2x8x5xf32>) -> tensor<3x2x4x5xf32>
  // expected-remark @below {{matmul flops 800, elementwise flops 0, bytes read 640, bytes written 200}}
  %1 = tp.matmul %b, %b transpose_lhs : (tensor<2x8x5xf32>, tensor<2x8x5xf32>) -> tensor<2x5x5xf32>
  // expected-remark @below {{matmul flops 960, elementwise flops 0, bytes read 544, bytes written 240}}
  %2 = tp.matmul %a, %c : (tensor<3x1x4x8xf32>, tensor<8x5xf32>) -> tensor<3x1x4x5xf32>
  return
}

func.func @matmul_scaled(%a: tensor<4x8xf8E4M3FN>, %b: tensor<8x16xf8E4M3FN>, %c: tensor<4x1xf32>, %d: tensor<1x16xf32>, %e: tensor<f32>) {
  // expected-remark @below {{matmul flops 1024, elementwise flops 0, bytes read 240, bytes written 256}}
  %0 = tp.matmul %a, %b lhs_scale %c rhs_scale %d : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<4x1xf32>, tensor<1x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{matmul flops 1024, elementwise flops 0, bytes read 168, bytes written 256}}
  %1 = tp.matmul %a, %b lhs_scale %e rhs_scale %e : (tensor<4x8xf8E4M3FN>, tensor<8x16xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4x16xf32>
  return
}

func.func @matmul_symbolic(%a: tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>, %b: tensor<8x16xf32>) {
  // expected-remark @below {{work depends on symbols}}
  %0 = tp.matmul %a, %b : (tensor<?x8xf32, #tp.layout<[s0] sizes = [s0 * 4, 8]>>, tensor<8x16xf32>) -> tensor<?x16xf32, #tp.layout<[s0] sizes = [s0 * 4, 16]>>
  return
}

func.func @attention(%a: tensor<2x4x8x16xf32>, %b: tensor<8x8xi1>, %c: tensor<2x1x8x8xi1>) {
  // expected-remark @below {{matmul flops 32768, elementwise flops 6144, bytes read 12288, bytes written 4096}}
  %0 = tp.attention %a, %a, %a : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-remark @below {{matmul flops 32768, elementwise flops 6144, bytes read 12352, bytes written 4096}}
  %1 = tp.attention %a, %a, %a mask %b : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<8x8xi1>) -> tensor<2x4x8x16xf32>
  // expected-remark @below {{matmul flops 32768, elementwise flops 6144, bytes read 12416, bytes written 4096}}
  %2 = tp.attention %a, %a, %a mask %c : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x1x8x8xi1>) -> tensor<2x4x8x16xf32>
  // With a causal mask the position of a query row counts.
  // expected-remark @below {{matmul flops 16384, elementwise flops 6144, bytes read 12288, bytes written 4096}}
  %4 = tp.attention %a, %a, %a is_causal : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

func.func @attention_grouped_heads(%a: tensor<2x4x8x16xf32>, %b: tensor<2x2x8x16xf32>) {
  // expected-remark @below {{matmul flops 32768, elementwise flops 6144, bytes read 8192, bytes written 4096}}
  %0 = tp.attention %a, %b, %b grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

func.func @take(%a: tensor<100x8xf32>, %b: tensor<2x4xi64>) {
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 320, bytes written 256}}
  %0 = tp.take %a, %b dim 0 : (tensor<100x8xf32>, tensor<2x4xi64>) -> tensor<2x4x8xf32>
  // expected-remark @below {{matmul flops 0, elementwise flops 0, bytes read 3264, bytes written 3200}}
  %1 = tp.take %a, %b dim 1 : (tensor<100x8xf32>, tensor<2x4xi64>) -> tensor<100x2x4xf32>
  return
}

func.func @grouped_matmul(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>, %r: tensor<16x2xf32>, %t: tensor<8x16xf32>) {
  // expected-remark @below {{matmul flops 512, elementwise flops 0, bytes read 784, bytes written 128}}
  %0 = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-remark @below {{matmul flops 512, elementwise flops 0, bytes read 784, bytes written 128}}
  %1 = tp.grouped_matmul %a, %b offsets %o rest %r : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  // expected-remark @below {{matmul flops 512, elementwise flops 0, bytes read 656, bytes written 256}}
  %2 = tp.grouped_matmul %t, %r offsets %o : (tensor<8x16xf32>, tensor<16x2xf32>, tensor<4xi32>) -> tensor<4x8x2xf32>
  return
}

// Of more matrices than rows, some are not read.
func.func @few_rows(%a: tensor<2x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>) {
  // expected-remark @below {{matmul flops 64, elementwise flops 0, bytes read 208, bytes written 16}}
  %0 = tp.grouped_matmul %a, %b offsets %o : (tensor<2x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<2x2xf32>
  return
}

func.func @attention_backward(%a: tensor<2x4x8x16xf32>, %b: tensor<2x2x8x16xf32>, %l: tensor<2x4x8xf32>) {
  // expected-remark @below {{matmul flops 81920, elementwise flops 8192, bytes read 16640, bytes written 8192}}
  %0, %1, %2 = tp.attention_backward %a, %a, %b, %b, %a, %l grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>)
  return
}
