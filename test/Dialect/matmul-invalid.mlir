// What the verifiers of matrix products, attention and look-ups refuse.
// Each is beside a twin that is legal.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @matmul_rank(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  %legal = tp.matmul %a, %a transpose_rhs : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  // expected-error @below {{'tp.matmul' op operands must have at least 2 dims}}
  %illegal = tp.matmul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_contraction(%a: tensor<4x8xf32>) {
  %legal = tp.matmul %a, %a transpose_rhs : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  // expected-error @below {{'tp.matmul' op contracts dim 1 of lhs (size 8) with dim 0 of rhs (size 4)}}
  %illegal = tp.matmul %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @matmul_batch(%a: tensor<2x4x8xf32>, %b: tensor<1x8x5xf32>, %c: tensor<3x8x5xf32>) {
  %legal = tp.matmul %a, %b : (tensor<2x4x8xf32>, tensor<1x8x5xf32>) -> tensor<2x4x5xf32>
  // expected-error @below {{'tp.matmul' op batch dims cannot be broadcast to a common shape}}
  %illegal = tp.matmul %a, %c : (tensor<2x4x8xf32>, tensor<3x8x5xf32>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @matmul_result(%a: tensor<4x8xf32>) {
  %legal = tp.matmul %a, %a transpose_rhs : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  // expected-error @below {{'tp.matmul' op result has size 4 along dim 0, expected 8}}
  %illegal = tp.matmul %a, %a transpose_lhs : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_bias(%a: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<8xf32>) {
  %legal = tp.matmul %a, %a transpose_rhs bias %b : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  // expected-error @below {{'tp.matmul' op bias has size 8 along dim 0, which cannot be broadcast to 4}}
  %illegal = tp.matmul %a, %a transpose_rhs bias %c : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_bias_rank(%a: tensor<4x8xf32>, %b: tensor<4xf32>, %c: tensor<1x4x4xf32>) {
  %legal = tp.matmul %a, %a transpose_rhs bias %b : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  // expected-error @below {{'tp.matmul' op bias has 3 dims, more than the result's 2}}
  %illegal = tp.matmul %a, %a transpose_rhs bias %c : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<1x4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @attention_rank(%a: tensor<2x4x8x16xf32>, %b: tensor<4x8xf32>) {
  %legal = tp.attention %a, %a, %a : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op query, key and value must have the same number of dims, at least 2}}
  %illegal = tp.attention %a, %b, %b : (tensor<2x4x8x16xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_width(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x8x4xf32>) {
  %legal = tp.attention %a, %a, %b : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x4xf32>) -> tensor<2x4x8x4xf32>
  // expected-error @below {{'tp.attention' op query and key have different widths (last dim)}}
  %illegal = tp.attention %a, %b, %a : (tensor<2x4x8x16xf32>, tensor<2x4x8x4xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_length(%a: tensor<2x4x8x16xf32>, %b: tensor<2x4x9x16xf32>) {
  %legal = tp.attention %a, %b, %b : (tensor<2x4x8x16xf32>, tensor<2x4x9x16xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op key and value have different lengths (second-to-last dim)}}
  %illegal = tp.attention %a, %a, %b : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_heads(%a: tensor<2x4x8x16xf32>, %b: tensor<2x2x8x16xf32>) {
  %legal = tp.attention %a, %b, %b grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op query and key differ in dim 1; several query heads may share a key head only with grouped_heads}}
  %illegal = tp.attention %a, %b, %b : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_key_heads(%a: tensor<2x4x8x16xf32>, %b: tensor<2x2x8x16xf32>) {
  %legal = tp.attention %a, %b, %b grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op key and value differ in dim 1}}
  %illegal = tp.attention %a, %b, %a grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_uneven_heads(%a: tensor<2x4x8x16xf32>, %b: tensor<2x2x8x16xf32>, %c: tensor<2x3x8x16xf32>) {
  %legal = tp.attention %a, %b, %b grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op 4 query heads cannot share 3 key heads evenly}}
  %illegal = tp.attention %a, %c, %c grouped_heads : (tensor<2x4x8x16xf32>, tensor<2x3x8x16xf32>, tensor<2x3x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_batch(%a: tensor<2x4x8x16xf32>, %b: tensor<3x4x8x16xf32>) {
  %legal = tp.attention %a, %a, %a : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op query and key differ in dim 0}}
  %illegal = tp.attention %a, %b, %b : (tensor<2x4x8x16xf32>, tensor<3x4x8x16xf32>, tensor<3x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_mask(%a: tensor<2x4x8x16xf32>, %b: tensor<8x8xi1>, %c: tensor<16x8xi1>) {
  %legal = tp.attention %a, %a, %a mask %b : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<8x8xi1>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op mask has size 16 along dim 0, which cannot be broadcast to 8}}
  %illegal = tp.attention %a, %a, %a mask %c : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<16x8xi1>) -> tensor<2x4x8x16xf32>
  return
}

// -----

func.func @attention_result(%a: tensor<2x4x8x16xf32>) {
  %legal = tp.attention %a, %a, %a : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x4x8x16xf32>
  // expected-error @below {{'tp.attention' op result has size 8 along dim 1, expected 4}}
  %illegal = tp.attention %a, %a, %a : (tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
  return
}

// -----

func.func @take_dim(%a: tensor<4x8xf32>, %b: tensor<3xi64>) {
  %legal = tp.take %a, %b dim 1 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  // expected-error @below {{'tp.take' op dim is 2, expected a dim of a tensor of rank 2}}
  %illegal = tp.take %a, %b dim 2 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @take_indices(%a: tensor<4x8xf32>, %b: tensor<3xi64>, %c: tensor<3xi1>) {
  %legal = tp.take %a, %b dim 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  // expected-error @below {{'tp.take' op indices have element type 'i1', expected integers}}
  %illegal = tp.take %a, %c dim 0 : (tensor<4x8xf32>, tensor<3xi1>) -> tensor<3x8xf32>
  return
}

// -----

func.func @take_float_indices(%a: tensor<4x8xf32>, %b: tensor<3xi32>, %c: tensor<8xf32>) {
  %legal = tp.take %a, %b dim 0 : (tensor<4x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  // expected-error @below {{'tp.take' op indices have element type 'f32', expected integers}}
  %illegal = tp.take %a, %c dim 0 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @take_element_type(%a: tensor<4x8xf32>, %b: tensor<3xi64>) {
  %legal = tp.take %a, %b dim 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  // expected-error @below {{'tp.take' op result has element type 'f16', expected 'f32'}}
  %illegal = tp.take %a, %b dim 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf16>
  return
}

// -----

func.func @take_result(%a: tensor<4x8xf32>, %b: tensor<3xi64>) {
  %legal = tp.take %a, %b dim 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  // expected-error @below {{'tp.take' op result has size 4 along dim 0, expected 3}}
  %illegal = tp.take %a, %b dim 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<4x8xf32>
  return
}

// -----

func.func @grouped_rank(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op lhs has rank 3, expected 2}}
  %illegal = tp.grouped_matmul %b, %b offsets %o : (tensor<4x8x2xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_rhs_rank(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %c: tensor<1x4x8x2xf32>, %o: tensor<4xi32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op rhs has rank 4, expected 2 or 3}}
  %illegal = tp.grouped_matmul %a, %c offsets %o : (tensor<16x8xf32>, tensor<1x4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_element(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %c: tensor<16x8xi64>, %o: tensor<4xi32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op lhs has element type 'i64', expected floats}}
  %illegal = tp.grouped_matmul %c, %b offsets %o : (tensor<16x8xi64>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_offsets(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>, %p: tensor<4xf32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op offsets have element type 'f32', expected integers}}
  %illegal = tp.grouped_matmul %a, %b offsets %p : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xf32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_offsets_rank(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>, %p: tensor<4x1xi32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op offsets have rank 2, expected 1}}
  %illegal = tp.grouped_matmul %a, %b offsets %p : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4x1xi32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_contraction(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %c: tensor<16x7xf32>, %o: tensor<4xi32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op contracts dim 1 of lhs (size 7) with dim 1 of rhs (size 8)}}
  %illegal = tp.grouped_matmul %c, %b offsets %o : (tensor<16x7xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_groups(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>, %p: tensor<3xi32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op rhs has 4 matrices for 3 groups}}
  %illegal = tp.grouped_matmul %a, %b offsets %p : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<3xi32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_rest(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>, %r: tensor<16x2xf32>, %s: tensor<16x3xf32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o rest %r : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op rest has size 3 along dim 1, expected 2}}
  %illegal = tp.grouped_matmul %a, %b offsets %o rest %s : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x3xf32>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_rest_element(%a: tensor<16x8xf32>, %b: tensor<4x8x2xf32>, %o: tensor<4xi32>, %r: tensor<16x2xf32>, %s: tensor<16x2xbf16>) {
  %legal = tp.grouped_matmul %a, %b offsets %o rest %r : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x2xf32>) -> tensor<16x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op rest has element type 'bf16', expected 'f32'}}
  %illegal = tp.grouped_matmul %a, %b offsets %o rest %s : (tensor<16x8xf32>, tensor<4x8x2xf32>, tensor<4xi32>, tensor<16x2xbf16>) -> tensor<16x2xf32>
  return
}

// -----

func.func @grouped_contraction_rest(%a: tensor<8x16xf32>, %b: tensor<16x2xf32>, %o: tensor<4xi32>) {
  %legal = tp.grouped_matmul %a, %b offsets %o : (tensor<8x16xf32>, tensor<16x2xf32>, tensor<4xi32>) -> tensor<4x8x2xf32>
  // expected-error @below {{'tp.grouped_matmul' op must not have `rest` when the contraction dim is grouped}}
  %illegal = tp.grouped_matmul %a, %b offsets %o rest %b : (tensor<8x16xf32>, tensor<16x2xf32>, tensor<4xi32>, tensor<16x2xf32>) -> tensor<4x8x2xf32>
  return
}

// -----

func.func @attention_logsumexp(%a: tensor<4x8x16xf32>) {
  %legal, %l = tp.attention %a, %a, %a : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8xf32>)
  // expected-error @below {{'tp.attention' op logsumexp has 3 dims, expected 2}}
  %illegal, %m = tp.attention %a, %a, %a : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x1xf32>)
  return
}

// -----

func.func @attention_backward_output(%a: tensor<4x8x16xf32>, %b: tensor<4x8x15xf32>, %l: tensor<4x8xf32>) {
  %q, %k, %v = tp.attention_backward %a, %a, %a, %a, %a, %l : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  // expected-error @below {{'tp.attention_backward' op output has size 15 along dim 2, expected 16}}
  %r, %s, %t = tp.attention_backward %a, %a, %a, %a, %b, %l : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x15xf32>, tensor<4x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}

// -----

func.func @attention_backward_logsumexp(%a: tensor<4x8x16xf32>, %l: tensor<4x8xf32>, %m: tensor<4x7xf32>) {
  %q, %k, %v = tp.attention_backward %a, %a, %a, %a, %a, %l : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  // expected-error @below {{'tp.attention_backward' op logsumexp has size 7 along dim 1, expected 8}}
  %r, %s, %t = tp.attention_backward %a, %a, %a, %a, %a, %m : (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x7xf32>) -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>, tensor<4x8x16xf32>)
  return
}
