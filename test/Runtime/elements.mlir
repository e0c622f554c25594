// RUN: commute run %s --print-elements | FileCheck %s

// PyTorch's promotion, rounding and integer semantics; one rank.
func.func @main() -> (tensor<4xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>,
                      tensor<2xi8>, tensor<1xbf16>, tensor<4xi1>, tensor<4xf32>,
                      tensor<2xf32>, tensor<3x3xf32>) {
  %i = tp.iota -3 : i64 step 2 : i64 -> tensor<4xi64>
  %two = tp.constant 2 : i64 -> tensor<i64>

  // Integers divided give floats.
  // CHECK: output0 F32 [4]: -1.5 -0.5 0.5 1.5{{$}}
  %0 = tp.map div(%i, %two) : (tensor<4xi64>, tensor<i64>) -> tensor<4xf32>
  // CHECK: output1 I64 [4]: -2 -1 0 1{{$}}
  %1 = tp.map floor_div(%i, %two) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  // The remainder has the sign of the divisor.
  // CHECK: output2 I64 [4]: 1 1 1 1{{$}}
  %2 = tp.map remainder(%i, %two) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
  // Casts to integers cut off.
  // CHECK: output3 I64 [4]: -1 0 0 1{{$}}
  %3 = tp.cast %0 : tensor<4xf32> -> tensor<4xi64>
  // Integers wrap.
  // CHECK: output4 I8 [2]: -56 -128{{$}}
  %100 = tp.iota 100 : i64 step -36 : i64 -> tensor<2xi8>
  %4 = tp.map add(%100, %100) : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  // 257 is not a bf16; it is a tie, and goes to the even one.
  // CHECK: output5 BF16 [1]: 256{{$}}
  %257 = tp.iota 257 : i64 step 1 : i64 -> tensor<1xf32>
  %5 = tp.cast %257 : tensor<1xf32> -> tensor<1xbf16>
  // CHECK: output6 BOOL [4]: 1 1 0 0{{$}}
  %half = tp.constant 0.25 : f64 -> tensor<f64>
  %6 = tp.map less(%i, %half) : (tensor<4xi64>, tensor<f64>) -> tensor<4xi1>
  // CHECK: output7 F32 [4]: -3 -1 0.25 0.25{{$}}
  %wide = tp.cast %i : tensor<4xi64> -> tensor<4xf32>
  %7 = tp.map select(%6, %wide, %half) : (tensor<4xi1>, tensor<4xf32>, tensor<f64>) -> tensor<4xf32>
  // CHECK: output8 F32 [2]: 2 3{{$}}
  %ids = tp.iota -2 : i64 step 1 : i64 -> tensor<2xi64>
  %table = tp.iota 0 : i64 step 1 : i64 -> tensor<4xf32>
  %8 = tp.take %table, %ids dim 0 wraps_negative : (tensor<4xf32>, tensor<2xi64>) -> tensor<2xf32>
  // CHECK: output9 F32 [3, 3]: 1 1 1 0 1 1 0 0 1{{$}}
  %ones = tp.constant 1.0 : f32 -> tensor<3x3xf32>
  %9 = tp.triangular %ones upper diagonal 0 : tensor<3x3xf32> -> tensor<3x3xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9
    : tensor<4xf32>, tensor<4xi64>, tensor<4xi64>, tensor<4xi64>, tensor<2xi8>, tensor<1xbf16>,
      tensor<4xi1>, tensor<4xf32>, tensor<2xf32>, tensor<3x3xf32>
}
