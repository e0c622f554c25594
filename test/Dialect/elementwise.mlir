// Text, generic and bytecode forms of elementwise ops and factories.
// RUN: commute-opt %s | commute-opt | FileCheck %s
// RUN: commute-opt %s --mlir-print-op-generic | commute-opt | FileCheck %s
// RUN: commute-opt %s --emit-bytecode | commute-opt | FileCheck %s
// RUN: commute-opt %s --verify-roundtrip -o %t

// CHECK-LABEL: func.func @map_one_operand(
func.func @map_one_operand(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.map neg(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tp.map neg(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.map abs(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = tp.map abs(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %2 = tp.map exp(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = tp.map exp(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %3 = tp.map log(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = tp.map log(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %4 = tp.map sqrt(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = tp.map sqrt(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %5 = tp.map rsqrt(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = tp.map rsqrt(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %6 = tp.map reciprocal(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = tp.map reciprocal(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %7 = tp.map sin(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = tp.map sin(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %8 = tp.map cos(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = tp.map cos(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %9 = tp.map tanh(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %9 = tp.map tanh(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %10 = tp.map erf(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = tp.map erf(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %11 = tp.map sigmoid(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = tp.map sigmoid(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %12 = tp.map silu(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = tp.map silu(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %13 = tp.map relu(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = tp.map relu(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %14 = tp.map gelu(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %14 = tp.map gelu(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %15 = tp.map gelu_tanh(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %15 = tp.map gelu_tanh(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %16 = tp.map round(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %16 = tp.map round(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %17 = tp.map floor(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %17 = tp.map floor(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %18 = tp.map ceil(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %18 = tp.map ceil(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %19 = tp.map sign(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %19 = tp.map sign(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @map_two_operands(
func.func @map_two_operands(%arg0: tensor<4x8xf32>, %arg1: tensor<8xf32>) {
  // CHECK-NEXT: %0 = tp.map add(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %0 = tp.map add(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %1 = tp.map sub(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = tp.map sub(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %2 = tp.map mul(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = tp.map mul(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %3 = tp.map div(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = tp.map div(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %4 = tp.map pow(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %4 = tp.map pow(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %5 = tp.map maximum(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %5 = tp.map maximum(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %6 = tp.map minimum(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %6 = tp.map minimum(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %7 = tp.map floor_div(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %7 = tp.map floor_div(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %8 = tp.map remainder(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %8 = tp.map remainder(%arg0, %arg1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @map_predicates(
func.func @map_predicates(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.map equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %0 = tp.map equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %1 = tp.map not_equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %1 = tp.map not_equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %2 = tp.map less(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %2 = tp.map less(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %3 = tp.map less_equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %3 = tp.map less_equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %4 = tp.map greater(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %4 = tp.map greater(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %5 = tp.map greater_equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %5 = tp.map greater_equal(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %6 = tp.map logical_and(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %6 = tp.map logical_and(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %7 = tp.map logical_or(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  %7 = tp.map logical_or(%arg0, %arg1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %8 = tp.map logical_not(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %8 = tp.map logical_not(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xi1>
  // CHECK-NEXT: %9 = tp.map is_nan(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xi1>
  %9 = tp.map is_nan(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xi1>
  return
}

// CHECK-LABEL: func.func @map_bits(
func.func @map_bits(%arg0: tensor<4x8xi32>, %arg1: tensor<4x8xi32>) {
  // CHECK-NEXT: %0 = tp.map bitwise_and(%arg0, %arg1) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %0 = tp.map bitwise_and(%arg0, %arg1) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %1 = tp.map bitwise_or(%arg0, %arg1) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %1 = tp.map bitwise_or(%arg0, %arg1) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %2 = tp.map bitwise_xor(%arg0, %arg1) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  %2 = tp.map bitwise_xor(%arg0, %arg1) : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi32>
  // CHECK-NEXT: %3 = tp.map bitwise_not(%arg0) : (tensor<4x8xi32>) -> tensor<4x8xi32>
  %3 = tp.map bitwise_not(%arg0) : (tensor<4x8xi32>) -> tensor<4x8xi32>
  return
}

// CHECK-LABEL: func.func @map_select(
func.func @map_select(%arg0: tensor<4x8xi1>, %arg1: tensor<4x8xf32>, %arg2: tensor<f32>) {
  // CHECK-NEXT: %0 = tp.map select(%arg0, %arg1, %arg2) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %0 = tp.map select(%arg0, %arg1, %arg2) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @map_promotes(
func.func @map_promotes(%arg0: tensor<4x8xbf16>, %arg1: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.map mul(%arg0, %arg1) : (tensor<4x8xbf16>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = tp.map mul(%arg0, %arg1) : (tensor<4x8xbf16>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @map_broadcasts_both(
func.func @map_broadcasts_both(%arg0: tensor<4x1xf32>, %arg1: tensor<1x8xf32>) {
  // CHECK-NEXT: %0 = tp.map add(%arg0, %arg1) : (tensor<4x1xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  %0 = tp.map add(%arg0, %arg1) : (tensor<4x1xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
  return
}

// CHECK-LABEL: func.func @cast(
func.func @cast(%arg0: tensor<4x8xf32>) {
  // CHECK-NEXT: %0 = tp.cast %arg0 : tensor<4x8xf32> -> tensor<4x8xbf16>
  %0 = tp.cast %arg0 : tensor<4x8xf32> -> tensor<4x8xbf16>
  // CHECK-NEXT: %1 = tp.cast %arg0 {contiguous} : tensor<4x8xf32> -> tensor<4x8xi64>
  %1 = tp.cast %arg0 {contiguous} : tensor<4x8xf32> -> tensor<4x8xi64>
  return
}

// CHECK-LABEL: func.func @copy(
func.func @copy(%arg0: tensor<4x2xf32, #tp.layout<strides = [1, 4]>>) {
  // CHECK-NEXT: %0 = tp.copy %arg0 : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32>
  %0 = tp.copy %arg0 : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32>
  // CHECK-NEXT: %1 = tp.copy %arg0 {preserve_strides} : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
  %1 = tp.copy %arg0 {preserve_strides} : tensor<4x2xf32, #tp.layout<strides = [1, 4]>> -> tensor<4x2xf32, #tp.layout<strides = [1, 4]>>
  return
}

// CHECK-LABEL: func.func @factories(
func.func @factories() {
  // CHECK-NEXT: %0 = tp.constant 1.000000e-05 : f64 -> tensor<f32>
  %0 = tp.constant 1.000000e-05 : f64 -> tensor<f32>
  // CHECK-NEXT: %1 = tp.constant 7 : i64 -> tensor<2x3xi64>
  %1 = tp.constant 7 : i64 -> tensor<2x3xi64>
  // CHECK-NEXT: %2 = tp.constant true -> tensor<i1>
  %2 = tp.constant true -> tensor<i1>
  // CHECK-NEXT: %3 = tp.iota 0 : i64 step 1 : i64 -> tensor<16xi64>
  %3 = tp.iota 0 : i64 step 1 : i64 -> tensor<16xi64>
  // CHECK-NEXT: %4 = tp.iota 5.000000e-01 : f64 step -2.500000e-01 : f64 -> tensor<4xf32>
  %4 = tp.iota 5.000000e-01 : f64 step -2.500000e-01 : f64 -> tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @triangular(
func.func @triangular(%arg0: tensor<2x8x8xf32>) {
  // CHECK-NEXT: %0 = tp.triangular %arg0 upper diagonal 1 : tensor<2x8x8xf32> -> tensor<2x8x8xf32>
  %0 = tp.triangular %arg0 upper diagonal 1 : tensor<2x8x8xf32> -> tensor<2x8x8xf32>
  // CHECK-NEXT: %1 = tp.triangular %arg0 diagonal -2 : tensor<2x8x8xf32> -> tensor<2x8x8xf32>
  %1 = tp.triangular %arg0 diagonal -2 : tensor<2x8x8xf32> -> tensor<2x8x8xf32>
  return
}

// CHECK-LABEL: func.func @empty(
func.func @empty() {
  // CHECK-NEXT: %0 = tp.empty : tensor<2x8xf32>
  %0 = tp.empty : tensor<2x8xf32>
  // CHECK-NEXT: %1 = tp.empty : tensor<2x8xi64, #tp.layout<strides = [1, 2]>>
  %1 = tp.empty : tensor<2x8xi64, #tp.layout<strides = [1, 2]>>
  return
}
