// What the verifiers of reindexing ops refuse.
// Each is beside a twin that is legal.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @reshape_count(%a: tensor<4x8xf32>) {
  %legal = tp.reshape %a : tensor<4x8xf32> -> tensor<2x16xf32>
  // expected-error @below {{'tp.reshape' op operand has 32 elements, but the result has 40}}
  %illegal = tp.reshape %a : tensor<4x8xf32> -> tensor<5x8xf32>
  return
}

// -----

func.func @reshape_symbolic_count(%a: tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>>) {
  %legal = tp.reshape %a : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?x8x64xf32, #tp.layout<[s0] sizes = [s0, 8, 64]>>
  // expected-error @below {{'tp.reshape' op operand has s0 * 512 elements, but the result has s0 * 512 + 1}}
  %illegal = tp.reshape %a : tensor<?x64xf32, #tp.layout<[s0] sizes = [s0 * 8, 64]>> -> tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 512 + 1]>>
  return
}

// -----

func.func @reshape_element_type(%a: tensor<4x8xf32>) {
  %legal = tp.reshape %a : tensor<4x8xf32> -> tensor<32xf32>
  // expected-error @below {{'tp.reshape' op result has element type 'i32', expected 'f32'}}
  %illegal = tp.reshape %a : tensor<4x8xf32> -> tensor<32xi32>
  return
}

// -----

func.func @permute_twice(%a: tensor<4x8xf32>) {
  %legal = tp.permute %a [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  // expected-error @below {{'tp.permute' op permutation must list every dim of the operand exactly once}}
  %illegal = tp.permute %a [1, 1] : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @permute_short(%a: tensor<4x8xf32>) {
  %legal = tp.permute %a [0, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.permute' op permutation must list every dim of the operand exactly once}}
  %illegal = tp.permute %a [0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @permute_size(%a: tensor<4x8xf32>) {
  %legal = tp.permute %a [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32, #tp.layout<strides = [1, 8]>>
  // expected-error @below {{'tp.permute' op result has size 4 along dim 0, expected 8}}
  %illegal = tp.permute %a [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_dim(%a: tensor<4x8xf32>) {
  %legal = tp.slice %a dim 1 start 0 step 1 : tensor<4x8xf32> -> tensor<4x2xf32, #tp.layout<strides = [8, 1]>>
  // expected-error @below {{'tp.slice' op dim is 2, expected a dim of a tensor of rank 2}}
  %illegal = tp.slice %a dim 2 start 0 step 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_step(%a: tensor<4x8xf32>) {
  %legal = tp.slice %a dim 0 start 0 step 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.slice' op start must not be negative, and step must be at least 1}}
  %illegal = tp.slice %a dim 0 start 0 step 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_start(%a: tensor<4x8xf32>) {
  %legal = tp.slice %a dim 0 start 3 step 1 : tensor<4x8xf32> -> tensor<1x8xf32>
  // expected-error @below {{'tp.slice' op start must not be negative, and step must be at least 1}}
  %illegal = tp.slice %a dim 0 start -1 step 1 : tensor<4x8xf32> -> tensor<1x8xf32>
  return
}

// -----

func.func @slice_other_dim(%a: tensor<4x8xf32>) {
  %legal = tp.slice %a dim 0 start 1 step 1 : tensor<4x8xf32> -> tensor<3x8xf32>
  // expected-error @below {{'tp.slice' op result has size 7 along dim 1, expected 8}}
  %illegal = tp.slice %a dim 0 start 1 step 1 : tensor<4x8xf32> -> tensor<3x7xf32>
  return
}

// -----

func.func @slice_end(%a: tensor<4x8xf32>) {
  %legal = tp.slice %a dim 0 start 1 step 2 : tensor<4x8xf32> -> tensor<2x8xf32>
  // expected-error @below {{'tp.slice' op takes 2 elements starting at 2 with step 2, but dim 0 has size 4}}
  %illegal = tp.slice %a dim 0 start 2 step 2 : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @slice_overflow(%a: tensor<4x8xf32>) {
  %legal = tp.slice %a dim 0 start 9223372036854775807 step 9223372036854775807 : tensor<4x8xf32> -> tensor<0x8xf32>
  // expected-error @below {{'tp.slice' op takes 2 elements starting at 9223372036854775807 with step 9223372036854775807, but dim 0 has size 4}}
  %illegal = tp.slice %a dim 0 start 9223372036854775807 step 9223372036854775807 : tensor<4x8xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @concat_nothing(%a: tensor<4x8xf32>) {
  %legal = tp.concat %a dim 0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.concat' op must have at least one operand}}
  %illegal = tp.concat dim 0 : () -> tensor<4x8xf32>
  return
}

// -----

func.func @concat_dim(%a: tensor<4x8xf32>) {
  %legal = tp.concat %a, %a dim 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  // expected-error @below {{'tp.concat' op dim is 2, expected a dim of a tensor of rank 2}}
  %illegal = tp.concat %a, %a dim 2 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @concat_rank(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  %legal = tp.concat %a, %a dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{'tp.concat' op operands must have the same number of dims}}
  %illegal = tp.concat %a, %b dim 0 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<5x8xf32>
  return
}

// -----

func.func @concat_other_dim(%a: tensor<4x8xf32>, %b: tensor<2x8xf32>) {
  %legal = tp.concat %a, %b dim 0 : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<6x8xf32>
  // expected-error @below {{'tp.concat' op operand has size 2 along dim 0, expected 4}}
  %illegal = tp.concat %a, %b dim 1 : (tensor<4x8xf32>, tensor<2x8xf32>) -> tensor<4x16xf32>
  return
}

// -----

func.func @concat_total(%a: tensor<4x8xf32>) {
  %legal = tp.concat %a, %a dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // expected-error @below {{'tp.concat' op result has size 4 along dim 0, expected 8}}
  %illegal = tp.concat %a, %a dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_size(%a: tensor<4x8xf32>, %b: tensor<4x1xf32>) {
  %legal = tp.broadcast %b : tensor<4x1xf32> -> tensor<4x16xf32, #tp.layout<strides = [1, 0]>>
  // expected-error @below {{'tp.broadcast' op operand has size 8 along dim 1, which cannot be broadcast to 16}}
  %illegal = tp.broadcast %a : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @broadcast_rank(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  %legal = tp.broadcast %b : tensor<8xf32> -> tensor<4x8xf32, #tp.layout<strides = [0, 1]>>
  // expected-error @below {{'tp.broadcast' op operand has 2 dims, more than the result's 1}}
  %illegal = tp.broadcast %a : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @broadcast_element_type(%a: tensor<8xf32>) {
  %legal = tp.broadcast %a : tensor<8xf32> -> tensor<4x8xf32, #tp.layout<strides = [0, 1]>>
  // expected-error @below {{'tp.broadcast' op result has element type 'f16', expected 'f32'}}
  %illegal = tp.broadcast %a : tensor<8xf32> -> tensor<4x8xf16>
  return
}
