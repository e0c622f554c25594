// What the verifiers of fused collectives refuse.
// Each is beside a twin that is legal.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @all_gather_matmul_rank(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<8xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op shard must have at least 2 dims}}
  %illegal = tp.all_gather_matmul %c, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_axis(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op gather_axis is 2, expected a dim of a tensor of rank 2}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) gather_axis 2 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_nothing(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op must have at least one right-hand side}}
  %none = tp.all_gather_matmul %a, rhs() gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return
}

// -----

func.func @all_gather_matmul_biases(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<16xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) biases(%c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op has 2 biases, expected none or 1, one for each right-hand side}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) biases(%c, %c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_scales(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<f32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) shard_scale %c rhs_scales(%c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<f32>, tensor<f32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op must have scales of the shard and of every right-hand side, or no scales}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) shard_scale %c gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<f32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_results(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  %l:2 = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<8x8xf32>, tensor<8x16xf32>)
  // expected-error @below {{'tp.all_gather_matmul' op has 1 results, expected 2}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_gathered(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  %l:2 = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<8x8xf32>, tensor<8x16xf32>)
  // expected-error @below {{'tp.all_gather_matmul' op gathered result has size 4 along dim 0, expected 8}}
  %i:2 = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> returns_gathered : (tensor<4x8xf32>, tensor<8x16xf32>) -> (tensor<4x8xf32>, tensor<8x16xf32>)
  return
}

// -----

func.func @all_gather_matmul_rhs_rank(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<1x8x16xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op right-hand side 0 has 3 dims, expected 2}}
  %illegal = tp.all_gather_matmul %a, rhs(%c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<1x8x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_rows(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x16xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op right-hand side 0 has 4 rows, which do not match the columns of the gathered operand}}
  %illegal = tp.all_gather_matmul %a, rhs(%c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_product(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op result has size 4 along dim 0, expected 8}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @all_gather_matmul_contraction(%a: tensor<4x8xf32>, %b: tensor<16x5xf32>, %c: tensor<8x16xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) gather_axis 1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<16x5xf32>) -> tensor<4x5xf32>
  // expected-error @below {{'tp.all_gather_matmul' op right-hand side 0 has 8 rows, which do not match the columns of the gathered operand}}
  %illegal = tp.all_gather_matmul %a, rhs(%c) gather_axis 1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_rank(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %c: tensor<1x8x16xf32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op expected lhs with 2 or more dims and rhs with 2 dims}}
  %illegal = tp.matmul_reduce_scatter sum %a, %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<1x8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_axis(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op scatter_axis is 2, expected a dim of a tensor of rank 2}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 2 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_reduction(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.matmul_reduce_scatter avg %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op has reduction max, expected sum or avg}}
  %illegal = tp.matmul_reduce_scatter max %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_contraction(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op lhs and rhs have different sizes along the contraction dim}}
  %illegal = tp.matmul_reduce_scatter sum %b, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_indivisible(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op cannot cut size 8 along dim 0 into 3 equal blocks}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1, 2]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_result(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op result has size 4 along dim 0, expected 8}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b scatter_axis 1 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @all_gather_matmul_bias(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<16xf32>, %d: tensor<8xf32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) biases(%c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op bias has size 8 along dim 0, which cannot be broadcast to 16}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) biases(%d) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_shard_scale(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x1xf32>, %d: tensor<8x1xf32>, %e: tensor<f32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) shard_scale %c rhs_scales(%e) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x1xf32>, tensor<f32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op scale of the shard has size 8 along dim 0, expected 4}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) shard_scale %d rhs_scales(%e) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<8x1xf32>, tensor<f32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_shard_scale_rank(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<4x1xf32>, %d: tensor<4xf32>, %e: tensor<f32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) shard_scale %c rhs_scales(%e) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4x1xf32>, tensor<f32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op scale of the shard has 1 dims, expected one element or 2 dims}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) shard_scale %d rhs_scales(%e) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<f32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @all_gather_matmul_shard_scale_contraction(%a: tensor<4x8xf32>, %b: tensor<16x5xf32>, %c: tensor<4x1xf32>, %e: tensor<f32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) shard_scale %e rhs_scales(%e) gather_axis 1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<16x5xf32>, tensor<f32>, tensor<f32>) -> tensor<4x5xf32>
  // expected-error @below {{'tp.all_gather_matmul' op gathers along the contraction dim, so the scale of the shard must have one element}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) shard_scale %c rhs_scales(%e) gather_axis 1 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<16x5xf32>, tensor<4x1xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @all_gather_matmul_rhs_scale(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %c: tensor<1x16xf32>, %d: tensor<1x8xf32>, %e: tensor<f32>) {
  %legal = tp.all_gather_matmul %a, rhs(%b) shard_scale %e rhs_scales(%c) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<f32>, tensor<1x16xf32>) -> tensor<8x16xf32>
  // expected-error @below {{'tp.all_gather_matmul' op scale of a right-hand side has size 8 along dim 1, which cannot be broadcast to 16}}
  %illegal = tp.all_gather_matmul %a, rhs(%b) shard_scale %e rhs_scales(%d) gather_axis 0 group <"0", [0, 1]> : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<f32>, tensor<1x8xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_bias(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %c: tensor<16xf32>, %d: tensor<8xf32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b bias %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op bias has size 8 along dim 0, which cannot be broadcast to 16}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b bias %d scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_bias_of_the_block(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %c: tensor<8x16xf32>, %d: tensor<4x16xf32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b bias %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op bias has size 4 along dim 0, which cannot be broadcast to 8}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b bias %d scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_one_scale(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %c: tensor<f32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b lhs_scale %c rhs_scale %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<f32>, tensor<f32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op must have scales of both operands, or no scales}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b lhs_scale %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_lhs_scale(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %c: tensor<8x1xf32>, %d: tensor<4x1xf32>, %e: tensor<f32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b lhs_scale %c rhs_scale %e scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<8x1xf32>, tensor<f32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op lhs scale has size 4 along dim 0, which cannot be broadcast to 8}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b lhs_scale %d rhs_scale %e scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<4x1xf32>, tensor<f32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @matmul_reduce_scatter_rhs_scale(%a: tensor<8x8xf32>, %b: tensor<8x16xf32>, %c: tensor<1x16xf32>, %d: tensor<1x1x16xf32>, %e: tensor<f32>) {
  %legal = tp.matmul_reduce_scatter sum %a, %b lhs_scale %e rhs_scale %c scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<f32>, tensor<1x16xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.matmul_reduce_scatter' op rhs scale has 3 dims, more than its operand's 2}}
  %illegal = tp.matmul_reduce_scatter sum %a, %b lhs_scale %e rhs_scale %d scatter_axis 0 group <"0", [0, 1]> : (tensor<8x8xf32>, tensor<8x16xf32>, tensor<f32>, tensor<1x1x16xf32>) -> tensor<4x16xf32>
  return
}
