// What the verifiers of elementwise ops and factories refuse.
// Each is beside a twin that is legal.
// RUN: commute-opt %s -split-input-file -verify-diagnostics

func.func @map_number_of_operands(%a: tensor<4x8xf32>) {
  %legal = tp.map neg(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.map' op add takes 2 operands, but got 1}}
  %illegal = tp.map add(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @map_select_needs_three(%a: tensor<4x8xf32>) {
  %legal = tp.map select(%a, %a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.map' op select takes 3 operands, but got 2}}
  %illegal = tp.map select(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @map_broadcast(%a: tensor<4x8xf32>, %b: tensor<4x1xf32>, %c: tensor<4xf32>) {
  %legal = tp.map add(%a, %b) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.map' op operands cannot be broadcast to a common shape}}
  %illegal = tp.map add(%a, %c) : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @map_symbolic_broadcast(%a: tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>, %b: tensor<?xf32, #tp.layout<[s1] sizes = [s1]>>, %c: tensor<?xf32, #tp.layout<[s0] sizes = [s0 + 1]>>) {
  %legal = tp.map add(%a, %b) : (tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>, tensor<?xf32, #tp.layout<[s1] sizes = [s1]>>) -> tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
  // expected-error @below {{'tp.map' op operands cannot be broadcast to a common shape}}
  %illegal = tp.map add(%a, %c) : (tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>, tensor<?xf32, #tp.layout<[s0] sizes = [s0 + 1]>>) -> tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
  return
}

// -----

func.func @map_result_rank(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  %legal = tp.map add(%b, %a) : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.map' op result has 2 dims, expected 1}}
  %illegal = tp.map add(%b, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @map_result_size(%a: tensor<4x8xf32>) {
  %legal = tp.map neg(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @below {{'tp.map' op result has size 9 along dim 1, expected 8}}
  %illegal = tp.map neg(%a) : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return
}

// -----

func.func @map_predicate(%a: tensor<4x8xf32>) {
  %legal = tp.map less(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // expected-error @below {{'tp.map' op less returns i1, but the result has element type 'f32'}}
  %illegal = tp.map less(%a, %a) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @cast_size(%a: tensor<4x8xf32>) {
  %legal = tp.cast %a : tensor<4x8xf32> -> tensor<4x8xf16>
  // expected-error @below {{'tp.cast' op result has size 8 along dim 0, expected 4}}
  %illegal = tp.cast %a : tensor<4x8xf32> -> tensor<8x4xf16>
  return
}

// -----

func.func @copy_element_type(%a: tensor<4x8xf32>) {
  %legal = tp.copy %a : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.copy' op result has element type 'f16', expected 'f32'}}
  %illegal = tp.copy %a : tensor<4x8xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @copy_size(%a: tensor<4x8xf32>) {
  %legal = tp.copy %a : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.copy' op result has 1 dims, expected 2}}
  %illegal = tp.copy %a : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @copy_layout(%a: tensor<4x2xf32, #tp.layout<strides = [1, 4]>>) {
  %legal = tp.copy %a {preserve_strides} : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
  // expected-error @below {{'tp.copy' op result is not dense: without `preserve_strides`, a copy has the dense row-major layout}}
  %illegal = tp.copy %a : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
  return
}

// -----

func.func @copy_unknown_layout(%a: tensor<4x2xf32, #tp.layout<strides = ?>>) {
  %legal = tp.copy %a {preserve_strides} : tensor<4x2xf32, #tp.layout<strides = ?>> -> tensor<4x2xf32, #tp.layout<strides = ?>>
  // expected-error @below {{'tp.copy' op result is not dense}}
  %illegal = tp.copy %a : tensor<4x2xf32, #tp.layout<strides = ?>> -> tensor<4x2xf32, #tp.layout<strides = ?>>
  return
}

// -----

func.func @constant_value() {
  %legal = tp.constant 1 : i64 -> tensor<f32>
  // expected-error @below {{'tp.constant' op value must be an integer or a float}}
  %illegal = tp.constant dense<1> : tensor<2xi64> -> tensor<2xi64>
  return
}

// -----

func.func @iota_rank() {
  %legal = tp.iota 0 : i64 step 1 : i64 -> tensor<4xi64>
  // expected-error @below {{'tp.iota' op result has 2 dims, expected 1}}
  %illegal = tp.iota 0 : i64 step 1 : i64 -> tensor<2x2xi64>
  return
}

// -----

func.func @iota_types() {
  %legal = tp.iota 0.0 : f64 step 1.0 : f64 -> tensor<4xf32>
  // expected-error @below {{'tp.iota' op start and step must be numbers of the same type}}
  %illegal = tp.iota 0 : i64 step 1.0 : f64 -> tensor<4xf32>
  return
}

// -----

func.func @triangular_rank(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  %legal = tp.triangular %a diagonal 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.triangular' op operand must have at least 2 dims}}
  %illegal = tp.triangular %b diagonal 0 : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @triangular_size(%a: tensor<4x8xf32>) {
  %legal = tp.triangular %a upper diagonal 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.triangular' op result has size 4 along dim 1, expected 8}}
  %illegal = tp.triangular %a upper diagonal 0 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @triangular_element_type(%a: tensor<4x8xf32>) {
  %legal = tp.triangular %a diagonal 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-error @below {{'tp.triangular' op result has element type 'f16', expected 'f32'}}
  %illegal = tp.triangular %a diagonal 0 : tensor<4x8xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @map_of_an_unknown_function(%a: tensor<4xf32>) {
  %legal = tp.map relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{unknown scalar function `rely`; expected one of: add, sub, mul, div, pow, maximum, minimum, floor_div}}
  // expected-error @below {{failed to parse TP_MapFunctionAttr parameter 'value'}}
  %illegal = tp.map rely(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
