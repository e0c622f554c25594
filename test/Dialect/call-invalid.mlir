// What the verifier of opaque calls refuses.
// Each is beside a twin that is legal.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @dense_out_of_range(%a: tensor<4x8xf32>) {
  %legal = tp.call "op"(%a) arguments "" dense [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.call' op dense_operands names operand 1, but the call has 1 operands}}
  %illegal = tp.call "op"(%a) arguments "" dense [1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @dense_negative(%a: tensor<4x8xf32>) {
  %legal = tp.call "op"(%a) arguments "" dense [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.call' op dense_operands names operand -1, but the call has 1 operands}}
  %illegal = tp.call "op"(%a) arguments "" dense [-1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @dense_no_tensor(%a: tensor<4x8xf32>, %b: i64) {
  %legal = tp.call "op"(%a, %b) arguments "" dense [0] : (tensor<4x8xf32>, i64) -> tensor<4x8xf32>
  // expected-error @below {{'tp.call' op dense_operands names operand 1, which is not a tensor}}
  %illegal = tp.call "op"(%a, %b) arguments "" dense [1] : (tensor<4x8xf32>, i64) -> tensor<4x8xf32>
  return
}

// -----

func.func @mutated_out_of_range(%a: tensor<4x8xf32>) {
  %legal = tp.call "op"(%a) arguments "" mutates [0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.call' op mutated_operands names operand 1, but the call has 1 operands}}
  %illegal = tp.call "op"(%a) arguments "" mutates [1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @mutated_no_tensor(%a: tensor<4x8xf32>, %b: !tp.opaque) {
  %legal = tp.call "op"(%a, %b) arguments "" mutates [0] : (tensor<4x8xf32>, !tp.opaque) -> tensor<4x8xf32>
  // expected-error @below {{'tp.call' op mutated_operands names operand 1, which is not a tensor}}
  %illegal = tp.call "op"(%a, %b) arguments "" mutates [1] : (tensor<4x8xf32>, !tp.opaque) -> tensor<4x8xf32>
  return
}
